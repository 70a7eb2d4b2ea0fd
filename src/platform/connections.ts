/** The connections to the platform. They are kept alive, and there are as many as calls at once. */
import { Pool } from 'undici';
import { attemptCall, type Outcome, type OutgoingCall, type Reply } from './attempt.ts';
import type { PlatformSettings } from './settings.ts';

const KEEP_ALIVE_MS = 30_000;

export interface Connections {
  /** Sends a call once. Every failure is in the outcome; rejects only with the reason of `signal`. */
  readonly attempt: (call: OutgoingCall, signal?: AbortSignal) => Promise<Outcome<Reply>>;
  readonly close: () => Promise<void>;
}

export function openConnections({ baseUrl, concurrency, timeoutMs }: PlatformSettings): Connections {
  const pool = new Pool(new URL(baseUrl).origin, {
    connections: concurrency,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connect: { timeout: timeoutMs },
    // Our own time-out covers the complete call; those of undici would only add less exact ones.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return { attempt: (call, signal) => attemptCall(pool, call, signal), close: () => pool.close() };
}
