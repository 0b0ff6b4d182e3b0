/**
 * The words for every state: what the governor's codes mean to a person, said once. Honest first:
 * unknown is never idle, not priced is never free, old is never now.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import { coarse, duration, instant, shortDigest } from './format';
import type { LeaseModel } from './model';
import type { ILease, INotice, IPageState, ISwitchOffer, IView, Isolation, Standing } from './wire';

/** Short text, long text, and how urgent it is. */
export interface IFace {
  label: string;
  title: string;
  tone: 'plain' | 'quiet' | 'warn';
}

/** Why there are no figures of now; null when there are. */
export function trouble(model: LeaseModel, trans: TranslationBundle): string | null {
  switch (model.connection) {
    case 'lost':
      return model.isOver
        ? stopWords(model, trans)
        : trans.__('No contact with this server. It may have been stopped; figures are old.');
    case 'full':
      return trans.__('Too many pages of this server are open; close one to see figures here.');
    default:
      return linkTrouble(model.state, trans);
  }
}

function linkTrouble(state: IPageState, trans: TranslationBundle): string | null {
  switch (state.link) {
    case 'live':
      return null;
    case 'connecting':
      return trans.__('Asking the governor about this server…');
    case 'stale':
      return state.since === null
        ? trans.__('The governor does not answer, so lease and cost are not known.')
        : trans.__(
            'The governor has not answered since %1; figures are of then. Your lease and its cost go on.',
            instant(state.since)
          );
    case 'refused':
      return trans.__('The governor does not show this lease: %1', state.words);
    case 'no_hub':
      return trans.__(
        'This server was not started by a JupyterHub, so there is no lease and no cost.'
      );
    case 'no_governor':
      return trans.__('This hub has no GPU Commons for this server, so there is no lease.');
    case 'guest':
      return trans.__('This is the server of %1, who alone sees its lease and cost.', state.words);
  }
}

/** What the lease holds, short: "H200 · MIG 1g.18gb", "2 × H200", "No GPU". */
export function hardware(lease: ILease, trans: TranslationBundle): string {
  const [first] = lease.devices;
  if (first === undefined) {
    return trans.__('No GPU');
  }
  const model = first.model.split('-')[0].toUpperCase();
  const name = first.shared_by
    ? trans.__('%1 · 1 of %2 time-shares', model, first.shared_by)
    : first.mig_profile === null
      ? model
      : trans.__('%1 · MIG %2', model, first.mig_profile);
  const many = lease.devices.length;
  return many > 1 ? trans.__('%1 × %2', many, name) : name;
}

/** The status item. */
export function face(model: LeaseModel, trans: TranslationBundle): IFace {
  const lease = model.lease;
  const problem = trouble(model, trans);
  if (model.leaving || (model.isOver && model.connection === 'open')) {
    return { label: trans.__('GPU: stopping'), title: stopWords(model, trans), tone: 'warn' };
  }
  if (model.isGone) {
    return { label: trans.__('GPU: stopped'), title: stopWords(model, trans), tone: 'warn' };
  }
  const left = model.noticeLeft();
  if (model.notice !== null && left !== null && !model.isOver) {
    return {
      label: left > 0 ? trans.__('Stops in %1', duration(left, trans)) : trans.__('Stops now'),
      title: trans.__('%1 Open the GPU panel', noticeWords(model.notice, trans)),
      tone: 'warn'
    };
  }
  if (problem !== null) {
    return { label: unknownLabel(model, trans), title: problem, tone: 'quiet' };
  }
  return lease === null ? ended(model, trans) : running(model, lease, trans);
}

function unknownLabel(model: LeaseModel, trans: TranslationBundle): string {
  if (model.connection === 'lost' || model.state.link === 'stale') {
    return trans.__('GPU: no contact');
  }
  return model.state.link === 'connecting' ? trans.__('GPU: …') : trans.__('GPU: no lease');
}

function running(model: LeaseModel, lease: ILease, trans: TranslationBundle): IFace {
  const parts = [hardware(lease, trans)];
  if (model.isAdvice) {
    parts.unshift(model.notice?.cause === 'budget' ? trans.__('budget') : trans.__('idle'));
  }
  const cost = model.view?.cost ?? null;
  if (cost !== null && cost.so_far_micro !== null) {
    parts.push(cost.rate_text, trans.__('%1 so far', cost.so_far_text));
  } else if (cost !== null) {
    parts.push(cost.rate_text);
  }
  const left = model.timeLeft();
  if (left !== null) {
    parts.push(trans.__('%1 left', coarse(left, trans)));
  }
  if (model.isSimulated) {
    parts.push(trans.__('simulated'));
  }
  return {
    label: parts.join(' · '),
    title: trans.__('GPU, rate, cost so far and time left. Open the GPU panel'),
    tone: 'plain'
  };
}

function ended(model: LeaseModel, trans: TranslationBundle): IFace {
  const words = endWords(model, trans);
  return { label: trans.__('GPU: no lease'), title: words, tone: 'quiet' };
}

/** What is said where no lease is open. */
export function endWords(model: LeaseModel, trans: TranslationBundle): string {
  const last = model.view?.ended ?? null;
  if (last === null) {
    return trans.__('The governor knows no lease of this server, so nothing is charged.');
  }
  const why = last.reason?.message ?? causeWords(last.cause ?? '', trans);
  return last.closed_at === null
    ? trans.__('The lease of this server has ended: %1', why)
    : trans.__('The lease of this server ended at %1: %2', instant(last.closed_at), why);
}

/** Why a server will be or was stopped, in a few words. */
export function causeWords(cause: string, trans: TranslationBundle): string {
  const known: Record<string, string> = {
    user: trans.__('stopped by its owner'),
    culled: trans.__('the GPU was idle'),
    preempted: trans.__('called in for its owner'),
    expired: trans.__('the end of the lease'),
    budget: trans.__('the budget is spent'),
    admin: trans.__('stopped by an administrator'),
    replaced: trans.__('the change of profile that you asked for'),
    failed: trans.__('the start failed'),
    lost: trans.__('the server was gone')
  };
  return known[cause] ?? cause;
}

/** Why the server is being or was stopped: the stop's own words, else those of its notice. */
export function stopWords(model: LeaseModel, trans: TranslationBundle): string {
  const { lease, notice } = model;
  if (lease !== null && lease.cause !== null && lease.reason !== null) {
    return lease.reason.message;
  }
  return notice === null
    ? trans.__('The server is being stopped.')
    : trans.__('The announced stop has come: %1.', causeWords(notice.cause, trans));
}

/** Title and text of the dialog about a server that answers no more. */
export function lostWords(
  model: LeaseModel,
  trans: TranslationBundle
): { title: string; body: string } {
  const again = afterWords(model.lease?.cause ?? model.notice?.cause ?? '', trans);
  if (model.isOver) {
    return {
      title: trans.__('This server was stopped'),
      body: `${stopWords(model, trans)} ${again}`
    };
  }
  return {
    title: trans.__('This server does not answer'),
    body: `${trans.__('It was stopped, or the way to it is broken.')} ${again}`
  };
}

/** How to go on after a stop. */
function afterWords(cause: string, trans: TranslationBundle): string {
  switch (cause) {
    case 'preempted':
      return trans.__('Choose “Why?” to queue again in your old place.');
    case 'replaced':
      return trans.__('It starts again by itself in a moment; open it then from the hub.');
    default:
      return trans.__('Your files are kept. A new start asks for a GPU and costs anew.');
  }
}

/** One sentence about an announced stop, without its time. */
export function noticeWords(notice: INotice, trans: TranslationBundle): string {
  return notice.reason.message || trans.__('Reason: %1.', causeWords(notice.cause, trans));
}

/** Name of a lease's standing, and what its owner can count on in the governor's words. */
export function standsWords(
  model: LeaseModel,
  lease: ILease,
  trans: TranslationBundle
): [string, string] {
  const [name, means] = standingWords(lease.standing, trans);
  return [name, model.view?.contract?.words ?? means];
}

/** What becomes of the person's own program before a stop; empty where there is none. */
export function programWords(state: IPageState, trans: TranslationBundle): string {
  const most = duration(state.before_stop_s, trans);
  switch (state.before_stop) {
    case 'none':
      return '';
    case 'waits':
      return trans.__('Your before-stop program is run before it, for %1 at most.', most);
    case 'runs':
      return trans.__('Your before-stop program is running, for %1 at most.', most);
    case 'done':
      return trans.__('Your before-stop program has run.');
    case 'failed':
      return trans.__('Your before-stop program failed; the log of this server says how.');
    case 'too-long':
      return trans.__('Your before-stop program took too long and was ended.');
    case 'unusable':
      return trans.__(
        'Your before-stop program is not run: it must be executable, yours, and writable by nobody else.'
      );
  }
}

/** What is said when an announced stop is called off. */
export function calledOffWords(cause: string, trans: TranslationBundle): string {
  return cause === 'preempted'
    ? trans.__('What this server borrows is not needed any more: its stop was called off.')
    : trans.__('The stop of this server was called off.');
}

/** Name and meaning of a standing. */
export function standingWords(standing: Standing, trans: TranslationBundle): [string, string] {
  switch (standing) {
    case 'guaranteed':
      return [
        trans.__('Guaranteed'),
        trans.__('Inside the quota of the team; not taken for others.')
      ];
    case 'borrowed':
      return [
        trans.__('Borrowed'),
        trans.__('Another team owns this quota and may call it in, with notice.')
      ];
    case 'unmetered':
      return [trans.__('No quota'), trans.__('A profile without a GPU takes none.')];
    case 'would_queue':
      return [
        trans.__('Over the quota'),
        trans.__('This would wait where the policy is enforced.')
      ];
    case 'denied':
      return [
        trans.__('Outside the policy'),
        trans.__('This would be refused where the policy is enforced.')
      ];
  }
}

/** What an offer is and costs, in one line: "1g.18gb on H200 for team vision · guaranteed · …". */
export function offerFacts(offer: ISwitchOffer, trans: TranslationBundle): string {
  const what = trans.__('%1 for team %2', offer.flavor_title, offer.team);
  return [what, offer.standing_text, offer.price_text].join(' · ');
}

/** What is said once a change of profile was asked for. */
export function switchedWords(offer: ISwitchOffer, trans: TranslationBundle): string {
  return trans.__(
    'Asked for %1. This server goes on until there is room for it; the panel says how far it is.',
    offer.title
  );
}

/** Tell whoever runs on an environment that another is pinned by now; empty where none is. */
export function newerWords(view: IView | null, trans: TranslationBundle): string {
  const now = view?.environment_now ?? null;
  return now === null
    ? ''
    : trans.__(
        'The project has pinned %1 (%2) since. Stop and start your server to get it.',
        now.name,
        shortDigest(now.digest)
      );
}

/** What separates this lease from others on the same hardware. */
export function isolationWords(isolation: Isolation, trans: TranslationBundle): [string, string] {
  switch (isolation) {
    case 'node':
      return [trans.__('Machine alone'), trans.__('Nobody else computes on this machine.')];
    case 'gpu':
      return [trans.__('Whole GPU'), trans.__('Nobody else computes on this GPU.')];
    case 'mig':
      return [
        trans.__('MIG device'),
        trans.__('Compute and memory of its own, on a GPU that others share.')
      ];
    case 'vgpu':
      return [
        trans.__('Virtual GPU'),
        trans.__('Memory of its own; its host decides how it computes beside others.')
      ];
    case 'time-slice':
      return [
        trans.__('Shared in time'),
        trans.__('Others compute on this GPU in turn; memory is not separated.')
      ];
    case 'none':
      return [
        trans.__('Not isolated'),
        trans.__('Servers here can reach the devices of others; the choice of device is a hint.')
      ];
  }
}

/** Whether what was measured is at its limit. */
export function countedName(state: string, trans: TranslationBundle): string {
  const known: Record<string, string> = {
    short: trans.__('At its limit'),
    ample: trans.__('Has room'),
    unknown: trans.__('Unknown')
  };
  return known[state] ?? state;
}

/** Name of a witness of an idle judgement: "cpu", or "gpu" and the device's id. */
export function signalName(name: string, trans: TranslationBundle): string {
  const [kind, device = ''] = name.split(' ', 2);
  const known: Record<string, string> = {
    cpu: trans.__('Processes'),
    disk: trans.__('Disk'),
    network: trans.__('Network'),
    kernel: trans.__('Kernels'),
    input: trans.__('Keys and pointer'),
    gpu: trans.__('GPU'),
    memory: trans.__('GPU memory'),
    processes: trans.__('Processes that came or went on the GPU'),
    power: trans.__('Power')
  };
  const said = known[kind ?? ''] ?? kind ?? name;
  return device === '' ? said : trans.__('%1 %2', said, shortDevice(device));
}

/** So much of a device's id as tells it from its neighbours. */
function shortDevice(id: string): string {
  return id.length > 14 ? `${id.slice(0, 13)}…` : id;
}
