/** The panel: everything about this server's lease in one column. Shows; decides nothing. */

import type { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import React from 'react';

import { ProfileChange } from './change';
import { duration } from './format';
import { Idleness } from './idleness';
import { crossed } from './model';
import type { LeaseModel } from './model';
import type { IPages, ISectionProps, Run } from './parts';
import { Cost, Details, Device, Foot, Notice, TimeLeft } from './sections';
import { Starving } from './starving';
import { endWords, stopWords, trouble } from './words';

export interface IPanelOptions {
  model: LeaseModel;
  trans: TranslationBundle;
  run: Run;
  pages: IPages;
}

export class LeasePanel extends ReactWidget {
  constructor(private readonly _options: IPanelOptions) {
    super();
    this.addClass('jp-GpuCommons-panel');
  }

  protected override render(): React.ReactElement {
    return <PanelBody {...this._options} />;
  }
}

function PanelBody(props: IPanelOptions): React.ReactElement {
  const { model, trans } = props;
  useModel(model);
  const problem = trouble(model, trans);
  const lease = model.lease;
  return (
    <>
      <h2 className="jp-GpuCommons-title">{trans.__('GPU lease')}</h2>
      <Announcer model={model} trans={trans} />
      {problem !== null && <Problem {...props} words={problem} />}
      {model.isOver && !model.leaving && problem === null && (
        <p className="jp-GpuCommons-banner jp-mod-warn jp-GpuCommons-leaving" role="status">
          {trans.__('Stopping. %1', stopWords(model, trans))}
        </p>
      )}
      {model.leaving && (
        <p className="jp-GpuCommons-banner jp-mod-warn jp-GpuCommons-leaving" role="status">
          {trans.__('Stopping. This page leaves when the server is gone…')}
        </p>
      )}
      {lease !== null && <LeaseBody {...props} lease={lease} />}
      {lease === null && model.state.link === 'live' && <Ended model={model} trans={trans} />}
      <Foot {...props} />
    </>
  );
}

/** What is wrong, and where the end of this server is told if it may have come. */
function Problem(props: IPanelOptions & { words: string }): React.ReactElement {
  const { model, trans, pages, words } = props;
  const why = model.connection === 'lost' ? pages.why() : '';
  const tone = model.isGone ? 'jp-mod-warn' : 'jp-mod-quiet';
  return (
    <div className={`jp-GpuCommons-banner ${tone}`} role="status">
      <p>{words}</p>
      {why && <a href={why}>{trans.__('Why did this server stop?')}</a>}
    </div>
  );
}

function LeaseBody(props: ISectionProps): React.ReactElement {
  const { lease, model } = props;
  if (model.isGone) {
    // Use, idleness and time left would be of a server that is no more.
    return (
      <>
        <Cost {...props} />
        <Details {...props} />
      </>
    );
  }
  return (
    <>
      {model.notice !== null && !model.isOver && <Notice {...props} notice={model.notice} />}
      {model.change !== null && <ProfileChange {...props} />}
      <Device {...props} />
      <Cost {...props} />
      <TimeLeft {...props} />
      {lease.devices.length > 0 && <Idleness {...props} />}
      {lease.devices.length > 0 && <Starving {...props} />}
      {model.change === null && <ProfileChange {...props} />}
      <Details {...props} />
    </>
  );
}

function Ended(props: { model: LeaseModel; trans: TranslationBundle }): React.ReactElement {
  const { model, trans } = props;
  const cost = model.view?.cost ?? null;
  return (
    <>
      <p>{endWords(model, trans)}</p>
      {cost !== null && cost.so_far_micro !== null && (
        <p>{trans.__('It cost %1.', cost.so_far_text)}</p>
      )}
    </>
  );
}

/** Render again when the model has news, and each second while anybody sees it. */
function useModel(model: LeaseModel): void {
  const [, tick] = React.useReducer((n: number) => n + 1, 0);
  React.useEffect(() => {
    const news = (): void => tick();
    model.changed.connect(news);
    const timer = setInterval(() => {
      if (!document.hidden) {
        tick();
      }
    }, 1000);
    return () => {
      model.changed.disconnect(news);
      clearInterval(timer);
    };
  }, [model]);
}

/** Says the time left aloud at a few thresholds, and never in between. */
function Announcer(props: { model: LeaseModel; trans: TranslationBundle }): React.ReactElement {
  const { model, trans } = props;
  const last = React.useRef<number | null>(null);
  const [words, say] = React.useState('');
  const left = model.noticeLeft() ?? model.timeLeft();
  React.useEffect(() => {
    const threshold = crossed(last.current, left);
    last.current = left;
    if (threshold !== null) {
      say(trans.__('This server stops in %1.', duration(threshold, trans)));
    }
  }, [left, trans]);
  return (
    <p className="jp-GpuCommons-aloud" aria-live="polite">
      {words}
    </p>
  );
}
