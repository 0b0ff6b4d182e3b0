import { beforeEach, describe, expect, it } from 'vitest';

import { LeaseModel, crossed, extensions } from '../model';
import type { INoticeEvent } from '../wire';
import { NOTICE_SCHEMA, parseLine, parseNotice } from '../wire';
import { aChange, aKeep, aLease, aNotice, aState, aView } from './parts';

let time = 0;
let model: LeaseModel;

beforeEach(() => {
  time = 1000;
  model = new LeaseModel(() => time);
  model.connect('open');
});

function anEvent(changes: Partial<INoticeEvent> = {}): INoticeEvent {
  const { cause, given_at, stops_at } = aNotice();
  return {
    kind: 'given',
    lease_id: 'lease-7',
    cause,
    given_at,
    stops_at,
    code: 'idle',
    words: 'idle',
    left_s: 300,
    ...changes
  };
}

describe('time', () => {
  it('is counted on from what the governor said and how old that was', () => {
    model.receive(aState({ age_s: 10 }));
    expect(model.timeLeft()).toBe(12_590);
    time += 90_500;
    expect(model.timeLeft()).toBe(12_499);
  });

  it('never goes below zero and is null without an end', () => {
    model.receive(aState({ view: aView({ time_left_s: 3 }) }));
    time += 60_000;
    expect(model.timeLeft()).toBe(0);
    model.receive(aState({ view: aView({ time_left_s: null }) }));
    expect(model.timeLeft()).toBeNull();
  });

  it('of a notice follows the governor’s clock, whatever this machine’s says', () => {
    model.receive(aState({ view: aView({ lease: aLease({ notice: aNotice() }) }) }));
    time += 30_000;
    expect(model.noticeLeft()).toBe(270);
  });
});

describe('thresholds', () => {
  it('are crossed once, downwards, and only the nearest is told', () => {
    expect(crossed(601, 600)).toBe(600);
    expect(crossed(600, 599)).toBeNull();
    expect(crossed(900, 50)).toBe(60);
    expect(crossed(300, 400)).toBeNull();
    expect(crossed(null, 30)).toBeNull();
  });
});

describe('extensions', () => {
  it('are round ones and the longest allowed', () => {
    expect(extensions(7200)).toEqual([1800, 3600, 7200]);
    expect(extensions(600)).toEqual([600]);
    expect(extensions(0)).toEqual([]);
  });
});

describe('what may be done', () => {
  it('is nothing before the first state, without contact, or while leaving', () => {
    expect([model.canStop, model.canExtend, model.canKeep]).toEqual([false, false, false]);
    model.receive(aState());
    expect([model.canStop, model.canExtend]).toEqual([true, true]);
    model.connect('lost');
    expect([model.canStop, model.canExtend]).toEqual([false, false]);
    model.connect('open');
    model.leave(true);
    expect([model.canStop, model.canExtend]).toEqual([false, false]);
  });

  it.each(['queued', 'held', 'stopping', 'closed'])('is nothing on a %s lease', state => {
    model.receive(aState({ view: aView({ lease: aLease({ state }) }) }));
    expect([model.canStop, model.canExtend, model.canKeep]).toEqual([false, false, false]);
  });

  it('is to keep when idleness stops it, and not when the end of the lease does', () => {
    model.receive(aState({ view: aView({ lease: aLease({ notice: aNotice() }) }) }));
    expect(model.canKeep).toBe(true);
    const spent = aKeep({ adds_s: 0 });
    const view = aView({ lease: aLease({ notice: aNotice() }), keep: spent });
    model.receive(aState({ view }));
    expect(model.canKeep).toBe(false);
    const end = aNotice({ cause: 'expired' });
    model.receive(aState({ view: aView({ lease: aLease({ notice: end }) }) }));
    expect(model.canKeep).toBe(false);
  });
});

describe('notices', () => {
  it('from the bus stand until the stream has caught up', () => {
    model.receive(aState());
    model.hear(anEvent());
    expect(model.notice?.reason.message).toBe('idle');
    time += 10_000;
    expect(model.noticeLeft()).toBe(290);
    model.receive(aState());
    expect(model.notice).toBeNull();
  });

  it('are called off over the bus', () => {
    model.hear(anEvent());
    model.hear(anEvent({ kind: 'withdrawn' }));
    expect(model.notice).toBeNull();
  });

  it('of other schemas are none of ours', () => {
    expect(parseNotice({ schema_id: 'https://example.org/other' })).toBeNull();
    expect(parseNotice({ schema_id: NOTICE_SCHEMA })).not.toBeNull();
  });
});

describe('another profile', () => {
  it('can be asked for while the server runs, by who may stop it', () => {
    model.receive(aState());
    expect([model.canSwitch, model.canStay]).toEqual([true, false]);
    model.receive(aState({ view: aView({ can_stop: false }) }));
    expect(model.canSwitch).toBe(false);
    model.receive(aState({ view: aView({ lease: aLease({ state: 'starting' }) }) }));
    expect(model.canSwitch).toBe(false);
    model.receive(aState({ view: aView({ lease: null }) }));
    expect(model.canSwitch).toBe(false);
  });

  it('waits as one change at a time, which can be left', () => {
    model.receive(aState({ view: aView({ change: aChange() }) }));
    expect(model.change?.title).toBe('Whole card');
    expect([model.canSwitch, model.canStay]).toEqual([false, true]);
  });

  it('is not shown any more once the server goes', () => {
    const lease = aLease({ state: 'stopping', cause: 'replaced' });
    model.receive(aState({ view: aView({ lease, change: aChange() }) }));
    expect(model.change).toBeNull();
    expect(model.canStay).toBe(false);
  });

  it('is unknown to an older governor', () => {
    const view = aView();
    delete (view as { change?: unknown }).change;
    model.receive(aState({ view }));
    expect(model.change).toBeNull();
  });
});

describe('lines', () => {
  it.each(['', '{', '"text"', 'null', '{"kind":"beat"}', '{"kind":"novel"}'])(
    'without a state are passed over: %s',
    line => {
      expect(parseLine(line)).toBeNull();
    }
  );

  it('with fields missing are filled up', () => {
    expect(parseLine('{"kind":"state","link":"no_hub"}')?.view).toBeNull();
  });
});

it('tells of news once a change, and not when the connection stays as it was', () => {
  let news = 0;
  model.changed.connect(() => {
    news += 1;
  });
  model.connect('open');
  model.receive(aState());
  model.connect('lost');
  expect(news).toBe(2);
});
