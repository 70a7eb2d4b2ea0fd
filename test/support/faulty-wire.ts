/** A proxy in front of PostgreSQL. It counts round trips, delays them, or silently drops bytes. */
import { startProxy, type Fate } from './proxy.ts';
import { createStatementReader } from './sent-statements.ts';

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
  const statementsIn = createStatementReader();
  let swallowed = 0;
  const proxy = await startProxy(databaseUrl);
  const isToSwallow = (bytes: Buffer, texts: readonly string[]): boolean =>
    wire.swallow !== null &&
    (wire.swallow.message === undefined || isIn(wire.swallow.message, bytes, texts)) &&
    swallowed < (wire.swallow.times ?? Infinity);
  proxy.judge = ({ direction, bytes }): Fate => {
    const passing = wire.delayMs === 0 ? 'pass' : { delayMs: wire.delayMs };
    if (direction === 'down') return passing;
    const texts = statementsIn(bytes);
    statements.push(...texts);
    if (!isToSwallow(bytes, texts)) return passing;
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

const isIn = (message: string, bytes: Buffer, texts: readonly string[]): boolean =>
  bytes.includes(message) || texts.some((text) => text.includes(message));
