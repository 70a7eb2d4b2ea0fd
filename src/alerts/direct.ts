/** Tells people without the database: when it is away, nothing can be kept for later. */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { AlertContent } from './alert.ts';
import { TRY_MS_MAX } from './deliver.ts';
import { rememberedTime, rememberTime } from './remembered-time.ts';
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
 * Sends as `sendDirect` does, unless somebody took such an alert within the last day: then to nobody. The data folder
 * remembers that, as a supervisor may start a process that cannot do its work again and again. Where that folder cannot
 * be written, it is told each time.
 */
export async function sendDirectOnceADay(
  targets: readonly Target[],
  content: AlertContent,
  {
    dataDir,
    ...sending
  }: { readonly dataDir: string; readonly now: () => Date; readonly timeoutMs?: number },
): Promise<DirectResult[]> {
  const now = sending.now();
  const told = await rememberedTime(dataDir, FILE);
  const agoMs = told === null ? -1 : now.getTime() - told.getTime();
  if (agoMs >= 0 && agoMs < TELL_AGAIN_MS) return [];
  const results = await sendDirect(targets, content, sending);
  if (results.some(({ problem }) => problem === null))
    await rememberTime(dataDir, FILE, now).catch(() => undefined);
  return results;
}

/** Forgets what was told without the database: the trouble is over. */
export const forgetToldDirectly = (dataDir: string): Promise<void> =>
  rm(join(dataDir, FILE), { force: true });
