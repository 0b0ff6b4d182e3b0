/** The part of the panel on being kept: until when, for how much longer, its price, what is left. */

import React from 'react';

import { COMMANDS } from './commands';
import { coarse, instant } from './format';
import { Button, Fact, Meter } from './parts';
import type { ISectionProps } from './parts';
import type { IKeep } from './wire';
import { keepWords, whyNoKeep } from './judged';

export function Keeping(props: ISectionProps): React.ReactElement | null {
  const { lease, model, trans, run } = props;
  const { keep } = model;
  const kept = lease.kept_until !== null && Date.parse(lease.kept_until) > Date.now();
  if (!kept && keep === null) {
    return null;
  }
  return (
    <div className="jp-GpuCommons-keep" role="group" aria-label={trans.__('Keep')}>
      {kept && lease.kept_until !== null && (
        <p className="jp-GpuCommons-small">
          {trans.__('Kept until %1: idleness does not stop it before.', instant(lease.kept_until))}
        </p>
      )}
      {keep !== null && <Left keep={keep} trans={trans} />}
      {keep !== null && !keep.adds_s && !kept && (
        <p className="jp-GpuCommons-small">{whyNoKeep(keep, trans)}</p>
      )}
      {model.canKeep && model.notice === null && (
        <Button onClick={() => run(COMMANDS.keep)}>{keepWords(keep, trans)}</Button>
      )}
    </div>
  );
}

/** Both limits, and what a lead grants beyond them. */
function Left(props: { keep: IKeep; trans: ISectionProps['trans'] }): React.ReactElement {
  const { keep, trans } = props;
  const rows: [string, number, number][] = [
    [trans.__('Kept, this server'), keep.server_kept_s, keep.server_limit_s],
    [trans.__('Kept, seven days'), keep.week_kept_s, keep.week_limit_s]
  ];
  return (
    <>
      {rows.map(([label, spent, limit]) => (
        <Meter
          key={label}
          label={label}
          value={limit ? Math.min(100, Math.floor((spent * 100) / limit)) : 100}
          words={trans.__('%1 of %2', coarse(spent, trans), coarse(limit, trans))}
        />
      ))}
      {keep.granted_until !== null && (
        <dl className="jp-GpuCommons-details">
          <Fact name={trans.__('Granted by a lead')}>
            {trans.__(
              '%1 more, until %2',
              coarse(keep.granted_s, trans),
              instant(keep.granted_until)
            )}
          </Fact>
        </dl>
      )}
    </>
  );
}
