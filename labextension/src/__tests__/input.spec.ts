/** Input is told at most once a minute, only from hands, and only in a page that is seen. */

import { describe, expect, it } from 'vitest';

import { GAP_MS, InputBeat } from '../input';
import type { ITouched } from '../input';

class SmallPage implements ITouched {
  hidden = false;
  readonly listeners = new Map<string, (event: Event) => void>();

  addEventListener(type: string, listener: (event: Event) => void): void {
    this.listeners.set(type, listener);
  }

  removeEventListener(type: string): void {
    this.listeners.delete(type);
  }

  touch(type = 'keydown', isTrusted = true): void {
    this.listeners.get(type)?.({ isTrusted } as Event);
  }
}

function story(): {
  page: SmallPage;
  beat: InputBeat;
  sent: string[];
  later: (ms: number) => void;
} {
  const page = new SmallPage();
  const sent: string[] = [];
  let now = 0;
  const beat = new InputBeat({
    page,
    send: path => {
      sent.push(path);
      return Promise.reject(new Error('away'));
    },
    now: () => now
  });
  return { page, beat, sent, later: ms => void (now += ms) };
}

describe('input', () => {
  it('is told at once, and then once a minute', () => {
    const { page, sent, later } = story();
    page.touch();
    page.touch('pointerdown');
    expect(sent).toEqual(['input']);
    later(GAP_MS - 1);
    page.touch();
    expect(sent.length).toBe(1);
    later(1);
    page.touch('pointerdown');
    expect(sent.length).toBe(2);
  });

  it('of a script, or in a page that nobody sees, is none', () => {
    const { page, sent } = story();
    page.touch('keydown', false);
    page.hidden = true;
    page.touch();
    expect(sent).toEqual([]);
  });

  it('is told no more after the page has gone', () => {
    const { page, beat, sent } = story();
    beat.dispose();
    beat.dispose();
    page.touch();
    expect([sent, beat.isDisposed]).toEqual([[], true]);
  });
});
