/** Whether the lease counts as idle, and the evidence: each witness with its age and source. */

import type { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { COMMANDS } from './commands';
import { coarse, duration, instant } from './format';
import { Button, Fact } from './parts';
import type { ISectionProps } from './parts';
import type { ISignal, IVerdict } from './wire';
import { signalName, verdictName } from './words';

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
          <Kept {...props} />
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
        {verdict.signals.map(signal => (
          <Signal key={signal.name} signal={signal} trans={trans} />
        ))}
      </dl>
    </>
  );
}

function Kept(props: ISectionProps): React.ReactElement | null {
  const { lease, model, trans, run } = props;
  if (lease.kept_until !== null && Date.parse(lease.kept_until) > Date.now()) {
    const until = instant(lease.kept_until);
    return (
      <p className="jp-GpuCommons-small">
        {trans.__('Kept until %1: idleness does not stop it before.', until)}
      </p>
    );
  }
  if (!model.canKeep || model.notice !== null) {
    return null;
  }
  return <Button onClick={() => run(COMMANDS.keep)}>{trans.__('Keep for a while')}</Button>;
}

function Signal(props: { signal: ISignal; trans: TranslationBundle }): React.ReactElement {
  const { signal, trans } = props;
  const source = signal.trust === 'user' ? trans.__('said by this server') : signal.source;
  const note =
    signal.age_s === null ? source : trans.__('%1, %2 old', source, duration(signal.age_s, trans));
  return (
    <Fact name={signalName(signal.name, trans)} note={note}>
      {verdictName(signal.state, trans)} · {signal.value}
    </Fact>
  );
}
