/** The status item: a button with GPU, rate, cost so far and time left. Opens the panel. */

import type { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import React from 'react';

import { gpuIcon } from './icons';
import type { LeaseModel } from './model';
import { face } from './words';
import type { IFace } from './words';

export class StatusItem extends ReactWidget {
  constructor(
    private readonly _model: LeaseModel,
    private readonly _trans: TranslationBundle,
    private readonly _open: () => void
  ) {
    super();
    this.addClass('jp-GpuCommons-statusItem');
    this._shown = face(_model, _trans);
    _model.changed.connect(this._tick, this);
    // Time passes without news; the text changes once a minute, or a second before a stop.
    this._timer = setInterval(() => this._tick(), 1000);
  }

  override dispose(): void {
    clearInterval(this._timer);
    this._model.changed.disconnect(this._tick, this);
    super.dispose();
  }

  protected override render(): React.ReactElement {
    const { label, title, tone } = this._shown;
    return (
      <button
        type="button"
        className={`jp-GpuCommons-status jp-StatusBar-TextItem jp-mod-${tone}`}
        title={title}
        onClick={this._open}
      >
        {tone === 'warn' ? (
          <span aria-hidden="true">⚠</span>
        ) : (
          <gpuIcon.react className="jp-GpuCommons-statusIcon" tag="span" aria-hidden="true" />
        )}
        <span>{label}</span>
      </button>
    );
  }

  private _tick(): void {
    const now = face(this._model, this._trans);
    const { label, title, tone } = this._shown;
    if (now.label !== label || now.title !== title || now.tone !== tone) {
      this._shown = now;
      this.update();
    }
  }

  private readonly _timer: ReturnType<typeof setInterval>;
  private _shown: IFace;
}
