import { afterEach, describe, expect, it } from 'vitest';

import { RefusedByServer, StateStream, ask, lines, profiles } from '../api';
import type { Connection, ISight, Send } from '../api';
import type { IPageState } from '../wire';

/** A document that a test hides and shows. */
class Sight extends EventTarget implements ISight {
  hidden = false;

  show(visible: boolean): void {
    this.hidden = !visible;
    this.dispatchEvent(new Event('visibilitychange'));
  }
}

/** A server whose streams the test writes and ends. */
class Server {
  readonly streams: ReadableStreamDefaultController<Uint8Array>[] = [];
  readonly aborted: boolean[] = [];
  status = 200;

  readonly send: Send = (path, init) => {
    if (this.status !== 200) {
      const body = JSON.stringify({ code: 'no', message: 'in words' });
      return Promise.resolve(new Response(body, { status: this.status }));
    }
    const index = this.streams.length;
    const body = new ReadableStream<Uint8Array>({
      start: controller => {
        this.streams.push(controller);
        this.aborted.push(false);
        init.signal?.addEventListener('abort', () => {
          this.aborted[index] = true;
          controller.error(new DOMException('aborted', 'AbortError'));
        });
      }
    });
    return Promise.resolve(new Response(body));
  };

  write(text: string): void {
    this.streams[this.streams.length - 1].enqueue(new TextEncoder().encode(text));
  }
}

let stream: StateStream | null = null;

function watch(server: Server, sight = new Sight(), silence = 10_000): IWatch {
  const states: IPageState[] = [];
  const connections: Connection[] = [];
  stream = new StateStream({
    send: server.send,
    sight,
    onState: state => states.push(state),
    onConnection: connection => connections.push(connection),
    pause: 5,
    silence
  });
  void stream.run();
  return { states, connections, sight };
}

interface IWatch {
  states: IPageState[];
  connections: Connection[];
  sight: Sight;
}

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 200 && !condition(); i++) {
    await new Promise(resolve => setTimeout(resolve, 5));
  }
  expect(condition()).toBe(true);
}

afterEach(() => {
  stream?.dispose();
});

describe('the stream', () => {
  it('reads states from lines that come in pieces, and passes signs of life over', async () => {
    const server = new Server();
    const { states, connections } = watch(server);
    await until(() => server.streams.length === 1);
    server.write('{"kind":"state","link":"li');
    server.write('ve"}\n{"kind":"beat"}\n');
    server.write('{"kind":"state","link":"stale"}\n');
    await until(() => states.length === 2);
    expect(states.map(state => state.link)).toEqual(['live', 'stale']);
    expect(connections).toEqual(['open']);
  });

  it('is opened again when it ends, after saying that contact was lost', async () => {
    const server = new Server();
    const { connections } = watch(server);
    await until(() => server.streams.length === 1);
    server.streams[0].close();
    await until(() => server.streams.length === 2);
    expect(connections).toEqual(['open', 'lost', 'open']);
  });

  it('that says nothing for too long is given up', async () => {
    const server = new Server();
    watch(server, new Sight(), 30);
    await until(() => server.streams.length >= 2);
    expect(server.aborted[0]).toBe(true);
  });

  it('is closed while the page is hidden, without a word of lost contact', async () => {
    const server = new Server();
    const { connections, sight } = watch(server);
    await until(() => connections.length === 1);
    sight.show(false);
    await until(() => server.aborted[0]);
    await new Promise(resolve => setTimeout(resolve, 40));
    expect(server.streams.length).toBe(1);
    sight.show(true);
    await until(() => server.streams.length === 2);
    expect(connections).toEqual(['open', 'open']);
  });

  it('is not opened by a page that starts hidden', async () => {
    const server = new Server();
    const sight = new Sight();
    sight.hidden = true;
    watch(server, sight);
    await new Promise(resolve => setTimeout(resolve, 30));
    expect(server.streams.length).toBe(0);
    sight.show(true);
    await until(() => server.streams.length === 1);
  });

  it('tells when too many pages watch, and follows when there is room', async () => {
    const server = new Server();
    server.status = 429;
    const { connections } = watch(server);
    await until(() => connections.includes('full'));
    server.status = 200;
    await until(() => connections.includes('open'));
  });

  it('ends for good when disposed', async () => {
    const server = new Server();
    watch(server);
    await until(() => server.streams.length === 1);
    stream?.dispose();
    await new Promise(resolve => setTimeout(resolve, 40));
    expect(server.streams.length).toBe(1);
    expect(stream?.isDisposed).toBe(true);
  });
});

describe('a wish', () => {
  it('is posted as JSON', async () => {
    const sent: unknown[] = [];
    const send: Send = (path, init) => {
      sent.push([path, init.method, init.body]);
      return Promise.resolve(new Response('{}', { status: 202 }));
    };
    await ask(send, 'extend', { seconds: 60 });
    expect(sent).toEqual([['extend', 'POST', '{"seconds":60}']]);
  });

  it('for another profile hands the choice back as it came', async () => {
    const choice = { profile: 'card', team: 'vision' };
    const sheet = { lease_id: 'lease-7', has: 'MIG', offers: [{ choice }] };
    const sent: unknown[] = [];
    const send: Send = (path, init) => {
      sent.push([path, init.method, init.body]);
      return Promise.resolve(new Response(JSON.stringify(sheet)));
    };
    const seen = await profiles(send);
    await ask(send, 'switch', { choice: seen.offers[0].choice });
    expect(sent).toEqual([
      ['profiles', 'GET', undefined],
      ['switch', 'POST', '{"choice":{"profile":"card","team":"vision"}}']
    ]);
  });

  it('to see profiles is refused in words, too', async () => {
    const server = new Server();
    server.status = 403;
    await expect(profiles(server.send)).rejects.toMatchObject({ message: 'in words', code: 'no' });
  });

  it('is refused in the server’s words', async () => {
    const server = new Server();
    server.status = 403;
    await expect(ask(server.send, 'stop')).rejects.toMatchObject({
      message: 'in words',
      code: 'no',
      status: 403
    });
  });

  it('that a proxy answers is refused by its status', async () => {
    const send: Send = () => Promise.resolve(new Response('<html>', { status: 503 }));
    const error = await ask(send, 'keep').catch((e: unknown) => e);
    expect(error).toBeInstanceOf(RefusedByServer);
    expect((error as RefusedByServer).message).toBe('HTTP 503');
  });
});

it('splits a body at line ends, whatever the pieces, and umlauts too', async () => {
  const bytes = new TextEncoder().encode('grün\nzwei\nrest');
  const body = new ReadableStream<Uint8Array>({
    start: controller => {
      for (const byte of bytes) {
        controller.enqueue(new Uint8Array([byte]));
      }
      controller.close();
    }
  });
  const read: string[] = [];
  for await (const line of lines(body)) {
    read.push(line);
  }
  expect(read).toEqual(['grün', 'zwei']);
});
