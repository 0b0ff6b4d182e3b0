import { describe, expect, it } from 'vitest';

import type { Connection } from '../api';
import { LeaseModel } from '../model';
import type { IPageState, Link } from '../wire';
import {
  calledOffWords,
  causeWords,
  endWords,
  face,
  hardware,
  lostWords,
  newerWords,
  offerFacts,
  programWords,
  signalName,
  standsWords,
  switchedWords,
  trouble
} from '../words';
import { NOW, aLease, aNotice, aState, aView, trans } from './parts';

function seen(state: IPageState, connection: Connection = 'open'): LeaseModel {
  const model = new LeaseModel(() => 0);
  model.connect(connection);
  model.receive(state);
  return model;
}

describe('an environment that another was pinned for', () => {
  it('is named with its digest and what to do', () => {
    const digest = `sha256:${'b'.repeat(64)}`;
    const view = aView({ environment_now: { name: 'dev', digest } });
    expect(newerWords(view, trans)).toBe(
      'The project has pinned dev (bbbbbbbbbbbb) since. Stop and start your server to get it.'
    );
  });

  it('is not spoken of while there is none', () => {
    expect(newerWords(aView(), trans)).toBe('');
    expect(newerWords(null, trans)).toBe('');
  });
});

describe('the status item', () => {
  it('tells GPU, rate, cost and time left', () => {
    const { label, tone } = face(seen(aState()), trans);
    expect(label).toBe('H200 · MIG 1g.18gb · EUR 4.20 / h · EUR 2.10 so far · 3 h 30 min left');
    expect(tone).toBe('plain');
  });

  it('says what is simulated and what has no price', () => {
    const cost = { as_of: '', so_far_micro: null, rate_text: 'not priced', so_far_text: '' };
    const view = aView({ cost, simulated: true, time_left_s: null });
    expect(face(seen(aState({ view })), trans).label).toBe(
      'H200 · MIG 1g.18gb · not priced · simulated'
    );
  });

  it('puts an announced stop before everything else', () => {
    const view = aView({ lease: aLease({ notice: aNotice() }) });
    const stale = seen(aState({ view, link: 'stale' }), 'lost');
    expect(face(stale, trans)).toMatchObject({ label: 'Stops in 5 min', tone: 'warn' });
  });

  it('counts down to no stop when the notice only asks', () => {
    const asks = aNotice({ reason: { code: 'idle-advice', message: 'Please.' } });
    const model = seen(aState({ view: aView({ lease: aLease({ notice: asks }) }) }));
    expect(model.noticeLeft()).toBeNull();
    expect(face(model, trans)).toMatchObject({ tone: 'plain' });
    expect(face(model, trans).label).toContain('idle · H200');
    const money = aNotice({
      cause: 'budget',
      reason: { code: 'budget-advice', message: 'Spent.' }
    });
    const told = seen(aState({ view: aView({ lease: aLease({ notice: money }) }) }));
    expect(told.noticeLeft()).toBeNull();
    expect(face(told, trans).label).toContain('budget · H200');
  });

  it.each<[Link, string]>([
    ['connecting', 'GPU: …'],
    ['stale', 'GPU: no contact'],
    ['refused', 'GPU: no lease'],
    ['no_hub', 'GPU: no lease'],
    ['no_governor', 'GPU: no lease'],
    ['guest', 'GPU: no lease']
  ])('has words for %s', (link, label) => {
    const shown = face(seen(aState({ link, view: null })), trans);
    expect(shown.label).toBe(label);
    expect(shown.title.length).toBeGreaterThan(20);
  });

  it('says that the contact is lost', () => {
    expect(face(seen(aState(), 'lost'), trans).label).toBe('GPU: no contact');
  });
});

describe('a stop that has come', () => {
  const reason = { code: 'culled', message: 'It was idle.' };
  const cause = 'culled';
  const stopping = aState({ view: aView({ lease: aLease({ state: 'stopping', cause, reason }) }) });

  it('is told while the server still answers', () => {
    const shown = face(seen(stopping), trans);
    expect(shown).toMatchObject({ label: 'GPU: stopping', title: 'It was idle.', tone: 'warn' });
  });

  it('is the explanation when it answers no more', () => {
    const gone = seen(stopping, 'lost');
    expect(trouble(gone, trans)).toBe('It was idle.');
    expect(face(gone, trans)).toMatchObject({ label: 'GPU: stopped', tone: 'warn' });
    expect(lostWords(gone, trans).title).toBe('This server was stopped');
    expect(lostWords(gone, trans).body).toMatch(/^It was idle\. .* costs anew\.$/);
  });

  it('is believed of an announced stop only once its time is over', () => {
    const due = aNotice({ stops_at: NOW });
    const granted = { code: 'guaranteed', message: 'Covered.' };
    const view = aView({ lease: aLease({ notice: due, reason: granted }) });
    // The reason of a lease that was not stopped is that of its grant.
    const said = trouble(seen(aState({ view }), 'lost'), trans);
    expect(said).toBe('The announced stop has come: the GPU was idle.');
    expect(face(seen(aState({ view })), trans).label).toBe('Stops now');
    const early = aView({ lease: aLease({ notice: aNotice() }) });
    expect(trouble(seen(aState({ view: early }), 'lost'), trans)).toContain('may have been');
    expect(lostWords(seen(aState({ view: early }), 'lost'), trans).body).toContain('or the way');
  });
});

describe('trouble', () => {
  it('is none when figures are of now', () => {
    expect(trouble(seen(aState()), trans)).toBeNull();
  });

  it('names the owner to a guest and the governor’s words to the owner', () => {
    expect(trouble(seen(aState({ link: 'guest', words: 'alice' })), trans)).toContain('alice');
    expect(trouble(seen(aState({ link: 'refused', words: 'no scope' })), trans)).toContain(
      'no scope'
    );
  });

  it('does not claim an end of cost when the governor is away', () => {
    expect(trouble(seen(aState({ link: 'stale' })), trans)).toContain('go on');
    expect(trouble(seen(aState({ link: 'stale', since: null })), trans)).toContain('not known');
  });

  it('asks to close a page when there are too many', () => {
    expect(trouble(seen(aState(), 'full'), trans)).toContain('close one');
  });
});

describe('hardware', () => {
  it('is counted, and its absence said', () => {
    const whole = {
      id: 'GPU-1',
      model: 'h200-141gb',
      mig_profile: null,
      shared_by: null,
      simulated: false
    };
    expect(hardware(aLease({ devices: [whole] }), trans)).toBe('H200');
    expect(hardware(aLease({ devices: [whole, whole] }), trans)).toBe('2 × H200');
    const share = { ...whole, id: 'GPU-1::0', shared_by: 4 };
    expect(hardware(aLease({ devices: [share] }), trans)).toBe('H200 · 1 of 4 time-shares');
    expect(hardware(aLease({ devices: [] }), trans)).toBe('No GPU');
  });
});

describe('the end', () => {
  it('is told with its reason', () => {
    const ended = aLease({ cause: 'culled', closed_at: '2026-11-30T13:00:00Z' });
    const words = endWords(seen(aState({ view: aView({ lease: null, ended }) })), trans);
    expect(words).toContain('the GPU was idle');
  });

  it('of nothing is that nothing is charged', () => {
    const words = endWords(seen(aState({ view: aView({ lease: null }) })), trans);
    expect(words).toContain('nothing is charged');
  });

  it('for a cause of a newer governor is its own word', () => {
    expect(causeWords('eclipse', trans)).toBe('eclipse');
  });
});

describe('a server that is called in', () => {
  it('says until when it is safe in the words of the governor', () => {
    const words = 'Borrowed: safe until 14:30 UTC, then it may be called in with 15m notice.';
    const contract = { called_in: true, safe_until: null, notice_s: 900, words };
    const lease = aLease({ standing: 'borrowed' });
    const model = seen(aState({ view: aView({ lease, contract }) }));
    expect(standsWords(model, lease, trans)).toEqual(['Borrowed', words]);
    expect(standsWords(seen(aState()), lease, trans)[1]).toContain('may call it in');
  });

  it('offers the old place where it has been stopped', () => {
    const view = aView({ lease: aLease({ state: 'stopping', cause: 'preempted' }) });
    expect(lostWords(seen(aState({ view })), trans).body).toContain(
      'queue again in your old place'
    );
    expect(lostWords(seen(aState()), trans).body).toContain('costs anew');
  });

  it('starts again by itself where its profile was changed', () => {
    const view = aView({ lease: aLease({ state: 'stopping', cause: 'replaced' }) });
    expect(lostWords(seen(aState({ view })), trans).body).toContain('starts again by itself');
    expect(causeWords('replaced', trans)).toContain('change of profile');
  });

  it('says what another profile would be, and that nothing is lost by asking', () => {
    const offer = {
      choice: { profile: 'card' },
      title: 'Whole card',
      flavor_title: '1 x H200',
      team: 'vision',
      standing: 'would_queue' as const,
      standing_text: 'would wait',
      price_text: 'EUR 4.20 an hour',
      words: 'All is held.'
    };
    expect(offerFacts(offer, trans)).toBe(
      '1 x H200 for team vision · would wait · EUR 4.20 an hour'
    );
    expect(switchedWords(offer, trans)).toContain('goes on until there is room');
  });

  it('says why its stop was called off', () => {
    expect(calledOffWords('preempted', trans)).toContain('not needed any more');
    expect(calledOffWords('culled', trans)).toBe('The stop of this server was called off.');
  });

  it('says what becomes of the program of the person', () => {
    const at = (before_stop: IPageState['before_stop']): string =>
      programWords(aState({ before_stop, before_stop_s: 60 }), trans);
    expect(at('none')).toBe('');
    expect(at('waits')).toContain('for 1 min at most');
    for (const state of ['runs', 'done', 'failed', 'too-long', 'unusable'] as const) {
      expect(at(state)).toContain('before-stop program');
    }
  });
});

describe('the witnesses of a judgement', () => {
  it('are named by their kind and, where they are of one, by their device', () => {
    expect(signalName('cpu', trans)).toBe('Processes');
    expect(signalName('input', trans)).toBe('Keys and pointer');
    expect(signalName('power sim-0', trans)).toBe('Power sim-0');
    expect(signalName('memory GPU-8f1a22c0-dead-beef', trans)).toBe('GPU memory GPU-8f1a22c0-…');
  });

  it('are shown as they come where no name is known', () => {
    expect(signalName('tea', trans)).toBe('tea');
  });
});
