/** The part of the panel on another profile: the way to it, and how far a change is. */

import React from 'react';

import { COMMANDS } from './commands';
import { Button } from './parts';
import type { ISectionProps } from './parts';

export function ProfileChange(props: ISectionProps): React.ReactElement | null {
  const { model, trans, run } = props;
  const change = model.change;
  if (change !== null) {
    return (
      <section className="jp-GpuCommons-change" aria-label={trans.__('Change of profile')}>
        <h3>{trans.__('Changing to %1', change.title)}</h3>
        <p role="status">{change.words}</p>
        <p className="jp-GpuCommons-small">
          {trans.__(
            'Until then this server keeps what it has, and only that is charged. Its files stay.'
          )}
        </p>
        <div className="jp-GpuCommons-buttons">
          <Button disabled={!model.canStay} onClick={() => run(COMMANDS.stay)}>
            {trans.__('Stay with the present profile')}
          </Button>
        </div>
      </section>
    );
  }
  if (!model.canSwitch) {
    return null;
  }
  return (
    <section aria-label={trans.__('Another profile')}>
      <h3>{trans.__('Another profile')}</h3>
      <p className="jp-GpuCommons-small">
        {trans.__('New capacity is held first; then the server starts again with the same files.')}
      </p>
      <div className="jp-GpuCommons-buttons">
        <Button onClick={() => run(COMMANDS.switch)}>{trans.__('Change profile…')}</Button>
      </div>
    </section>
  );
}
