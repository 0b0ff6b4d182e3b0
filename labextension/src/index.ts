/** The plugins: make the model, the stream and the faces, and let them know each other. */

import { ILabShell, ILayoutRestorer } from '@jupyterlab/application';
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';

import { StateStream } from './api';
import type { Send } from './api';
import { ALL_COMMANDS, addCommands, pagesUrl, saveAll, whyUrl } from './commands';
import { InputBeat } from './input';
import { lostPlugin } from './lost';
import { LeaseModel } from './model';
import { NoticeTeller } from './notices';
import { Saver } from './saving';
import { SidePanel } from './side';
import { StatusItem } from './status';
import { parseNotice } from './wire';

const PLUGIN_ID = 'jupyterhub-gpu-commons:plugin';

/** One server, one lease, one page: both plugins look at the same. */
const model = new LeaseModel();

/** What a person has chosen to see. */
class Wishes {
  readonly changed = new Signal<this, void>(this);
  statusItem = true;
  toasts = true;

  async follow(registry: ISettingRegistry): Promise<void> {
    const settings = await registry.load(PLUGIN_ID);
    const read = (): void => {
      this.statusItem = settings.composite.showStatusItem !== false;
      this.toasts = settings.composite.showToasts !== false;
      this.changed.emit();
    };
    settings.changed.connect(read);
    read();
  }
}

const plugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN_ID,
  description: 'Shows the GPU lease of this server: device, cost, time left, notices.',
  autoStart: true,
  optional: [
    ITranslator,
    IStatusBar,
    ICommandPalette,
    ILayoutRestorer,
    ISettingRegistry,
    ILabShell
  ],
  activate: (
    app: JupyterFrontEnd,
    translator: ITranslator | null,
    statusBar: IStatusBar | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    registry: ISettingRegistry | null,
    labShell: ILabShell | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('jupyterhub_gpu_commons');
    const wishes = new Wishes();
    if (registry !== null) {
      void wishes.follow(registry).catch(() => undefined);
    }
    const send = sender(app.serviceManager.serverSettings);
    const run = (command: string, args?: { seconds: number }): void => {
      void app.commands.execute(command, args);
    };

    const side = makeSide(model, trans, run);
    app.shell.add(side, 'right', { rank: 900, type: 'GPU' });
    restorer?.add(side, side.id);
    const open = (): void => {
      if (labShell !== null && !side.isVisible) {
        labShell.expandRight();
      }
      app.shell.activateById(side.id);
    };

    const alive = aliveness(app.serviceManager.serverSettings);
    addCommands({ app, model, send, alive, trans, open });
    const category = trans.__('GPU Commons');
    ALL_COMMANDS.forEach(command => palette?.addItem({ command, category }));
    if (statusBar !== null) {
      statusBar.registerStatusItem(PLUGIN_ID, {
        item: new StatusItem(model, trans, open),
        align: 'right',
        rank: 100,
        // At high zoom other items go first: this one tells of money and of announced stops.
        priority: 10,
        isActive: () => wishes.statusItem,
        activeStateChanged: wishes.changed
      });
    }
    new NoticeTeller({ model, trans, run, toasts: () => wishes.toasts });
    new Saver({ model, save: () => saveAll(app) });
    new InputBeat({ send, page: document });
    listen(app, model);
    void app.started.then(() => watch(send, model));
  }
};

function makeSide(
  model: LeaseModel,
  trans: TranslationBundle,
  run: (command: string, args?: { seconds: number }) => void
): SidePanel {
  return new SidePanel(trans.__('GPU lease'), async () => {
    const { LeasePanel } = await import('./panel');
    return new LeasePanel({
      model,
      trans,
      run,
      pages: { all: () => pagesUrl(model), why: () => whyUrl(model) }
    });
  });
}

function listen(app: JupyterFrontEnd, model: LeaseModel): void {
  app.serviceManager.events.stream.connect((_, event) => {
    const notice = parseNotice(event);
    if (notice !== null) {
      model.hear(notice);
    }
  });
}

function watch(send: Send, model: LeaseModel): void {
  const stream = new StateStream({
    send,
    sight: document,
    onState: state => model.receive(state),
    onConnection: connection => model.connect(connection)
  });
  // A page that waits in the back-forward cache must not hold a stream.
  window.addEventListener('pagehide', () => stream.dispose(), { once: true });
  void stream.run();
}

function sender(settings: ServerConnection.ISettings): Send {
  return (path, init) =>
    ServerConnection.makeRequest(
      URLExt.join(settings.baseUrl, 'gpu-commons', path),
      { cache: 'no-store', ...init },
      settings
    );
}

/** Whether the server answers as a Jupyter Server, and not the hub in its place. */
function aliveness(settings: ServerConnection.ISettings): () => Promise<boolean> {
  return async () => {
    try {
      const url = URLExt.join(settings.baseUrl, 'api', 'status');
      const answer = await ServerConnection.makeRequest(url, { cache: 'no-store' }, settings);
      return answer.ok && 'started' in ((await answer.json()) as object);
    } catch {
      return false;
    }
  };
}

export default [plugin, lostPlugin(model)];
