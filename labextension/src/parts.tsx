/** Small pieces that every part of the panel is built from. */

import type { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import type { LeaseModel } from './model';
import type { ILease } from './wire';

/** Run one of our commands. */
export type Run = (command: string, args?: { seconds: number }) => void;

/** Addresses of the governor's own pages; empty where there are none. */
export interface IPages {
  /** All of this person's servers. */
  all: () => string;
  /** What became of this server. */
  why: () => string;
}

export interface ISectionProps {
  model: LeaseModel;
  lease: ILease;
  trans: TranslationBundle;
  run: Run;
  pages: IPages;
}

/** A share as a bar, with its figure in words beside it; no bar where it is unknown. */
export function Meter(props: {
  label: string;
  value: number | null;
  words: string;
}): React.ReactElement {
  const { label, value, words } = props;
  return (
    <div className="jp-GpuCommons-meter">
      <div className="jp-GpuCommons-row">
        <span>{label}</span>
        <span className="jp-GpuCommons-figure">{words}</span>
      </div>
      {value !== null && (
        <div
          role="meter"
          className="jp-GpuCommons-track"
          aria-label={label}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={value}
          aria-valuetext={words}
        >
          <div className="jp-GpuCommons-fill" style={{ width: `${value}%` }} />
        </div>
      )}
    </div>
  );
}

/** A name and what stands for it, with a line on what that means. */
export function Fact(props: {
  name: string;
  note?: string;
  children: React.ReactNode;
}): React.ReactElement {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>
        {props.children}
        {props.note && <span className="jp-GpuCommons-note">{props.note}</span>}
      </dd>
    </div>
  );
}

/** A button in JupyterLab's own style. */
export function Button(props: {
  accept?: boolean;
  warn?: boolean;
  disabled?: boolean;
  onClick: () => void;
  children: React.ReactNode;
}): React.ReactElement {
  const tone = props.accept ? 'jp-mod-accept' : props.warn ? 'jp-mod-warn' : 'jp-mod-reject';
  return (
    <button
      type="button"
      className={`jp-mod-styled jp-GpuCommons-button ${tone}`}
      disabled={props.disabled}
      onClick={props.onClick}
    >
      {props.children}
    </button>
  );
}
