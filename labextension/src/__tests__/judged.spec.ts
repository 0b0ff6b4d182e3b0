import { describe, expect, it } from 'vitest';

import { adviceTitle, groundWords, heldWords, keepWords, whyNoKeep } from '../judged';
import { NOW, aKeep, aNotice, trans } from './parts';

describe('a keep', () => {
  it('says for how long and what that costs before it is asked for', () => {
    expect(keepWords(aKeep(), trans)).toBe('Keep for 1 h (EUR 4.20)');
    expect(keepWords(null, trans)).toBe('Keep');
  });

  it('says why there is none, and what to do', () => {
    const spent = { adds_s: 0, until: null };
    expect(whyNoKeep(aKeep({ ...spent, ends_by: 'server' }), trans)).toContain('ask a lead');
    expect(whyNoKeep(aKeep({ ...spent, ends_by: 'week', free_at: NOW }), trans)).toContain(
      'free again at'
    );
    expect(whyNoKeep(aKeep({ ...spent, ends_by: 'week' }), trans)).toContain('Nothing is left');
    expect(whyNoKeep(aKeep({ ...spent, ends_by: 'lifetime' }), trans)).toContain('extend it');
    expect(whyNoKeep(aKeep({ ...spent, ends_by: 'none' }), trans)).toContain('lets nobody');
  });
});

describe('a verdict', () => {
  it('names its ground and what holds it off', () => {
    expect(groundWords('never_used', trans)).toBe('its GPU was never used');
    expect(groundWords('', trans)).toBe('');
    expect(heldWords('keep', trans)).toBe('its owner keeps it');
    expect(heldWords('newer', trans)).toBe('newer');
  });
});

describe('advice', () => {
  it('says what it is about', () => {
    const smaller = aNotice({ reason: { code: 'smaller-advice', message: '' } });
    expect(adviceTitle(smaller, trans)).toBe('A smaller profile would do');
    expect(adviceTitle(aNotice(), trans)).toBe('Idle');
    expect(adviceTitle(aNotice({ cause: 'budget' }), trans)).toBe('Budget');
  });
});
