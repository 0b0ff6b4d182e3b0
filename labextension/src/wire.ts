/**
 * What the server extension tells the page, one JSON line a state. Shapes only; the governor's
 * values have the names they have in `hub_ext/lease`.
 */

export type Link = 'connecting' | 'live' | 'stale' | 'refused' | 'no_hub' | 'no_governor' | 'guest';

export type Standing = 'guaranteed' | 'borrowed' | 'would_queue' | 'denied' | 'unmetered';

export type Isolation = 'none' | 'time-slice' | 'vgpu' | 'mig' | 'gpu' | 'node';

export interface IReason {
  code: string;
  message: string;
}

export interface IDevice {
  id: string;
  model: string;
  mig_profile: string | null;
  /** Time-shares of its GPU, of which it is one; null where nobody shares it so. */
  shared_by: number | null;
  simulated: boolean;
}

export interface INotice {
  cause: string;
  given_at: string;
  stops_at: string;
  reason: IReason;
}

export interface IEnvironment {
  name: string;
  digest: string;
}

export interface IGrant {
  title: string;
  environment: IEnvironment | null;
}

/** What the owner of a lease can count on, in the governor's words. */
export interface IContract {
  called_in: boolean;
  safe_until: string | null;
  notice_s: number;
  words: string;
}

/** How far the person's own program before a stop is. */
export type BeforeStop = 'none' | 'waits' | 'runs' | 'done' | 'failed' | 'too-long' | 'unusable';

export interface ILease {
  id: string;
  team: string;
  project: string | null;
  profile: string;
  devices: IDevice[];
  standing: Standing;
  state: string;
  ends_at: string | null;
  notice: INotice | null;
  kept_until: string | null;
  cause: string | null;
  reason: IReason | null;
  closed_at: string | null;
  grant: IGrant | null;
}

export interface ICost {
  as_of: string;
  so_far_micro: number | null;
  rate_text: string;
  so_far_text: string;
}

export interface IReading {
  device: string;
  title: string;
  util_percent: number | null;
  memory_used_bytes: number | null;
  memory_total_bytes: number | null;
  source: string;
  absent: string;
}

export interface ISignal {
  name: string;
  state: 'active' | 'quiet' | 'unknown';
  value: string;
  window_s: number;
  age_s: number | null;
  source: string;
  /** Who could have forged it: nobody but who runs the machine, or the server's owner. */
  trust: 'agent' | 'user';
}

export interface IVerdict {
  state: 'active' | 'quiet' | 'idle' | 'unknown';
  quiet_since: string | null;
  limit_s: number | null;
  signals: ISignal[];
  words: string;
  /** Name of the policy's rule; null where none is for this server. */
  rule: string | null;
  /** Which limit was reached, or empty. */
  ground: string;
  /** What alone holds idleness off, or empty. */
  held_by: string;
  /** Name of this judgement on record, for `gpu-commons why`; empty before the first. */
  decision: string;
}

/** What one more "keep" would do and cost, and what is left; words and amounts are the governor's. */
export interface IKeep {
  /** So much longer it would be kept, in seconds; 0 where it cannot be. */
  adds_s: number;
  until: string | null;
  ends_by: string;
  server_kept_s: number;
  server_limit_s: number;
  week_kept_s: number;
  week_limit_s: number;
  free_at: string | null;
  granted_s: number;
  granted_until: string | null;
  price_text: string;
  words: string;
}

/** One figure behind what the GPU waits for; `short` is at its limit. */
export interface ICounted {
  name: string;
  state: 'short' | 'ample' | 'unknown';
  /** With its unit, or why it is missing. */
  value: string;
}

/** What the GPU waits for; the words are the governor's. */
export interface IWaitsFor {
  cause: string;
  window_s: number;
  words: string;
  /** What to try first, or empty. */
  remedy: string;
  evidence: ICounted[];
}

/** What a server could have instead; `choice` goes back as it came. */
export interface ISwitchOffer {
  choice: object;
  title: string;
  flavor_title: string;
  team: string;
  standing: Standing;
  standing_text: string;
  price_text: string;
  words: string;
}

export interface ISwitchSheet {
  lease_id: string;
  /** Title of the profile that the server has. */
  has: string;
  offers: ISwitchOffer[];
}

/** A change of profile that waits or is about to be made. */
export interface IChange {
  lease_id: string;
  title: string;
  state: string;
  position: number | null;
  words: string;
}

export interface IView {
  now: string;
  server: { user: string; server: string };
  lease: ILease | null;
  ended: ILease | null;
  cost: ICost | null;
  time_left_s: number | null;
  extend_max_s: number;
  can_stop: boolean;
  readings: IReading[];
  verdict: IVerdict | null;
  simulated: boolean;
  isolation: Isolation;
  found_on?: string;
  joined?: string;
  /** What the next start would get, where the project has pinned another since. */
  environment_now: IEnvironment | null;
  contract: IContract | null;
  /** What it is for, in the policy's words; empty is unlabelled. */
  task_title: string;
  /** The change of profile that was asked for; null where none is. */
  change: IChange | null;
  /** What keeps its GPU waiting; null before the first look. */
  waits_for: IWaitsFor | null;
  /** What one more "keep" would do; null where nothing judges it. */
  keep?: IKeep | null;
}

export interface IPageState {
  kind: 'state';
  link: Link;
  view: IView | null;
  /** Age of the figures in `view` when the line was written. */
  age_s: number;
  /** When the governor was last heard of. */
  since: string | null;
  words: string;
  /** Path of the governor's pages on the hub, or empty. */
  pages_path: string;
  before_stop: BeforeStop;
  /** Longest time, in seconds, that the program may run. */
  before_stop_s: number;
}

/** An event of `https://gpu-commons.dev/events/notice/v1`. */
export interface INoticeEvent {
  kind: 'given' | 'withdrawn';
  lease_id: string;
  cause: string;
  code: string;
  words: string;
  given_at: string;
  stops_at: string;
  left_s: number;
}

/** Reason code of a notice that only asks: nothing is stopped for it. */
export const ADVICE = '-advice';

/** Reason code of the advice to change to a smaller profile. */
export const SMALLER = 'smaller-advice';

export const NOTICE_SCHEMA = 'https://gpu-commons.dev/events/notice/v1';

/** The state of before the first line. */
export const FIRST_STATE: IPageState = {
  kind: 'state',
  link: 'connecting',
  view: null,
  age_s: 0,
  since: null,
  words: '',
  pages_path: '',
  before_stop: 'none',
  before_stop_s: 0
};

/** Read one line; null for a sign of life and for a line of a newer server that we do not know. */
export function parseLine(line: string): IPageState | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || (value as IPageState).kind !== 'state') {
    return null;
  }
  return { ...FIRST_STATE, ...(value as IPageState) };
}

/** Read what an event of the bus carries, or null when it is no notice of ours. */
export function parseNotice(event: { schema_id?: unknown }): INoticeEvent | null {
  if (event.schema_id !== NOTICE_SCHEMA) {
    return null;
  }
  return event as unknown as INoticeEvent;
}
