/** A proxy in front of PostgreSQL. It counts round trips, delays them, or silently drops bytes. */
import { startProxy, type Fate } from './proxy.ts';

export interface FaultyWire {
  readonly url: string;
  /** The delay in each direction. */
  delayMs: number;
  /**
   * From then on a connection silently drops all bytes in both directions, and does not pass on when one side closes.
   * This applies at once, or to connections that send this text to the server. With `after` the server still gets
   * that message.
   */
  swallow: { readonly message?: string; readonly when?: 'before' | 'after'; readonly times?: number } | null;
  /** How many connections were accepted so far, and how many of them daybook has not closed. */
  readonly connections: () => { readonly taken: number; readonly open: number };
  /** Statements sent since the last call, including those that set up a connection: one for each round trip. */
  readonly takeStatements: () => string[];
  readonly close: () => Promise<void>;
}

/** Listens on a free port of loopback. `databaseUrl` is the server's URL; `url` is the same with that port. */
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

/**
 * The SQL that a client sends in one chunk: simple queries (Q) and statements to parse (P). Each chunk is one round
 * trip.
 */
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
