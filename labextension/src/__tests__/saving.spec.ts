/** Documents are saved when a stop is announced, once more shortly before, and never in between. */

import { describe, expect, it } from 'vitest';

import { LeaseModel } from '../model';
import { BEFORE_S, Saver } from '../saving';
import { aLease, aNotice, aState, aView } from './parts';

interface ILater {
  ms: number;
  act: () => void;
  cancelled: boolean;
}

function story(): { model: LeaseModel; saver: Saver; saves: () => number; later: ILater[] } {
  const model = new LeaseModel(() => 0);
  const later: ILater[] = [];
  let saves = 0;
  const saver = new Saver({
    model,
    save: () => {
      saves += 1;
      return Promise.resolve();
    },
    later: (act, ms) => {
      const entry = { act, ms, cancelled: false };
      later.push(entry);
      return () => (entry.cancelled = true);
    }
  });
  model.connect('open');
  return { model, saver, saves: () => saves, later };
}

const calledIn = aNotice({ cause: 'preempted', reason: { code: 'called-in', message: 'Needed.' } });
const noticed = aState({ view: aView({ lease: aLease({ state: 'noticed', notice: calledIn }) }) });

describe('saving before an announced stop', () => {
  it('saves at the notice and once more shortly before the stop', () => {
    const { model, saves, later } = story();
    model.receive(noticed);
    expect(saves()).toBe(1);
    expect(later.map(one => one.ms)).toEqual([(300 - BEFORE_S) * 1000]);
    later[0].act();
    expect(saves()).toBe(2);
  });

  it('saves before the program of the person is run', () => {
    const { model, later } = story();
    model.receive({ ...noticed, before_stop: 'waits', before_stop_s: 60 });
    expect(later[0].ms).toBe((300 - 60 - BEFORE_S) * 1000);
  });

  it('does nothing twice for the same notice', () => {
    const { model, saves, later } = story();
    model.receive(noticed);
    model.receive(noticed);
    expect(saves()).toBe(1);
    expect(later.length).toBe(1);
  });

  it('forgets the second time when the stop is called off', () => {
    const { model, later } = story();
    model.receive(noticed);
    model.receive(aState());
    expect(later[0].cancelled).toBe(true);
  });

  it('saves nothing for advice', () => {
    const { model, saves } = story();
    const advice = aNotice({ reason: { code: 'idle-advice', message: 'Idle.' } });
    model.receive(aState({ view: aView({ lease: aLease({ state: 'noticed', notice: advice }) }) }));
    expect(saves()).toBe(0);
  });

  it('goes on when a document could not be saved', async () => {
    const model = new LeaseModel(() => 0);
    const full = (): Promise<void> => Promise.reject(new Error('disk full'));
    const saver = new Saver({ model, save: full, later: () => () => undefined });
    model.receive(noticed);
    await Promise.resolve();
    expect(model.notice).not.toBeNull();
    saver.dispose();
    expect(saver.isDisposed).toBe(true);
  });
});
