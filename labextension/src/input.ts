/**
 * Tells this page's own server that a person did something here: a key or a pointer, in a page that
 * can be seen, at most once a minute. Not what it was, and never by itself.
 */

import type { IDisposable } from '@lumino/disposable';

import type { Send } from './api';

/** Between two words to the server, in ms: the governor judges in minutes. */
export const GAP_MS = 60_000;

const EVENTS = ['keydown', 'pointerdown'] as const;

/** The part of `document` that is listened to. */
export interface ITouched {
  readonly hidden: boolean;
  addEventListener(type: string, listener: (event: Event) => void, capture: boolean): void;
  removeEventListener(type: string, listener: (event: Event) => void, capture: boolean): void;
}

export interface IInputOptions {
  send: Send;
  page: ITouched;
  now?: () => number;
}

/** Listens as long as the page lives. */
export class InputBeat implements IDisposable {
  constructor(private readonly _options: IInputOptions) {
    this._now = _options.now ?? Date.now;
    for (const type of EVENTS) {
      _options.page.addEventListener(type, this._touched, true);
    }
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  dispose(): void {
    if (!this._disposed) {
      this._disposed = true;
      for (const type of EVENTS) {
        this._options.page.removeEventListener(type, this._touched, true);
      }
    }
  }

  private readonly _touched = (event: Event): void => {
    // A script's event is nobody's hand.
    if (!event.isTrusted || this._options.page.hidden || this._now() - this._last < GAP_MS) {
      return;
    }
    this._last = this._now();
    // What is lost is told by the next one.
    this._options.send('input', { method: 'POST' }).catch(() => undefined);
  };

  private readonly _now: () => number;
  private _last = -GAP_MS;
  private _disposed = false;
}
