/** Tells people without the database: when it is away, nothing can be kept for later. */
import { randomUUID } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AlertContent } from './alert.ts';
import { TRY_MS_MAX } from './deliver.ts';
import type { Target } from './targets.ts';

export interface DirectResult {
  readonly target: string;
  /** Null if it took the alert. */
  readonly problem: string | null;
}

/** Sends to each target once, side by side, in bounded time. */
export async function sendDirect(
  targets: readonly Target[],
  content: AlertContent,
  { now, timeoutMs = TRY_MS_MAX }: { readonly now: () => Date; readonly timeoutMs?: number },
): Promise<DirectResult[]> {
  const alert = { ...content, id: randomUUID(), raisedAt: now() };
  return Promise.all(
    targets.map(async ({ name, send }) => {
      const sent = await send(alert, { timeoutMs, now });
      return { target: name, problem: sent.ok ? null : sent.problem };
    }),
  );
}

/** What was told without the database is told again after this time. */
const TELL_AGAIN_MS = 24 * 3_600_000;
const FILE = 'alert-told.txt';

/**
 * Whether something may be told without the database now: once a day. The data folder remembers it, as a supervisor may
 * start a process that cannot do its work again and again. Where that folder cannot be written, it is told each time.
 */
export async function mayTellDirectly(dataDir: string, now: Date): Promise<boolean> {
  const path = join(dataDir, FILE);
  const toldMs = Date.parse(await readFile(path, 'utf8').catch(() => ''));
  const agoMs = now.getTime() - toldMs;
  if (agoMs >= 0 && agoMs < TELL_AGAIN_MS) return false;
  await writeFile(path, now.toISOString()).catch(() => undefined);
  return true;
}

/** Forgets what was told without the database: the trouble is over. */
export const forgetToldDirectly = (dataDir: string): Promise<void> =>
  rm(join(dataDir, FILE), { force: true });
