/**
 * The page's way to its own server extension: one stream while the page is seen, a list of profiles
 * when somebody wants another, and five verbs.
 * Knows no governor and no token; never polls.
 */

import { parseLine } from './wire';
import type { IPageState, ISwitchSheet } from './wire';

/** A request below `gpu-commons/`, with whatever authentication the page has. */
export type Send = (path: string, init: RequestInit) => Promise<Response>;

/** What is known of the way to our own server; `full` means too many pages watch already. */
export type Connection = 'connecting' | 'open' | 'lost' | 'full';

/** The part of `document` that tells whether anybody can see the page. */
export interface ISight {
  readonly hidden: boolean;
  addEventListener(type: 'visibilitychange', listener: () => void): void;
  removeEventListener(type: 'visibilitychange', listener: () => void): void;
}

export interface IStreamOptions {
  send: Send;
  sight: ISight;
  onState: (state: IPageState) => void;
  onConnection: (connection: Connection) => void;
  /** First pause after a lost stream, in ms; doubles up to thirty times that. */
  pause?: number;
  /** A stream without any line for so long, in ms, is dead; three heartbeats. */
  silence?: number;
}

/** An answer that is no; `message` is for people. */
export class RefusedByServer extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string
  ) {
    super(message);
  }
}

/** Split a body into lines as they come. */
export async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as Decoder).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        return;
      }
      const parts = (rest + value).split('\n');
      rest = parts.pop() ?? '';
      yield* parts;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

type Decoder = ReadableWritablePair<string, Uint8Array>;

/** The one stream of this page: closed while hidden, opened again with growing pauses. */
export class StateStream {
  constructor(private readonly _options: IStreamOptions) {
    this._pause = _options.pause ?? 1000;
    this._silence = _options.silence ?? 45_000;
    _options.sight.addEventListener('visibilitychange', this._onSight);
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  /** Run until disposed. */
  async run(): Promise<void> {
    let failures = 0;
    while (!this._disposed) {
      if (this._options.sight.hidden) {
        await this._rest(null);
        continue;
      }
      const before = Date.now();
      try {
        await this._read();
      } catch (error) {
        if (this._quiet) {
          continue;
        }
        const full = error instanceof RefusedByServer && error.status === 429;
        this._options.onConnection(full ? 'full' : 'lost');
      }
      failures = Date.now() - before > this._silence ? 1 : failures + 1;
      if (!this._quiet) {
        await this._rest(this._pause * Math.min(30, 2 ** (failures - 1)));
      }
    }
  }

  dispose(): void {
    this._disposed = true;
    this._options.sight.removeEventListener('visibilitychange', this._onSight);
    this._abort?.abort();
    this._wake();
  }

  private async _read(): Promise<void> {
    const abort = (this._abort = new AbortController());
    let watchdog = setTimeout(() => abort.abort(), this._silence);
    try {
      const response = await this._options.send('stream', { signal: abort.signal });
      if (!response.ok || response.body === null) {
        throw await refusal(response);
      }
      this._options.onConnection('open');
      for await (const line of lines(response.body)) {
        clearTimeout(watchdog);
        watchdog = setTimeout(() => abort.abort(), this._silence);
        const state = parseLine(line);
        if (state !== null) {
          this._options.onState(state);
        }
      }
      throw new Error('the stream ended');
    } finally {
      clearTimeout(watchdog);
    }
  }

  /** Nobody is there to be told of a failure. */
  private get _quiet(): boolean {
    return this._disposed || this._options.sight.hidden;
  }

  /** Wait for the given time, or until something about the page changes. */
  private async _rest(ms: number | null): Promise<void> {
    await new Promise<void>(resolve => {
      const timer = ms === null ? null : setTimeout(resolve, ms);
      this._wake = () => {
        if (timer !== null) {
          clearTimeout(timer);
        }
        resolve();
      };
    });
    this._wake = () => undefined;
  }

  private readonly _onSight = (): void => {
    if (this._options.sight.hidden) {
      this._abort?.abort();
    }
    this._wake();
  };

  private readonly _pause: number;
  private readonly _silence: number;
  private _abort: AbortController | null = null;
  private _disposed = false;
  private _wake: () => void = () => undefined;
}

/** Ask for one of the verbs; resolves when the governor took it, rejects with words for people. */
export async function ask(
  send: Send,
  verb: 'stop' | 'extend' | 'keep' | 'switch' | 'stay',
  body: { seconds?: number; choice?: object } = {}
): Promise<void> {
  const response = await send(verb, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) {
    throw await refusal(response);
  }
}

/** Ask what this server could have instead; rejects with words for people. */
export async function profiles(send: Send): Promise<ISwitchSheet> {
  const response = await send('profiles', { method: 'GET' });
  if (!response.ok) {
    throw await refusal(response);
  }
  return (await response.json()) as ISwitchSheet;
}

async function refusal(response: Response): Promise<RefusedByServer> {
  let said: { code?: string; message?: string } = {};
  try {
    said = (await response.json()) as typeof said;
  } catch {
    // A proxy's page stands in for the server's answer; the status must do.
  }
  const message = said.message ?? `HTTP ${response.status}`;
  return new RefusedByServer(response.status, said.code ?? 'unknown', message);
}
