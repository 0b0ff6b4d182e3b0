import { expect, it } from 'vitest';

import { stopServer } from '../stop';
import type { IStopSteps } from '../stop';

/** Steps that note their order; a server that answers a few times more after the stop. */
function steps(done: string[], changes: Partial<IStopSteps> = {}): IStopSteps {
  let answers = 2;
  const step = (name: string) => () => {
    done.push(name);
    return Promise.resolve();
  };
  return {
    confirm: () => Promise.resolve(true),
    save: step('save'),
    ask: step('ask'),
    answers: () => {
      done.push('look');
      return Promise.resolve(answers-- > 0);
    },
    go: () => done.push('go'),
    fail: step => {
      done.push(`fail ${step}`);
      return Promise.resolve();
    },
    leaving: leaving => done.push(leaving ? 'leaving' : 'staying'),
    pause: 1,
    ...changes
  };
}

it('saves, asks, waits until the server is gone, and goes', async () => {
  const done: string[] = [];
  expect(await stopServer(steps(done))).toBe(true);
  expect(done).toEqual(['save', 'ask', 'leaving', 'look', 'look', 'look', 'go']);
});

it('does nothing without a yes', async () => {
  const done: string[] = [];
  expect(await stopServer(steps(done, { confirm: () => Promise.resolve(false) }))).toBe(false);
  expect(done).toEqual([]);
});

it('stops nothing when a document cannot be saved', async () => {
  const done: string[] = [];
  const save = (): Promise<void> => Promise.reject(new Error('disk full'));
  expect(await stopServer(steps(done, { save }))).toBe(false);
  expect(done).toEqual(['fail save']);
});

it('stays when the stop is refused', async () => {
  const done: string[] = [];
  const ask = (): Promise<void> => Promise.reject(new Error('no'));
  expect(await stopServer(steps(done, { ask }))).toBe(false);
  expect(done).toEqual(['save', 'fail ask']);
});

it('goes all the same when the server never ends', async () => {
  const done: string[] = [];
  await stopServer(steps(done, { answers: () => Promise.resolve(true), looks: 4 }));
  expect(done).toEqual(['save', 'ask', 'leaving', 'go']);
});
