/** A connection that can fail: a proxy in front of a server that treats each chunk of bytes as a test says. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export interface Chunk {
  /** `up` is from the client to the server. */
  readonly direction: 'up' | 'down';
  readonly bytes: Buffer;
}

/** What happens to a chunk, and to its connection. */
export type Fate =
  | 'pass'
  /** The chunk is lost, and the connection ends on both sides. */
  | 'cut'
  /** The same with a reset, as from a machine that no longer knows the connection. */
  | 'reset'
  /** It arrives. The answer to it is lost, and the connection ends. */
  | 'lose-answer'
  /** It and everything after it is lost. The connection stays open, and nobody is told. */
  | 'swallow'
  /** It gets through; all that comes after it, its answer too, is lost, and the connection stays open. */
  | 'swallow-rest'
  /** It gets through later. */
  | { readonly delayMs: number }
  /** Only its first bytes arrive, and then the connection ends. */
  | { readonly through: number; readonly then: 'cut' | 'reset' }
  /** The server never gets it. The client gets this answer instead, and the connection ends. */
  | { readonly answer: string };

export interface Proxy {
  readonly url: string;
  /** Called for each chunk, which waits for the result. */
  judge: (chunk: Chunk) => Fate | Promise<Fate>;
  /** How many connections it took so far, and how many of them the client has not closed. */
  readonly connections: () => { readonly taken: number; readonly open: number };
  /** Ends what is open and takes no new connection until `back`. */
  readonly away: () => Promise<void>;
  readonly back: () => Promise<void>;
  readonly close: () => Promise<void>;
}

const pass = (): Fate => 'pass';

/** "100 Continue" is not the answer yet. */
const isInterim = ({ bytes }: Chunk): boolean => bytes.toString('latin1', 0, 12) === 'HTTP/1.1 100';

/** Listens on a free port of loopback. `targetUrl` is the server's URL; `url` is the same with that port. */
export async function startProxy(targetUrl: string): Promise<Proxy> {
  const target = new URL(targetUrl);
  const open = new Set<Socket>();
  const clients = new Set<Socket>();
  let taken = 0;
  const serve = (client: Socket): void => {
    taken += 1;
    clients.add(client);
    for (const event of ['end', 'close']) client.on(event, () => clients.delete(client));
    const upstream = connect({ port: Number(target.port), host: target.hostname, allowHalfOpen: true });
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.setNoDelay(true);
      socket.on('close', () => open.delete(socket));
    }
    carry(client, upstream, (chunk) => proxy.judge(chunk));
  };
  let server = await listening(serve, 0);
  const port = portOf(server);
  const away = async (): Promise<void> => {
    for (const socket of open) socket.resetAndDestroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  const url = new URL(targetUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  const proxy: Proxy = {
    url: url.href.replace(/\/$/, ''),
    judge: pass,
    connections: () => ({ taken, open: clients.size }),
    away,
    back: async () => {
      if (!server.listening) server = await listening(serve, port);
    },
    close: away,
  };
  return proxy;
}

async function listening(serve: (client: Socket) => void, port: number): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, serve);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Passes the chunks of one connection in order. Each waits for its own fate. */
function carry(client: Socket, upstream: Socket, judge: Proxy['judge']): void {
  let isDeaf = false;
  let isSwallowed = false;
  const end = (how: 'cut' | 'reset'): void => {
    for (const socket of [client, upstream]) {
      if (how === 'cut') socket.destroy();
      else socket.resetAndDestroy();
    }
  };
  const meet = async (chunk: Chunk, to: Socket): Promise<void> => {
    if (isSwallowed) return;
    if (chunk.direction === 'down' && isDeaf && !isInterim(chunk)) {
      end('cut');
      return;
    }
    const fate = await judge(chunk);
    if (fate === 'pass') to.write(chunk.bytes);
    else if (fate === 'cut' || fate === 'reset') end(fate);
    else if (fate === 'swallow') isSwallowed = true;
    else if (fate === 'swallow-rest') {
      isSwallowed = true;
      to.write(chunk.bytes);
    } else if (fate === 'lose-answer') {
      isDeaf = true;
      to.write(chunk.bytes);
    } else if ('delayMs' in fate) {
      await new Promise((resolve) => setTimeout(resolve, fate.delayMs));
      to.write(chunk.bytes);
    } else if ('through' in fate) {
      const part = chunk.bytes.subarray(0, fate.through);
      if (part.length === 0) end(fate.then);
      else to.write(part, () => end(fate.then));
    } else {
      isSwallowed = true;
      client.end(fate.answer);
      upstream.destroy();
    }
  };
  for (const [direction, from, to] of [
    ['up', client, upstream],
    ['down', upstream, client],
  ] as const) {
    let turn = Promise.resolve();
    const inTurn = (work: () => void | Promise<void>): void => {
      turn = turn.then(work);
    };
    from.on('error', () => undefined);
    from.on('data', (bytes: Buffer) => inTurn(() => meet({ direction, bytes }, to)));
    const unlessSwallowed = (work: () => void): void => {
      inTurn(() => {
        if (!isSwallowed) work();
      });
    };
    from.on('end', () => unlessSwallowed(() => to.end()));
    from.on('close', () => unlessSwallowed(() => to.destroySoon()));
  }
}
