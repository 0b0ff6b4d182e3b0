/** What the GPU waits for, with what was measured and what to try first. */

import type { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { coarse } from './format';
import { Fact } from './parts';
import type { ISectionProps } from './parts';
import type { ICounted } from './wire';
import { countedName } from './words';

export function Starving(props: ISectionProps): React.ReactElement | null {
  const { model, trans } = props;
  const found = model.view?.waits_for ?? null;
  if (found === null) {
    return null;
  }
  return (
    <section aria-label={trans.__('What the GPU waits for')}>
      <h3>{trans.__('What the GPU waits for')}</h3>
      <p>{found.words}</p>
      {found.remedy && <p>{trans.__('Try first: %1', found.remedy)}</p>}
      <dl className="jp-GpuCommons-details">
        {found.evidence.map(one => (
          <Counted key={one.name} counted={one} trans={trans} />
        ))}
      </dl>
      <p className="jp-GpuCommons-small">
        {trans.__('Means of the last %1.', coarse(found.window_s, trans))}
      </p>
    </section>
  );
}

function Counted(props: { counted: ICounted; trans: TranslationBundle }): React.ReactElement {
  const { counted, trans } = props;
  return (
    <Fact name={counted.name}>
      {countedName(counted.state, trans)} · {counted.value}
    </Fact>
  );
}
