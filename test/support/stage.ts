/**
 * The entire app for a test: the sandbox over HTTP, a real database, an object store, and a clock that the test sets.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import type { Retry } from '../../src/platform/transport.ts';
import { openPlatformApp, runDeps, type PlatformApp } from '../../src/run/app.ts';
import type { Observer, RunDeps, RunRequest } from '../../src/run/active-run.ts';
import type { RunReport } from '../../src/run/report.ts';
import { executeRun } from '../../src/run/run.ts';
import { minorUnitsOf, type ScenarioInput } from '../../src/plugins/sandbox/scenario.ts';
import { createSandbox, type Sandbox } from '../../src/plugins/sandbox/server.ts';
import { loadSettings } from '../../src/settings/load.ts';
import type { Settings } from '../../src/settings/settings.ts';
import { sha256Of } from '../../src/host/sha256.ts';
import { MERCHANTS_PREFIX } from '../../src/verify/names.ts';
import { CONNECTIONS_MAX, freshDatabaseUrl } from './database.ts';
import { skippingTime } from './virtual-time.ts';

export const ZONE = 'Asia/Shanghai';
export const MERCHANT = { merchantNo: 'SBX-M-1', token: 'made-up-token-1' };
export const OTHER = { merchantNo: 'SBX-M-2', token: 'made-up-token-2' };
export const FROM = '2026-03-02';
export const TO = '2026-03-05';
export const DAYS = [FROM, '2026-03-03', '2026-03-04', TO];
/** 01:30 in the night after the last day. */
export const NIGHT = '2026-03-06T01:30:00+08:00';

/** Four days of one merchant with two currencies. */
export const scenario = (change: Partial<ScenarioInput> = {}): ScenarioInput => ({
  seed: 7,
  timeZone: ZONE,
  from: FROM,
  to: TO,
  entriesPerDay: 20,
  now: NIGHT,
  merchants: [{ ...MERCHANT, currencies: ['USD', 'KWD'] }],
  ...change,
});

export interface Stage {
  readonly sandbox: Sandbox;
  readonly app: PlatformApp;
  readonly retries: Retry[];
  /** Sets the current time of app and sandbox. */
  setNow: (iso: string) => void;
  readonly deps: (change?: Partial<RunDeps>) => RunDeps;
  readonly run: (request?: Partial<RunRequest>, change?: Partial<RunDeps>) => Promise<RunReport>;
  readonly close: () => Promise<void>;
}

export interface StageOptions {
  readonly scenario?: ScenarioInput;
  readonly objects?: ObjectStore;
  readonly platform?: Partial<Settings['platform']>;
  readonly settings?: Partial<Settings>;
  readonly observer?: Observer;
}

/** Opens everything. Waits between calls take no time, because the transport's clock jumps ahead. */
export async function openStage(options: StageOptions = {}): Promise<Stage> {
  const sandbox = createSandbox(options.scenario ?? scenario());
  const { url } = await sandbox.listen({ port: 0 });
  const folder = await mkdtemp(join(tmpdir(), 'daybook-e2e-'));
  const given = loadSettings({
    env: {
      PLATFORM_BASE_URL: url,
      PLATFORM_TIME_ZONE: sandbox.scenario.timeZone,
      PLATFORM_MERCHANT_NO: MERCHANT.merchantNo,
      PLATFORM_TOKEN: MERCHANT.token,
      DATABASE_URL: await freshDatabaseUrl(),
      DAYBOOK_DATA_DIR: folder,
      DAYBOOK_LOG_LEVEL: 'silent',
    },
    readFile: () => '',
    needs: ['platform'],
  });
  const platform = { ...given.platform, ...options.platform };
  const settings = { ...given, connectionsMax: CONNECTIONS_MAX, platform, ...options.settings };
  let nowMs = Date.parse(options.scenario?.now ?? NIGHT);
  const retries: Retry[] = [];
  const opened = await openPlatformApp(settings, {
    env: {},
    transport: skippingTime(),
    onRetry: (retry) => retries.push(retry),
    ...(options.observer && { observer: options.observer }),
    now: () => new Date(nowMs),
  });
  const app = { ...opened, objects: options.objects ?? opened.objects };
  const deps = (change: Partial<RunDeps> = {}): RunDeps => ({
    ...runDeps(app, new AbortController().signal),
    ...change,
  });
  return {
    sandbox,
    app,
    retries,
    setNow: (iso) => {
      nowMs = Date.parse(iso);
      sandbox.setNow(nowMs);
    },
    deps,
    run: (request = {}, change = {}) =>
      executeRun(
        {
          command: 'run',
          range: { from: FROM, to: TO },
          merchants: [MERCHANT],
          currencies: null,
          ...request,
        },
        deps(change),
      ),
    close: async () => {
      await sandbox.close();
      await app.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The exact decimal of a number in a reply, with the currency's minor units. Written independently of the program. */
export function exactDecimal(wire: string, currency: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(wire) ?? [];
  const units = minorUnitsOf(currency);
  const digits = whole + fraction;
  const decimals = fraction.length - Number(exponent);
  const padded = digits + '0'.repeat(Math.max(0, units - decimals));
  const places = Math.max(decimals, units);
  if (places === 0) return sign + padded.replace(/^0+(?=\d)/, '');
  const filled = padded.padStart(places + 1, '0');
  return `${sign}${filled.slice(0, -places).replace(/^0+(?=\d)/, '')}.${filled.slice(-places)}`;
}

const byBatchNo = (a: { batch_no: string }, b: { batch_no: string }) => (a.batch_no < b.batch_no ? -1 : 1);

/** What the sandbox shows now, as rows of ledger_entry should be. */
export const truthOf = ({ sandbox }: Stage, merchantNo = MERCHANT.merchantNo) =>
  sandbox
    .entriesOf(merchantNo)
    .map((entry) => ({
      batch_no: entry.batchNo,
      currency: entry.currency,
      transaction_type: entry.busiType,
      credit: entry.inAmount === null ? null : exactDecimal(entry.inAmount, entry.currency),
      debit: entry.outAmount === null ? null : exactDecimal(entry.outAmount, entry.currency),
      balance: exactDecimal(entry.vailAmount, entry.currency),
      booked_at: entry.busiDate,
      booked_ms: entry.bookedMs,
    }))
    .sort(byBatchNo);

/** The stored entries that have not vanished. */
export async function storedOf({ app }: Stage, merchantNo = MERCHANT.merchantNo) {
  const rows = await app.database.db
    .selectFrom('ledger_entry')
    .select([
      'batch_no',
      'currency',
      'transaction_type',
      'credit',
      'debit',
      'balance',
      'booked_at',
      'booked_ms',
    ])
    .where('merchant_no', '=', merchantNo)
    .where('vanished_at', 'is', null)
    .execute();
  return rows.sort(byBatchNo);
}

/** Where each row of the tables is, and who wrote it. If it is unchanged, nothing was written. */
export async function footprints({ app }: Stage, tables = ['ledger_entry', 'account_day', 'statement']) {
  const all: unknown[] = [];
  for (const table of tables) {
    const { rows } = await sql`
      SELECT ${table} AS table, ctid::text, xmin::text FROM ${sql.table(table)} ORDER BY ctid`.execute(
      app.database.db,
    );
    all.push(...rows);
  }
  return all;
}

/** Figures and revision of each account day, to compare as one value. */
export const accountDays = ({ app }: Stage) =>
  app.database.db
    .selectFrom('account_day')
    .selectAll()
    .orderBy('merchant_no')
    .orderBy('currency')
    .orderBy('day')
    .execute();

/** The text of every object, by key. */
export async function objectsOf({ app }: Stage): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for await (const { key } of app.objects.survey(MERCHANTS_PREFIX)) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of (await app.objects.get(key))!) chunks.push(chunk);
    texts.set(key, Buffer.concat(chunks).toString('utf8'));
  }
  return new Map([...texts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The same without what differs from one run to the next: in manifests the epoch, which counts how many runs had the
 * lease, and in place of the SHA-256 of the manifest before, the key of the file here that has it.
 */
export async function bytesOf(stage: Stage): Promise<Map<string, string>> {
  const objects = await objectsOf(stage);
  const keys = new Map([...objects].map(([key, text]) => [sha256Of(text), key]));
  const without = (text: string): string =>
    text
      .replace(/^ {2}"epoch": \d+,$/m, '')
      .replace(
        /("previousManifest": \{[^}]*"sha256": ")([0-9a-f]{64})/,
        (_, before: string, sha256: string) => `${before}${keys.get(sha256) ?? sha256}`,
      );
  return new Map([...objects].map(([key, text]) => [key, without(text)]));
}

/** The statements that a run published, each as `USD 2026-03-02 r1`. */
export const publishedIn = ({ publish }: RunReport): string[] =>
  (publish?.published ?? [])
    .map(({ account, day, revision }) => `${account.currency} ${day} r${revision}`)
    .sort();
