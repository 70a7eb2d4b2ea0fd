/** Sends alerts without the database, as no outbox exists while it is unavailable. */
import { randomUUID } from 'node:crypto';
import { rm, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AlertContent } from './alert.ts';
import { TRY_MS_MAX } from './deliver.ts';
import type { Target } from './targets.ts';

export interface DirectResult {
  readonly target: string;
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

const REPEAT_AFTER_MS = 24 * 3_600_000;
const FILE = 'alert-told.txt';

/**
 * Sends as `sendDirect` does, unless a target took such an alert within the last day. The data folder records that, as a
 * supervisor may restart a failing process again and again. Where that folder is not writable, every start sends.
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
  const sentAt = await rememberedTime(dataDir, FILE);
  const agoMs = sentAt === null ? -1 : now.getTime() - sentAt.getTime();
  if (agoMs >= 0 && agoMs < REPEAT_AFTER_MS) return [];
  const results = await sendDirect(targets, content, sending);
  if (results.some(({ problem }) => problem === null))
    await rememberTime(dataDir, FILE, now).catch(() => undefined);
  return results;
}

export const forgetDirectlySent = (dataDir: string): Promise<void> =>
  rm(join(dataDir, FILE), { force: true });

const LAST_GOOD_FILE = 'last-good-night.txt';

export const lastSuccess = (dataDir: string): Promise<Date | null> => rememberedTime(dataDir, LAST_GOOD_FILE);

export const recordLastSuccess = (dataDir: string, at: Date): Promise<void> =>
  rememberTime(dataDir, LAST_GOOD_FILE, at);

async function rememberedTime(dataDir: string, file: string): Promise<Date | null> {
  const at = Date.parse(await readFile(join(dataDir, file), 'utf8').catch(() => ''));
  return Number.isNaN(at) ? null : new Date(at);
}

async function rememberTime(dataDir: string, file: string, at: Date): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await writeFile(join(dataDir, file), at.toISOString());
}
