/** Words on idleness: the verdict, what holds it off, and what a keep does and costs. */

import type { TranslationBundle } from '@jupyterlab/translation';

import { coarse, instant } from './format';
import { SMALLER } from './wire';
import type { IKeep, INotice } from './wire';

/** Words for the result of an idle judgement, where the governor gave none. */
export function verdictName(state: string, trans: TranslationBundle): string {
  const known: Record<string, string> = {
    active: trans.__('Active'),
    quiet: trans.__('Quiet'),
    idle: trans.__('Idle'),
    unknown: trans.__('Unknown')
  };
  return known[state] ?? state;
}

/** What the button for a keep says: how long, and what that time costs. */
export function keepWords(keep: IKeep | null, trans: TranslationBundle): string {
  return keep === null
    ? trans.__('Keep')
    : trans.__('Keep for %1 (%2)', coarse(keep.adds_s, trans), keep.price_text);
}

/** Why a server cannot be kept any longer, and what to do instead. */
export function whyNoKeep(keep: IKeep, trans: TranslationBundle): string {
  switch (keep.ends_by) {
    case 'none':
      return trans.__('The policy lets nobody keep a server of this kind.');
    case 'lifetime':
      return trans.__('The lease is nearly over: extend it instead.');
    case 'server':
      return trans.__('This server cannot be kept any longer. Use it, or ask a lead for more.');
    default:
      return keep.free_at === null
        ? trans.__('Nothing is left to keep it with. Use it, or ask a lead for more.')
        : trans.__(
            'Nothing is left of this week; some is free again at %1. Use it, or ask a lead for more.',
            instant(keep.free_at)
          );
  }
}

/** Which limit of the rule was reached; empty while none was. */
export function groundWords(ground: string, trans: TranslationBundle): string {
  const known: Record<string, string> = {
    quiet: trans.__('quiet for its limit'),
    never_used: trans.__('its GPU was never used'),
    no_progress: trans.__('a kernel is busy and nothing happens'),
    gpu_unused: trans.__('in use, but not its GPU')
  };
  return known[ground] ?? '';
}

/** What alone holds a stop for idleness off. */
export function heldWords(held: string, trans: TranslationBundle): string {
  const known: Record<string, string> = {
    not_started: trans.__('it has not started yet'),
    start_grace: trans.__('it started not long ago'),
    keep: trans.__('its owner keeps it'),
    exemption: trans.__('an administrator’s exemption'),
    power: trans.__('it draws power'),
    kernel: trans.__('a kernel says that it is busy'),
    input: trans.__('somebody worked in it'),
    cell: trans.__('a long cell ended not long ago')
  };
  return known[held] ?? held;
}

/** What advice is about, in a word or two. */
export function adviceTitle(notice: INotice, trans: TranslationBundle): string {
  if (notice.reason.code === SMALLER) {
    return trans.__('A smaller profile would do');
  }
  return notice.cause === 'budget' ? trans.__('Budget') : trans.__('Idle');
}
