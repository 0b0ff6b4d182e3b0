import { describe, expect, it } from 'vitest';

import { coarse, duration, gibibytes, instant, percent, shortDigest } from '../format';
import { trans } from './parts';

describe('durations', () => {
  it.each([
    [0, '0 s'],
    [45, '45 s'],
    [60, '1 min'],
    [299, '4 min 59 s'],
    [305, '5 min 05 s'],
    [600, '10 min'],
    [659, '10 min'],
    [3600, '1 h'],
    [3900, '1 h 05 min'],
    [86_400, '24 h'],
    [200_000, '2 d 7 h']
  ])('%i seconds read as %s', (seconds, words) => {
    expect(duration(seconds, trans)).toBe(words);
  });

  it('do not tick where they are coarse, until the last minute', () => {
    expect(coarse(299, trans)).toBe('4 min');
    expect(coarse(59, trans)).toBe('59 s');
  });
});

describe('figures', () => {
  it('are in GiB with one decimal, by language', () => {
    expect(gibibytes(11 * 2 ** 30, 'en')).toBe('11 GiB');
    expect(gibibytes(1.56 * 2 ** 30, 'de')).toBe('1,6 GiB');
  });

  it('share nothing by nothing without trouble', () => {
    expect(percent(3, 0)).toBe(0);
    expect(percent(11, 18)).toBe(61);
  });

  it('show the day only when it is another', () => {
    const now = new Date('2026-11-30T10:00:00');
    expect(instant('2026-11-30T14:05:00', now, 'en-GB')).toBe('14:05');
    expect(instant('2026-12-01T14:05:00', now, 'en-GB')).toContain('1 Dec');
  });

  it('shorten a digest behind its algorithm', () => {
    expect(shortDigest('sha256:0123456789abcdef')).toBe('0123456789ab');
    expect(shortDigest('0123456789abcdef')).toBe('0123456789ab');
  });
});
