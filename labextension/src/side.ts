/** The place of the panel in a side area. Loads what is in it when it is first shown. */

import type { Message } from '@lumino/messaging';
import { Panel } from '@lumino/widgets';
import type { Widget } from '@lumino/widgets';

import { gpuIcon } from './icons';

export class SidePanel extends Panel {
  constructor(
    label: string,
    private readonly _load: () => Promise<Widget>
  ) {
    super();
    this.id = 'jupyterhub-gpu-commons';
    this.addClass('jp-GpuCommons-side');
    this.title.icon = gpuIcon;
    this.title.caption = label;
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', label);
  }

  protected override onBeforeShow(message: Message): void {
    super.onBeforeShow(message);
    this._fill();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    // Shown before it was attached: then nothing announces that it is seen.
    if (this.isVisible) {
      this._fill();
    }
  }

  private _fill(): void {
    if (!this._asked) {
      this._asked = true;
      void this._load().then(content => this.addWidget(content));
    }
  }

  private _asked = false;
}
