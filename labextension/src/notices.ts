/**
 * Tells of announced stops: one toast a notice, updated and never repeated. Panel and status item
 * show the same from the model, as a person may have silenced toasts.
 */

import { Notification } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';

import { COMMANDS } from './commands';
import { instant } from './format';
import type { LeaseModel } from './model';
import type { INotice } from './wire';
import { keepWords } from './judged';
import { calledOffWords, noticeWords } from './words';

export interface INoticeParts {
  model: LeaseModel;
  trans: TranslationBundle;
  run: (command: string) => void;
  /** Whether the person wants toasts. */
  toasts: () => boolean;
}

export class NoticeTeller implements IDisposable {
  constructor(private readonly _parts: INoticeParts) {
    _parts.model.changed.connect(this._look, this);
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  dispose(): void {
    if (!this._disposed) {
      this._disposed = true;
      this._parts.model.changed.disconnect(this._look, this);
    }
  }

  private _look(): void {
    const { model } = this._parts;
    const { notice } = model;
    if (model.isOver) {
      this._dismiss();
      return;
    }
    if (notice === null) {
      // A stale picture says nothing about a notice that the bus brought.
      if (this._shown !== null && model.isFresh) {
        this._withdraw();
      }
      return;
    }
    if (this._key !== notice.given_at) {
      this._key = notice.given_at;
      this._cause = notice.cause;
      this._show(notice);
    }
  }

  private _show(notice: INotice): void {
    const { model, trans, toasts, run } = this._parts;
    this._dismiss();
    if (model.isAdvice) {
      this._shown = Notification.info(noticeWords(notice, trans), {
        autoClose: toasts() ? 20_000 : 0,
        actions: [{ label: trans.__('Show'), callback: () => run(COMMANDS.open) }]
      });
      this._wasAdvice = true;
      return;
    }
    this._wasAdvice = false;
    // The time of day, as a toast does not count down.
    const when = instant(notice.stops_at);
    const message = trans.__('This server stops at %1. %2', when, noticeWords(notice, trans));
    const actions = [{ label: trans.__('Show'), callback: () => run(COMMANDS.open) }];
    if (notice.cause === 'culled' && model.canKeep) {
      actions.unshift({ label: keepWords(model.keep, trans), callback: () => run(COMMANDS.keep) });
    } else if (notice.cause === 'expired' && model.canExtend) {
      actions.unshift({ label: trans.__('Extend…'), callback: () => run(COMMANDS.extend) });
    }
    // 0 sends it to the notification centre alone, without a pop-up.
    this._shown = Notification.warning(message, { autoClose: toasts() ? false : 0, actions });
  }

  private _withdraw(): void {
    const { model, trans } = this._parts;
    this._dismiss();
    this._key = '';
    // Who pressed Keep has been told so already.
    const kept = Date.parse(model.lease?.kept_until ?? '') > Date.now();
    if (model.lease !== null && model.lease.state !== 'stopping' && !kept && !this._wasAdvice) {
      Notification.info(calledOffWords(this._cause, trans), { autoClose: 8000 });
    }
  }

  private _dismiss(): void {
    if (this._shown !== null) {
      Notification.dismiss(this._shown);
      this._shown = null;
    }
  }

  private _disposed = false;
  private _shown: string | null = null;
  private _key = '';
  private _cause = '';
  private _wasAdvice = false;
}
