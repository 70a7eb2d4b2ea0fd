/** Stands between daybook and PostgreSQL: counts round trips, makes them slow, or swallows bytes without a word. */
import { startProxy, type Fate } from './proxy.ts';

export interface FaultyWire {
  readonly url: string;
  /** How long each direction takes. */
  delayMs: number;
  /**
   * From then on a connection swallows all it is given, both ways, and tells neither side when the other closes: at once,
   * or on connections that carry this text to the server. `after`: the server still gets that message.
   */
  swallow: { readonly message?: string; readonly when?: 'before' | 'after'; readonly times?: number } | null;
  /** Connections taken so far, and those that daybook has not closed. */
  readonly connections: () => { readonly taken: number; readonly open: number };
  /** Statements sent since last asked, those of the connection's own set-up too: what a round trip was made for. */
  readonly takeStatements: () => string[];
  readonly close: () => Promise<void>;
}

/** Starts on a free port of the loopback; `databaseUrl` is the server's, and `url` the same with the other port. */
export async function startFaultyWire(databaseUrl: string): Promise<FaultyWire> {
  const statements: string[] = [];
  let swallowed = 0;
  const proxy = await startProxy(databaseUrl);
  const isToSwallow = (bytes: Buffer): boolean =>
    wire.swallow !== null &&
    (wire.swallow.message === undefined || bytes.includes(wire.swallow.message)) &&
    swallowed < (wire.swallow.times ?? Infinity);
  proxy.judge = ({ direction, bytes }): Fate => {
    const passing = wire.delayMs === 0 ? 'pass' : { delayMs: wire.delayMs };
    if (direction === 'down') return passing;
    statements.push(...statementsIn(bytes));
    if (!isToSwallow(bytes)) return passing;
    swallowed += 1;
    return wire.swallow?.when === 'after' ? 'swallow-rest' : 'swallow';
  };
  const wire: FaultyWire = {
    url: proxy.url,
    delayMs: 0,
    swallow: null,
    connections: proxy.connections,
    takeStatements: () => statements.splice(0),
    close: proxy.close,
  };
  return wire;
}

/** The SQL in what a client sends at once: simple queries (Q) and statements to parse (P). One is one round trip. */
function statementsIn(chunk: Buffer): string[] {
  const found: string[] = [];
  for (let at = 0; at + 5 <= chunk.length;) {
    const type = String.fromCharCode(chunk[at]!);
    const length = chunk.readInt32BE(at + 1);
    const body = chunk.subarray(at + 5, at + 1 + length).toString();
    if (type === 'Q') found.push(body.split('\0')[0]!);
    if (type === 'P') found.push(body.split('\0')[1]!);
    if (!/[A-Za-z]/.test(type) || length < 4) break;
    at += 1 + length;
  }
  return found;
}
