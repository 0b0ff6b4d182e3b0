/** The parts of the panel, one a subject. Words come from `words.ts`, figures from the model. */

import type { TranslationBundle } from '@jupyterlab/translation';
import { HTMLSelect } from '@jupyterlab/ui-components';
import React from 'react';

import { COMMANDS } from './commands';
import { coarse, duration, gibibytes, instant, percent, shortDigest } from './format';
import { adviceTitle, keepWords } from './judged';
import { extensions } from './model';
import type { LeaseModel } from './model';
import { Button, Fact, Meter } from './parts';
import type { IPages, ISectionProps, Run } from './parts';
import { SMALLER } from './wire';
import type { IDevice, INotice, IReading } from './wire';
import {
  causeWords,
  hardware,
  isolationWords,
  newerWords,
  noticeWords,
  programWords,
  standsWords
} from './words';

/** The announced stop, or the wish that only asks: why, until when, and what can be done. */
export function Notice(props: ISectionProps & { notice: INotice }): React.ReactElement {
  const { model, notice, trans, run } = props;
  return (
    <section
      className="jp-GpuCommons-banner jp-mod-warn jp-GpuCommons-notice"
      aria-label={model.isAdvice ? trans.__('Advice') : trans.__('Announced stop')}
    >
      <p className="jp-GpuCommons-big">
        <span aria-hidden="true">⚠ </span>
        {model.isAdvice ? (
          adviceTitle(notice, trans)
        ) : (
          <Countdown left={model.noticeLeft() ?? 0} trans={trans} />
        )}
      </p>
      <p>{noticeWords(notice, trans)}</p>
      {!model.isAdvice && (
        <p className="jp-GpuCommons-small">
          {trans.__('At %1: %2', instant(notice.stops_at), causeWords(notice.cause, trans))}
        </p>
      )}
      {!model.isAdvice && <BeforeStop model={model} trans={trans} />}
      <div className="jp-GpuCommons-buttons">
        {notice.cause === 'culled' && !model.isAdvice && (
          <Button accept disabled={!model.canKeep} onClick={() => run(COMMANDS.keep)}>
            {model.canKeep ? keepWords(model.keep, trans) : trans.__('Keep')}
          </Button>
        )}
        {notice.reason.code === SMALLER && (
          <Button accept disabled={!model.canSwitch} onClick={() => run(COMMANDS.switch)}>
            {trans.__('Change profile…')}
          </Button>
        )}
        {notice.cause === 'expired' && (
          <Button accept disabled={!model.canExtend} onClick={() => run(COMMANDS.extend)}>
            {trans.__('Extend…')}
          </Button>
        )}
        <Button disabled={!model.canStop} onClick={() => run(COMMANDS.stop)}>
          {trans.__('Save and stop…')}
        </Button>
      </div>
    </section>
  );
}

/** What is done by itself before the stop: documents are saved, the person's program is run. */
function BeforeStop(props: { model: LeaseModel; trans: TranslationBundle }): React.ReactElement {
  const { model, trans } = props;
  const program = programWords(model.state, trans);
  return (
    <p className="jp-GpuCommons-small">
      {trans.__('Open documents are saved now and once more shortly before.')} {program}
    </p>
  );
}

function Countdown(props: { left: number; trans: TranslationBundle }): React.ReactElement {
  const { left, trans } = props;
  if (left <= 0) {
    return <>{trans.__('Stops now')}</>;
  }
  return (
    <>
      {trans.__('Stops in')}{' '}
      <span role="timer" aria-live="off">
        {duration(left, trans)}
      </span>
    </>
  );
}

/** What the lease holds, and how busy it is. */
export function Device(props: ISectionProps): React.ReactElement {
  const { lease, model, trans } = props;
  const readings = model.view?.readings ?? [];
  return (
    <section aria-label={trans.__('Device')}>
      <h3>
        {hardware(lease, trans)} {model.isSimulated && <Simulated trans={trans} />}
      </h3>
      {lease.devices.length === 0 && (
        <p>{trans.__('This profile has no GPU; nothing here uses one.')}</p>
      )}
      {readings.map(reading => (
        <Reading key={reading.device} reading={reading} many={readings.length > 1} trans={trans} />
      ))}
      {lease.devices.length > 0 && readings.length === 0 && (
        <p className="jp-GpuCommons-small">
          {trans.__('Use of the GPU is unknown: no reading has arrived.')}
        </p>
      )}
    </section>
  );
}

function Simulated(props: { trans: TranslationBundle }): React.ReactElement {
  const { trans } = props;
  return (
    <span
      className="jp-GpuCommons-tag"
      title={trans.__('No real GPU: figures come from a simulated node')}
    >
      {trans.__('simulated')}
    </span>
  );
}

function Reading(props: {
  reading: IReading;
  many: boolean;
  trans: TranslationBundle;
}): React.ReactElement {
  const { reading, many, trans } = props;
  const { util_percent: util, memory_used_bytes: held, memory_total_bytes: total } = reading;
  const why = reading.absent || trans.__('no figure was read');
  return (
    <div className="jp-GpuCommons-reading">
      {many && <p className="jp-GpuCommons-small">{reading.title}</p>}
      <Meter
        label={trans.__('Utilisation')}
        value={util}
        words={util === null ? trans.__('unknown: %1', why) : trans.__('%1 %', util)}
      />
      <Meter
        label={trans.__('Memory')}
        value={held === null || total === null ? null : percent(held, total)}
        words={
          held === null
            ? trans.__('unknown: %1', why)
            : total === null
              ? gibibytes(held)
              : trans.__('%1 of %2', gibibytes(held), gibibytes(total))
        }
      />
    </div>
  );
}

/** Cost so far and rate, as the governor wrote them. */
export function Cost(props: ISectionProps): React.ReactElement {
  const { model, trans } = props;
  const cost = model.view?.cost ?? null;
  if (cost === null) {
    return (
      <section aria-label={trans.__('Cost')}>
        <h3>{trans.__('Cost so far')}</h3>
        <p>{trans.__('Nothing is charged yet.')}</p>
      </section>
    );
  }
  const priced = cost.so_far_micro !== null;
  return (
    <section aria-label={trans.__('Cost')}>
      <h3>{trans.__('Cost so far')}</h3>
      <p className="jp-GpuCommons-big jp-GpuCommons-cost">
        {priced ? cost.so_far_text : trans.__('not priced')}
      </p>
      <p className="jp-GpuCommons-small">
        {priced
          ? trans.__('%1, at %2', cost.rate_text, instant(cost.as_of))
          : trans.__('The policy has no price for this now. That does not mean it is free.')}
      </p>
    </section>
  );
}

/** Time to the end of the lease, and the way to move it. */
export function TimeLeft(props: ISectionProps): React.ReactElement {
  const { lease, model, trans, run } = props;
  const left = model.timeLeft();
  const choices = extensions(model.extendMax);
  const [picked, pick] = React.useState<number | null>(null);
  const seconds = picked !== null && choices.includes(picked) ? picked : (choices[0] ?? 0);
  return (
    <section aria-label={trans.__('Time left')}>
      <h3>{trans.__('Time left')}</h3>
      <p className="jp-GpuCommons-big">
        {left === null ? (
          trans.__('no end is set')
        ) : (
          <span role="timer" aria-live="off">
            {duration(left, trans)}
          </span>
        )}
      </p>
      {lease.ends_at !== null && (
        <p className="jp-GpuCommons-small">
          {trans.__('The lease ends at %1.', instant(lease.ends_at))}
        </p>
      )}
      {choices.length > 0 ? (
        <div className="jp-GpuCommons-buttons">
          <HTMLSelect
            className="jp-GpuCommons-select"
            aria-label={trans.__('Extend by')}
            value={seconds}
            onChange={event => pick(Number(event.target.value))}
            options={choices.map(choice => ({ value: choice, label: coarse(choice, trans) }))}
          />
          <Button disabled={!model.canExtend} onClick={() => run(COMMANDS.extend, { seconds })}>
            {trans.__('Extend')}
          </Button>
        </div>
      ) : (
        !model.isOver && (
          <p className="jp-GpuCommons-small">{trans.__('The policy allows no extension.')}</p>
        )
      )}
    </section>
  );
}

/** Whose lease it is and what stands behind it. */
export function Details(props: ISectionProps): React.ReactElement {
  const { lease, model, trans } = props;
  const [standing, standingMeans] = standsWords(model, lease, trans);
  return (
    <section aria-label={trans.__('Details')}>
      <h3>{trans.__('Details')}</h3>
      <dl className="jp-GpuCommons-details">
        <Fact name={trans.__('Profile')}>{lease.grant?.title ?? lease.profile}</Fact>
        <Fact name={trans.__('Team')}>{lease.team}</Fact>
        {lease.project !== null && <Fact name={trans.__('Project')}>{lease.project}</Fact>}
        {model.view?.task_title && (
          <Fact name={trans.__('What it is for')}>{model.view.task_title}</Fact>
        )}
        <Fact name={trans.__('Standing')} note={standingMeans}>
          {standing}
        </Fact>
        <Pinned {...props} />
        {lease.devices.length > 0 && <Isolated {...props} />}
        {model.view?.joined && <Fact name={trans.__('Joined')}>{model.view.joined}</Fact>}
        {lease.devices.map(device => (
          <DeviceFact key={device.id} device={device} trans={trans} />
        ))}
        {model.view?.server.server && (
          <Fact name={trans.__('Server')}>{model.view.server.server}</Fact>
        )}
      </dl>
    </section>
  );
}

function Pinned(props: ISectionProps): React.ReactElement {
  const { lease, model, trans } = props;
  const environment = lease.grant?.environment ?? null;
  return (
    <Fact name={trans.__('Environment')} note={newerWords(model.view, trans)}>
      {environment === null ? (
        trans.__('not pinned')
      ) : (
        <>
          {environment.name}{' '}
          <code title={environment.digest}>{shortDigest(environment.digest)}</code>
        </>
      )}
    </Fact>
  );
}

function Isolated(props: ISectionProps): React.ReactElement {
  const { model, trans } = props;
  const [name, means] = isolationWords(model.view?.isolation ?? 'none', trans);
  const node = model.view?.found_on;
  return (
    <Fact name={trans.__('Isolation')} note={means}>
      {node ? trans.__('%1, found on the node %2', name, node) : name}
    </Fact>
  );
}

function DeviceFact(props: { device: IDevice; trans: TranslationBundle }): React.ReactElement {
  const { device, trans } = props;
  const kind = device.shared_by
    ? trans.__('one of %1 time-shares', device.shared_by)
    : (device.mig_profile ?? trans.__('whole GPU'));
  return (
    <Fact name={trans.__('Device')} note={`${device.model}, ${kind}`}>
      <code>{device.id}</code>
    </Fact>
  );
}

/** The stop, and the way to the governor's own pages. */
export function Foot(props: {
  model: LeaseModel;
  trans: TranslationBundle;
  run: Run;
  pages: IPages;
}): React.ReactElement {
  const { model, trans, run, pages } = props;
  const why = model.lease === null ? pages.why() : '';
  return (
    <footer className="jp-GpuCommons-foot">
      {model.lease !== null && !model.isGone && (
        <Button warn disabled={!model.canStop} onClick={() => run(COMMANDS.stop)}>
          {trans.__('Save and stop this server…')}
        </Button>
      )}
      {why && <a href={why}>{trans.__('Why did this server stop?')}</a>}
      {pages.all() && (
        <a href={pages.all()} target="_blank" rel="noopener noreferrer">
          {trans.__('Usage and cost of all my servers')}
        </a>
      )}
    </footer>
  );
}
