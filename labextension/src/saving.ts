/**
 * Saves all open documents when a stop is announced, and once more shortly before it. Each time is
 * handed in, so that the order is tested without a browser.
 */

import type { IDisposable } from '@lumino/disposable';

import type { LeaseModel } from './model';

/** So long before the stop, or before the person's program runs, documents are saved again. */
export const BEFORE_S = 15;

export interface ISavingParts {
  model: LeaseModel;
  /** Save every open document; a rejection is told by whoever saves. */
  save: () => Promise<void>;
  /** Call back after so many ms; gives what cancels it. */
  later?: (act: () => void, ms: number) => () => void;
}

/** Follows the announced stops of this server. */
export class Saver implements IDisposable {
  constructor(private readonly _parts: ISavingParts) {
    this._later = _parts.later ?? afterwards;
    _parts.model.changed.connect(this._look, this);
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  dispose(): void {
    if (!this._disposed) {
      this._disposed = true;
      this._parts.model.changed.disconnect(this._look, this);
      this._cancel();
    }
  }

  private _look(): void {
    const { model } = this._parts;
    const { notice } = model;
    const left = model.noticeLeft();
    if (notice === null || left === null || model.isOver) {
      // A picture that is behind takes nothing back.
      if (notice === null && model.isFresh) {
        this._key = '';
        this._cancel();
      }
      return;
    }
    const key = `${notice.given_at} ${notice.stops_at}`;
    if (key === this._key) {
      return;
    }
    this._key = key;
    this._cancel();
    void this._save();
    const { before_stop, before_stop_s } = model.state;
    const program = before_stop === 'waits' ? before_stop_s : 0;
    const wait = left - program - BEFORE_S;
    if (wait > 0) {
      this._cancel = this._later(() => void this._save(), wait * 1000);
    }
  }

  private async _save(): Promise<void> {
    try {
      await this._parts.save();
    } catch {
      // The document manager has told the person which document it was.
    }
  }

  private _disposed = false;
  private _key = '';
  private _cancel: () => void = () => undefined;
  private readonly _later: (act: () => void, ms: number) => () => void;
}

function afterwards(act: () => void, ms: number): () => void {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
}
