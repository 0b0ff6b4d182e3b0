/**
 * What a page says once its server is gone: why, where more of it is told, and that a new start is
 * charged anew. On a hub it stands in the place of JupyterLab's own words, which know no reason.
 */

import { ConnectionLost, IConnectionLost, JupyterLab } from '@jupyterlab/application';
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, showDialog } from '@jupyterlab/apputils';
import { PageConfig } from '@jupyterlab/coreutils';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import type { TranslationBundle } from '@jupyterlab/translation';

import { whyUrl } from './commands';
import type { LeaseModel } from './model';
import { lostWords } from './words';

/** JupyterLab's command that opens the hub's page for a new start. */
const RESTART = 'hub:restart';

/** Whether JupyterLab goes on asking the server; without it, each question would ask again. */
interface IAsking {
  isConnected: boolean;
}

/** The plugin that takes the place of `@jupyterlab/hub-extension:connectionlost`. */
export function lostPlugin(model: LeaseModel): JupyterFrontEndPlugin<IConnectionLost> {
  return {
    id: 'jupyterhub-gpu-commons:connection-lost',
    description: 'Says why this server is gone.',
    autoStart: true,
    provides: IConnectionLost,
    optional: [ITranslator, JupyterLab.IInfo],
    activate: (
      app: JupyterFrontEnd,
      translator: ITranslator | null,
      info: JupyterLab.IInfo | null
    ): IConnectionLost => {
      if (!PageConfig.getOption('hubPrefix')) {
        return ConnectionLost;
      }
      const trans = (translator ?? nullTranslator).load('jupyterhub_gpu_commons');
      return teller(app, model, trans, info ?? { isConnected: true });
    }
  };
}

function teller(
  app: JupyterFrontEnd,
  model: LeaseModel,
  trans: TranslationBundle,
  asking: IAsking
): IConnectionLost {
  let open = false;
  model.changed.connect(() => {
    if (!open && model.isFresh && !model.isOver) {
      asking.isConnected = true;
    }
  });
  return async () => {
    // Who asked for the stop is on the way to the page that tells of it.
    if (open || model.leaving) {
      return;
    }
    open = true;
    asking.isConnected = false;
    if (model.isOver) {
      // A proxy may hold the stream of a server that is gone open for a while.
      model.connect('lost');
    }
    try {
      await tell(app, model, trans);
    } finally {
      open = false;
      // A server that was stopped is not coming back by itself.
      asking.isConnected = !model.isOver;
    }
  };
}

async function tell(
  app: JupyterFrontEnd,
  model: LeaseModel,
  trans: TranslationBundle
): Promise<void> {
  const why = whyUrl(model);
  const buttons = [Dialog.cancelButton({ label: trans.__('Dismiss') })];
  if (app.commands.hasCommand(RESTART)) {
    buttons.push(Dialog.cancelButton({ label: trans.__('Start again…'), actions: [RESTART] }));
  }
  if (why) {
    buttons.push(Dialog.okButton({ label: trans.__('Why?'), actions: ['why'] }));
  }
  const { title, body } = lostWords(model, trans);
  const { button } = await showDialog({ title, body, buttons, defaultButton: buttons.length - 1 });
  if (button.actions.includes(RESTART)) {
    await app.commands.execute(RESTART);
  } else if (button.actions.includes('why')) {
    window.location.assign(why);
  }
}
