/** Whether the lease counts as idle, and the evidence: each witness with its age and source. */

import type { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { coarse, duration } from './format';
import { Keeping } from './keeping';
import { Fact } from './parts';
import type { ISectionProps } from './parts';
import type { ISignal, IVerdict } from './wire';
import { groundWords, heldWords, verdictName } from './judged';
import { signalName } from './words';

export function Idleness(props: ISectionProps): React.ReactElement {
  const { model, trans } = props;
  const verdict = model.view?.verdict ?? null;
  return (
    <section aria-label={trans.__('Idleness')}>
      <h3>
        {trans.__('Idle?')}{' '}
        {verdict !== null && (
          <span className="jp-GpuCommons-tag">{verdictName(verdict.state, trans)}</span>
        )}
      </h3>
      {verdict === null ? (
        <p>{trans.__('Not judged yet.')}</p>
      ) : (
        <>
          <Evidence verdict={verdict} trans={trans} />
          <Keeping {...props} />
        </>
      )}
    </section>
  );
}

function Evidence(props: { verdict: IVerdict; trans: TranslationBundle }): React.ReactElement {
  const { verdict, trans } = props;
  const unsaid = verdict.state === 'unknown' && !verdict.words;
  return (
    <>
      {verdict.words && <p>{verdict.words}</p>}
      {unsaid && <p>{trans.__('Figures are missing. Unknown is never a reason to stop.')}</p>}
      {verdict.limit_s !== null && (
        <p className="jp-GpuCommons-small">
          {trans.__(
            'A stop is announced after %1 without any work.',
            coarse(verdict.limit_s, trans)
          )}
        </p>
      )}
      <dl className="jp-GpuCommons-details">
        {verdict.rule !== null && (
          <Fact name={trans.__('Rule')} note={groundWords(verdict.ground, trans)}>
            {verdict.rule}
          </Fact>
        )}
        {verdict.held_by && (
          <Fact name={trans.__('Held off by')}>{heldWords(verdict.held_by, trans)}</Fact>
        )}
        {verdict.decision && (
          <Fact name={trans.__('Judgement')} note={trans.__('Name it to ask why.')}>
            <code>{verdict.decision}</code>
          </Fact>
        )}
        {verdict.signals.map(signal => (
          <Signal key={signal.name} signal={signal} trans={trans} />
        ))}
      </dl>
    </>
  );
}

function Signal(props: { signal: ISignal; trans: TranslationBundle }): React.ReactElement {
  const { signal, trans } = props;
  const source = signal.trust === 'user' ? trans.__('said by this server') : signal.source;
  const aged =
    signal.age_s === null ? source : trans.__('%1, %2 old', source, duration(signal.age_s, trans));
  const note =
    signal.window_s > 0
      ? trans.__('%1, over the last %2', aged, coarse(signal.window_s, trans))
      : aged;
  return (
    <Fact name={signalName(signal.name, trans)} note={note}>
      {verdictName(signal.state, trans)} · {signal.value}
    </Fact>
  );
}
