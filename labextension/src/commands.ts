/** The six commands. Buttons, toasts and the palette all go through them. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import {
  Dialog,
  InputDialog,
  Notification,
  showDialog,
  showErrorMessage
} from '@jupyterlab/apputils';
import { PageConfig } from '@jupyterlab/coreutils';
import type { TranslationBundle } from '@jupyterlab/translation';

import { ask, profiles } from './api';
import type { Send } from './api';
import { coarse } from './format';
import { gpuIcon } from './icons';
import { extensions } from './model';
import type { LeaseModel } from './model';
import { stopServer } from './stop';
import { switchedWords } from './words';

export const COMMANDS = {
  open: 'gpu-commons:open-panel',
  extend: 'gpu-commons:extend',
  keep: 'gpu-commons:keep',
  switch: 'gpu-commons:switch',
  stay: 'gpu-commons:stay',
  stop: 'gpu-commons:stop'
} as const;

export const ALL_COMMANDS: string[] = Object.values(COMMANDS);

export interface ICommandParts {
  app: JupyterFrontEnd;
  model: LeaseModel;
  send: Send;
  /** Whether this server still answers. */
  alive: () => Promise<boolean>;
  trans: TranslationBundle;
  open: () => void;
}

const NO_ARGUMENTS = { type: 'object', properties: {}, additionalProperties: false } as const;

/** Where the governor's pages are for a browser; empty outside a hub. */
export function pagesUrl(model: LeaseModel): string {
  const path = model.state.pages_path;
  return path ? PageConfig.getOption('hubHost') + path : '';
}

/** The page that tells how this server ended; empty outside a hub. */
export function whyUrl(model: LeaseModel): string {
  const pages = pagesUrl(model);
  const server = model.view?.server;
  if (!pages || server === undefined) {
    return pages;
  }
  const parts = [server.user, server.server || '-'].map(encodeURIComponent);
  return `${pages}why/${parts.join('/')}`;
}

/** Register the commands and keep their enabled state true. */
export function addCommands(parts: ICommandParts): void {
  const { app, model, trans } = parts;
  const { commands } = app;
  commands.addCommand(COMMANDS.open, {
    label: trans.__('Show GPU Lease'),
    caption: trans.__('Device, cost so far, time left and notices of this server'),
    icon: gpuIcon,
    describedBy: { args: NO_ARGUMENTS },
    execute: () => parts.open()
  });
  commands.addCommand(COMMANDS.extend, {
    label: trans.__('Extend GPU Lease…'),
    caption: trans.__('Move the end of the lease, within the policy'),
    describedBy: {
      args: {
        type: 'object',
        properties: {
          seconds: {
            type: 'integer',
            minimum: 1,
            description: trans.__('By how many seconds to extend; asks when it is missing')
          }
        },
        additionalProperties: false
      }
    },
    isEnabled: () => model.canExtend,
    execute: args => extend(parts, typeof args.seconds === 'number' ? args.seconds : null)
  });
  commands.addCommand(COMMANDS.keep, {
    label: () =>
      model.keep?.adds_s
        ? trans.__(
            'Keep GPU Server for %1 (%2)',
            coarse(model.keep.adds_s, trans),
            model.keep.price_text
          )
        : trans.__('Keep GPU Server'),
    caption: trans.__('Say that you still need it: idleness does not stop it for a while'),
    describedBy: { args: NO_ARGUMENTS },
    isEnabled: () => model.canKeep,
    execute: () => keep(parts)
  });
  commands.addCommand(COMMANDS.stop, {
    label: trans.__('Save and Stop GPU Server…'),
    caption: trans.__('Save all documents, stop this server and give its GPU back'),
    describedBy: { args: NO_ARGUMENTS },
    isEnabled: () => model.canStop,
    execute: () => stop(parts)
  });
  addSwitchCommands(parts);
  model.changed.connect(() => {
    for (const id of ALL_COMMANDS) {
      commands.notifyCommandChanged(id);
    }
  });
}

function addSwitchCommands(parts: ICommandParts): void {
  const { app, model, trans } = parts;
  app.commands.addCommand(COMMANDS.switch, {
    label: trans.__('Change GPU Profile…'),
    caption: trans.__('Let this server have another profile, once there is capacity for it'),
    describedBy: { args: NO_ARGUMENTS },
    isEnabled: () => model.canSwitch,
    execute: () => changeProfile(parts)
  });
  app.commands.addCommand(COMMANDS.stay, {
    label: trans.__('Stay with GPU Profile'),
    caption: trans.__('Leave the change of profile that was asked for'),
    describedBy: { args: NO_ARGUMENTS },
    isEnabled: () => model.canStay,
    execute: () => stay(parts)
  });
}

async function changeProfile(parts: ICommandParts): Promise<void> {
  const { trans, send } = parts;
  await attempt(trans.__('The profile was not changed'), trans, async () => {
    const sheet = await profiles(send);
    if (!sheet.offers.length) {
      throw new Error(trans.__('There is no other profile for you.'));
    }
    const { chooseOffer } = await import('./choosing');
    const offer = await chooseOffer(sheet, trans);
    if (offer !== null) {
      await ask(send, 'switch', { choice: offer.choice });
      Notification.success(switchedWords(offer, trans), { autoClose: 8000 });
      parts.open();
    }
  });
}

async function stay(parts: ICommandParts): Promise<void> {
  const { trans } = parts;
  await attempt(trans.__('The change was not left'), trans, async () => {
    await ask(parts.send, 'stay');
    Notification.success(trans.__('This server keeps its profile.'), { autoClose: 5000 });
  });
}

async function extend(parts: ICommandParts, given: number | null): Promise<void> {
  const { trans, model } = parts;
  const seconds = given ?? (await askForExtension(parts));
  if (seconds === null) {
    return;
  }
  await attempt(trans.__('The lease was not extended'), trans, async () => {
    await ask(parts.send, 'extend', { seconds: Math.min(seconds, model.extendMax || seconds) });
    Notification.success(trans.__('Lease extended by %1.', coarse(seconds, trans)), {
      autoClose: 5000
    });
  });
}

async function askForExtension(parts: ICommandParts): Promise<number | null> {
  const { trans, model } = parts;
  const choices = extensions(model.extendMax);
  const items = choices.map(seconds => coarse(seconds, trans));
  const result = await InputDialog.getItem({
    title: trans.__('Extend the lease'),
    label: trans.__('By how long'),
    items,
    okLabel: trans.__('Extend')
  });
  const index = result.button.accept ? items.indexOf(result.value ?? '') : -1;
  return index < 0 ? null : choices[index];
}

async function keep(parts: ICommandParts): Promise<void> {
  const { trans } = parts;
  await attempt(trans.__('The server was not kept'), trans, async () => {
    await ask(parts.send, 'keep');
    Notification.success(trans.__('Kept: idleness does not stop this server for a while.'), {
      autoClose: 5000
    });
  });
}

async function stop(parts: ICommandParts): Promise<void> {
  const { app, model, trans } = parts;
  await stopServer({
    confirm: () => confirmStop(model, trans),
    save: () => saveAll(app),
    ask: () => ask(parts.send, 'stop'),
    answers: () => parts.alive(),
    go: () => {
      const page = whyUrl(model);
      window.location.assign(page || PageConfig.getOption('hubHost') + hubHome());
    },
    fail: async (step, error) => {
      const title =
        step === 'save'
          ? trans.__('Not stopped: a document could not be saved')
          : trans.__('The server was not stopped');
      await showErrorMessage(title, String((error as Error).message ?? error), [okay(trans)]);
    },
    leaving: leaving => model.leave(leaving)
  });
}

/** Save every open document; without a document manager there is none. */
export async function saveAll(app: JupyterFrontEnd): Promise<void> {
  if (app.commands.hasCommand('docmanager:save-all')) {
    await app.commands.execute('docmanager:save-all');
  }
}

async function confirmStop(model: LeaseModel, trans: TranslationBundle): Promise<boolean> {
  const cost = model.view?.cost ?? null;
  const soFar =
    cost !== null && cost.so_far_micro !== null
      ? trans.__('Cost so far: %1.', cost.so_far_text)
      : trans.__('This lease is not priced.');
  const result = await showDialog({
    title: trans.__('Stop this server?'),
    body: trans.__(
      'All documents are saved first. Running code ends and its memory is lost; files stay. The GPU goes back to the pool. %1',
      soFar
    ),
    buttons: [
      Dialog.cancelButton({ label: trans.__('Keep working') }),
      Dialog.warnButton({ label: trans.__('Save and stop') })
    ],
    // The core would focus the last button, and Enter would stop the server.
    defaultButton: 0
  });
  return result.button.accept;
}

async function attempt(
  title: string,
  trans: TranslationBundle,
  act: () => Promise<void>
): Promise<void> {
  try {
    await act();
  } catch (error) {
    await showErrorMessage(title, String((error as Error).message ?? error), [okay(trans)]);
  }
}

function okay(trans: TranslationBundle): ReturnType<typeof Dialog.okButton> {
  return Dialog.okButton({ label: trans.__('OK') });
}

function hubHome(): string {
  return (PageConfig.getOption('hubPrefix') || '/') + 'home';
}
