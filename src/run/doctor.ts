/** Checks everything a run needs, one thing after the other, each with the mend where it fails. */
import { addDays, dayOf, dayWindow } from '../ledger/business-day.ts';
import type { MerchantAccess } from '../platform/ledger-reader.ts';
import { pendingMigrations } from '../store/migrations.ts';
import { secretKeysInUse } from '../store/ciphertexts.ts';
import { UnknownSecretKey } from '../store/secrets.ts';
import type { Settings } from '../settings/settings.ts';
import { publishedFilesCheck } from './published-files-check.ts';
import { createZoneGate } from '../sync/zone-gate.ts';
import { exitCodeOf, type ExitCode, EXIT } from './exit-codes.ts';
import type { PlatformHouse } from './house.ts';

/** Days looked back for an entry that can prove the time zone. */
const PROOF_DAYS_MAX = 31;

export interface Finding {
  readonly what: string;
  readonly ok: boolean;
  /** What was found, or what is wrong and how to mend it. */
  readonly detail: string;
  readonly exitCode: ExitCode;
}

/** Runs one check; an error a person can mend becomes its finding. */
export async function finding(what: string, check: () => Promise<string>): Promise<Finding> {
  try {
    return { what, ok: true, detail: await check(), exitCode: EXIT.done };
  } catch (error) {
    const exitCode = exitCodeOf(error);
    if (exitCode === EXIT.fault) throw error;
    return { what, ok: false, detail: (error as Error).message, exitCode };
  }
}

/** Checks tables, object store, platform and time zone of an open house. */
export async function examine(
  house: PlatformHouse,
  merchants: readonly MerchantAccess[],
  signal: AbortSignal,
): Promise<Finding[]> {
  const { database, objects, reader, settings } = house;
  const zone = settings.platform.timeZone;
  const findings = [
    await finding('tables', async () => {
      const pending = await pendingMigrations(database.db);
      if (pending.length === 0) return 'at this version';
      const error = new Error(`lacks ${pending.join(', ')}; run \`daybook migrate\``);
      error.name = 'MigrationsPending';
      throw error;
    }),
    await finding('object store', async () => {
      await objects.check();
      return objects.location;
    }),
  ];
  const keysInUse = findings[0]!.ok ? await secretKeysInUse(database.db) : new Map<string, number>();
  if (keysInUse.size > 0) findings.push(await finding('secret keys', () => keysFound(keysInUse, settings)));
  if (findings.every(({ ok }) => ok)) {
    findings.push(await finding('published files', () => publishedFilesCheck(house, merchants)));
  }
  const latestMs = house.now().getTime() - settings.settleDelayS * 1_000;
  for (const merchant of merchants) {
    findings.push(
      await finding(`platform, merchant ${merchant.merchantNo}`, async () => {
        const window = { beginMs: latestMs - 999, endMs: latestMs };
        await reader.page({ merchant, window, pageNum: 1 }, signal);
        return settings.platform.baseUrl;
      }),
    );
  }
  if (findings.every(({ ok }) => ok)) {
    findings.push(await finding('time zone', () => provenZone(house, merchants, zone, latestMs, signal)));
  }
  return findings;
}

/** Whether the settings have every key that something stored is encrypted with. */
function keysFound(inUse: ReadonlyMap<string, number>, { secretKeys }: Settings): Promise<string> {
  const missing = [...inUse].filter(([id]) => !secretKeys.some((key) => key.id === id));
  if (missing.length === 0) return Promise.resolve(`all there: ${[...inUse.keys()].sort().join(', ')}`);
  const told = missing.map(([id, count]) => `"${id}" (${count} stored)`).join(', ');
  return Promise.reject(
    new UnknownSecretKey(`DAYBOOK_SECRET_KEYS lacks ${told}; put it back after the key in use.`),
  );
}

async function provenZone(
  { reader }: PlatformHouse,
  merchants: readonly MerchantAccess[],
  zone: string,
  latestMs: number,
  signal: AbortSignal,
): Promise<string> {
  const today = dayOf(latestMs, zone);
  const window = { beginMs: dayWindow(addDays(today, -PROOF_DAYS_MAX), zone).beginMs, endMs: latestMs };
  for (const merchant of merchants) {
    const { entries } = await reader.page({ merchant, window, pageNum: 1 }, signal);
    if (entries.length === 0) continue;
    await createZoneGate(zone).check(
      (batchNo, asked) => reader.page({ merchant, window: asked, pageNum: 1, batchNo }, signal),
      entries,
      window,
    );
    return `${zone}, proven by an entry of ${merchant.merchantNo}`;
  }
  return `${zone}, not proven: no merchant has an entry in the last ${PROOF_DAYS_MAX} days`;
}

/** The code `doctor` ends with: settings to mend before what cannot be reached. */
export const examinedExitCode = (findings: readonly Finding[]): ExitCode =>
  findings.some(({ exitCode }) => exitCode === EXIT.usage)
    ? EXIT.usage
    : (findings.find(({ ok }) => !ok)?.exitCode ?? EXIT.done);
