/**
 * Figures as words: durations, bytes, instants, digests. Money comes as text from the governor
 * and is never touched here.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

/** Whole seconds as the two largest units that matter ("2 h 05 min", "4 min", "45 s"). */
export function duration(seconds: number, trans: TranslationBundle): string {
  const minutes = Math.floor(seconds / 60);
  if (seconds < 60) {
    return trans.__('%1 s', seconds);
  }
  if (seconds < 600 && seconds % 60) {
    return trans.__('%1 min %2 s', minutes, pad(seconds % 60));
  }
  if (minutes < 60) {
    return trans.__('%1 min', minutes);
  }
  const hours = Math.floor(minutes / 60);
  if (hours >= 48) {
    return trans.__('%1 d %2 h', Math.floor(hours / 24), hours % 24);
  }
  return minutes % 60 ? trans.__('%1 h %2 min', hours, pad(minutes % 60)) : trans.__('%1 h', hours);
}

/** Seconds to the minute, for places that must not tick. */
export function coarse(seconds: number, trans: TranslationBundle): string {
  return duration(seconds < 60 ? seconds : Math.floor(seconds / 60) * 60, trans);
}

/** Bytes in GiB with one decimal, by the language of the page. */
export function gibibytes(bytes: number, language?: string): string {
  const format = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
  return `${format.format(bytes / 2 ** 30)} GiB`;
}

/** A share between 0 and 100; 0 of nothing is 0. */
export function percent(part: number, whole: number): number {
  return whole > 0 ? Math.round((100 * part) / whole) : 0;
}

/** Time of day, or day and time when it is another day, in the reader's own zone. */
export function instant(text: string, now: Date = new Date(), language?: string): string {
  const date = new Date(text);
  const options: Intl.DateTimeFormatOptions =
    date.toDateString() === now.toDateString()
      ? { hour: '2-digit', minute: '2-digit' }
      : { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' };
  return new Intl.DateTimeFormat(language, options).format(date);
}

/** The first twelve characters behind the algorithm, enough to compare by eye. */
export function shortDigest(digest: string): string {
  return digest.slice(digest.indexOf(':') + 1).slice(0, 12);
}

function pad(n: number): string {
  return String(n).padStart(2, '0');
}
