/**
 * The page's picture of the lease: the newest state, how old it is, and what may be done.
 * No @jupyterlab import and no arithmetic on money; time left is counted on from the governor's.
 */

import { Signal } from '@lumino/signaling';
import type { ISignal } from '@lumino/signaling';

import type { Connection } from './api';
import { ADVICE, FIRST_STATE } from './wire';
import type { IChange, IKeep, ILease, INotice, INoticeEvent, IPageState, IView } from './wire';

/** Seconds before a stop at which it is said aloud. */
export const THRESHOLDS = [600, 300, 60];

/** States of a lease that can still be stopped, kept or extended. */
const ALIVE = ['starting', 'running', 'noticed'];

export class LeaseModel {
  constructor(private readonly _clock: () => number = () => performance.now()) {}

  /** Emitted when anything but the passing of time has changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get state(): IPageState {
    return this._state;
  }

  get connection(): Connection {
    return this._connection;
  }

  /** The person asked for the stop and the page waits for the end. */
  get leaving(): boolean {
    return this._leaving;
  }

  get view(): IView | null {
    return this._state.view;
  }

  get lease(): ILease | null {
    return this._state.view?.lease ?? null;
  }

  /** The notice only tells or asks, of idleness or a budget; nothing stops the server for it. */
  get isAdvice(): boolean {
    return this.notice?.reason.code.endsWith(ADVICE) === true;
  }

  /** The announced stop, from the stream or, when that is behind or closed, from the bus. */
  get notice(): INotice | null {
    return this.lease?.notice ?? this._early;
  }

  get isSimulated(): boolean {
    return this.view?.simulated === true || (this.lease?.devices ?? []).some(d => d.simulated);
  }

  /** The server is going, or has gone as was announced: nothing can be called off any more. */
  get isOver(): boolean {
    const gone = this._connection === 'lost' && this.noticeLeft() === 0;
    return gone || this.lease?.state === 'stopping';
  }

  /** It was stopped as announced and answers no more. */
  get isGone(): boolean {
    return this.isOver && this._connection === 'lost';
  }

  /** Figures are of now, as far as a page can know. */
  get isFresh(): boolean {
    return this._connection === 'open' && this._state.link === 'live';
  }

  get canStop(): boolean {
    return this._may && (this.view?.can_stop ?? false);
  }

  get canExtend(): boolean {
    return this._may && this.extendMax > 0;
  }

  /** The change of profile that waits; none is shown while the server goes. */
  get change(): IChange | null {
    return this.isOver ? null : (this.view?.change ?? null);
  }

  /** Only a server that runs can change; one change at a time. */
  get canSwitch(): boolean {
    return this.canStop && this.lease?.state !== 'starting' && this.change === null;
  }

  get canStay(): boolean {
    return this._may && this.change !== null;
  }

  /** Longest extension that the governor would grant now, in seconds. */
  get extendMax(): number {
    return this.view?.extend_max_s ?? 0;
  }

  /** What one more keep would do; null where nothing judges idleness. */
  get keep(): IKeep | null {
    return this.view?.keep ?? null;
  }

  /** Being kept answers idleness alone, so it is offered where idleness is judged. */
  get canKeep(): boolean {
    const judged = this.view?.verdict?.limit_s !== null && this.view?.verdict !== null;
    const asked = this.notice?.cause === 'culled' || (this.notice === null && judged);
    return this._may && asked && this.keep?.adds_s !== 0;
  }

  /** Seconds until the lease ends, never negative; null where it has no end. */
  timeLeft(): number | null {
    const left = this.view?.time_left_s ?? null;
    return left === null ? null : Math.max(0, Math.floor(left - this.age()));
  }

  /** Seconds until the announced stop, never negative; null where none is announced. */
  noticeLeft(): number | null {
    const notice = this.notice;
    if (notice === null || this.isAdvice) {
      return null;
    }
    if (notice === this._early) {
      return Math.max(0, Math.floor(this._earlyLeft - (this._clock() - this._earlyAt) / 1000));
    }
    const asked = Date.parse(this.view?.now ?? notice.given_at);
    return Math.max(0, Math.floor((Date.parse(notice.stops_at) - asked) / 1000 - this.age()));
  }

  /** Age of the figures, in seconds. */
  age(): number {
    return this._state.age_s + (this._clock() - this._received) / 1000;
  }

  receive(state: IPageState): void {
    this._state = state;
    this._received = this._clock();
    if (state.link === 'live') {
      this._early = null;
    }
    this._changed.emit();
  }

  connect(connection: Connection): void {
    if (connection !== this._connection) {
      this._connection = connection;
      this._changed.emit();
    }
  }

  /** Take a notice from the event bus, which also reaches a page whose stream is closed. */
  hear(event: INoticeEvent): void {
    if (event.kind === 'given' && this.lease?.notice?.given_at !== event.given_at) {
      this._early = {
        cause: event.cause,
        given_at: event.given_at,
        stops_at: event.stops_at,
        reason: { code: event.code, message: event.words }
      };
      this._earlyLeft = event.left_s;
      this._earlyAt = this._clock();
    } else if (event.kind === 'withdrawn') {
      this._early = null;
    }
    this._changed.emit();
  }

  leave(leaving: boolean): void {
    this._leaving = leaving;
    this._changed.emit();
  }

  private get _may(): boolean {
    const alive = this.lease !== null && ALIVE.includes(this.lease.state);
    return alive && this._connection === 'open' && !this._leaving;
  }

  private readonly _changed = new Signal<this, void>(this);
  private _state = FIRST_STATE;
  private _connection: Connection = 'connecting';
  private _received = 0;
  private _leaving = false;
  private _early: INotice | null = null;
  private _earlyLeft = 0;
  private _earlyAt = 0;
}

/** The threshold that lies between two readings of a countdown; null for none. */
export function crossed(before: number | null, now: number | null): number | null {
  if (before === null || now === null) {
    return null;
  }
  const passed = THRESHOLDS.filter(limit => before > limit && now <= limit);
  return passed.length ? Math.min(...passed) : null;
}

/** Extensions to choose from, in seconds: a few round ones and the longest allowed. */
export function extensions(longest: number): number[] {
  const round = [1800, 3600, 2 * 3600, 4 * 3600, 8 * 3600].filter(s => s < longest);
  return longest > 0 ? [...round, longest] : [];
}
