/** Values and doubles that the specs share: a state as the server sends it, words untranslated. */

import type { TranslationBundle } from '@jupyterlab/translation';

import { FIRST_STATE } from '../wire';
import type { IChange, IKeep, ILease, INotice, IPageState, IView } from '../wire';

/** Fills arguments in and translates nothing. */
export const trans = {
  __: (text: string, ...args: unknown[]) =>
    text.replace(/%(\d)/g, (_, n: string) => String(args[Number(n) - 1]))
} as unknown as TranslationBundle;

export const NOW = '2026-11-30T14:00:00Z';

export function aLease(changes: Partial<ILease> = {}): ILease {
  return {
    id: 'lease-7',
    team: 'vision',
    project: null,
    profile: 'mig-small',
    devices: [
      {
        id: 'MIG-1',
        model: 'h200-141gb',
        mig_profile: '1g.18gb',
        shared_by: null,
        simulated: false
      }
    ],
    standing: 'guaranteed',
    state: 'running',
    ends_at: '2026-11-30T17:30:00Z',
    notice: null,
    kept_until: null,
    cause: null,
    reason: null,
    closed_at: null,
    grant: null,
    ...changes
  };
}

export function aNotice(changes: Partial<INotice> = {}): INotice {
  return {
    cause: 'culled',
    given_at: NOW,
    stops_at: '2026-11-30T14:05:00Z',
    reason: { code: 'culled', message: 'The GPU was idle for 30m.' },
    ...changes
  };
}

export function aChange(changes: Partial<IChange> = {}): IChange {
  return {
    lease_id: 'lease-8',
    title: 'Whole card',
    state: 'queued',
    position: 2,
    words: 'Your request waits as number 2.',
    ...changes
  };
}

export function aKeep(changes: Partial<IKeep> = {}): IKeep {
  return {
    adds_s: 3600,
    until: '2026-11-30T15:00:00Z',
    ends_by: '',
    server_kept_s: 0,
    server_limit_s: 43_200,
    week_kept_s: 7200,
    week_limit_s: 86_400,
    free_at: null,
    granted_s: 0,
    granted_until: null,
    price_text: 'EUR 4.20',
    words: 'Kept for 0s of 12h on this server, and 2h of 24h within seven days.',
    ...changes
  };
}

export function aView(changes: Partial<IView> = {}): IView {
  return {
    now: NOW,
    server: { user: 'alice', server: '' },
    lease: aLease(),
    ended: null,
    cost: {
      as_of: NOW,
      so_far_micro: 2_100_000,
      rate_text: 'EUR 4.20 / h',
      so_far_text: 'EUR 2.10'
    },
    time_left_s: 12_600,
    extend_max_s: 7200,
    can_stop: true,
    readings: [],
    verdict: null,
    simulated: false,
    isolation: 'mig',
    environment_now: null,
    contract: null,
    task_title: '',
    change: null,
    waits_for: null,
    ...changes
  };
}

export function aState(changes: Partial<IPageState> = {}): IPageState {
  return { ...FIRST_STATE, link: 'live', view: aView(), since: NOW, ...changes };
}
