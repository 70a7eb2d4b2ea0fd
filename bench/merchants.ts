/** Makes many merchants, for the sandbox and for daybook's database. */
import '../src/plugins.ts';
import { randomBytes } from 'node:crypto';
import { addDays, dayWindow } from '../src/ledger/business-day.ts';
import type { ScenarioInput } from '../src/plugins/sandbox/scenario.ts';
import { storeImport } from '../src/store/merchants.ts';
import { withDatabase, type Bench } from './measure.ts';
import type { DaybookRun } from './processes.ts';
import { ZONE } from './scenario.ts';
import type { BenchDatabase } from './server.ts';

export interface ManyMerchants {
  readonly scenario: ScenarioInput;
  readonly merchants: readonly { readonly merchantNo: string; readonly token: string }[];
  readonly range: { readonly from: string; readonly to: string };
}

const FIRST_DAY = '2026-03-01';

/** Days that a night reads again in addition to yesterday. */
export const RESWEEP_DAYS = 7;
/** How many merchants are worked on at once, and how many calls are made at once, unless a measure says otherwise. */
export const AT_ONCE = 16;

/** Merchants with an unchanging ledger in one currency each. All their days have the same size. */
export function manyMerchants(options: {
  readonly merchants: number;
  readonly days: number;
  readonly entriesPerDay: number;
  readonly latencyMs?: number;
}): ManyMerchants {
  const { days, entriesPerDay, latencyMs = 0 } = options;
  const range = { from: FIRST_DAY, to: addDays(FIRST_DAY, days - 1) };
  const merchants = Array.from({ length: options.merchants }, (_, at) => {
    const number = String(at).padStart(6, '0');
    return { merchantNo: `BENCH-M${number}`, token: `bench-token-${number}` };
  });
  return {
    range,
    merchants,
    scenario: {
      ...range,
      seed: 7,
      timeZone: ZONE,
      entriesPerDay,
      merchants: merchants.map((merchant) => ({ ...merchant, currencies: ['USD'] })),
      hostility: { latencyMs },
    },
  };
}

/** Adds them to a database as `daybook merchants import` does. Returns the settings that decrypt their tokens. */
export async function addMerchants(
  { db }: Pick<BenchDatabase, 'db'>,
  { merchants }: Pick<ManyMerchants, 'merchants'>,
): Promise<Record<string, string>> {
  const key = randomBytes(32);
  const secretKeys = [{ id: 'bench', key }];
  await db.transaction().execute((trx) => storeImport(trx, { merchants, secretKeys, now: new Date() }));
  return { DAYBOOK_SECRET_KEYS: `bench:${key.toString('base64')}` };
}

export interface NightPlaces {
  /** The platform's URL. */
  readonly url: string;
  readonly database: Pick<BenchDatabase, 'url'>;
  readonly statementsUrl: string;
  /** From `addMerchants`. */
  readonly keys: Readonly<Record<string, string>>;
  /** Settings that differ from those here. */
  readonly more?: Readonly<Record<string, string>>;
}

/** Daybook's settings in the night after `yesterday`. */
export const nightEnv = (
  { url, database, statementsUrl, keys, more }: NightPlaces,
  yesterday: string,
): Record<string, string> => ({
  ...keys,
  PLATFORM_BASE_URL: url,
  PLATFORM_TIME_ZONE: ZONE,
  PLATFORM_CONCURRENCY: String(AT_ONCE),
  DAYBOOK_MERCHANTS_AT_ONCE: String(AT_ONCE),
  DATABASE_URL: database.url,
  STATEMENTS_URL: statementsUrl,
  DAYBOOK_NOW: new Date(dayWindow(yesterday, ZONE).endMs + 3_600_000).toISOString(),
  ...more,
});

/** Throws if a run has other figures than these. */
export function expectFigures(
  what: string,
  { figures }: Pick<DaybookRun, 'figures'>,
  expected: Partial<DaybookRun['figures']>,
): void {
  for (const [name, value] of Object.entries(expected)) {
    const found = figures[name as keyof DaybookRun['figures']];
    if (found !== value) throw new Error(`${what}: ${name} ${found}, not ${value}`);
  }
}

/** Lets daybook do the days before the last `nights`, and then those in one run, which is returned. */
export const lastNights = (
  bench: Bench,
  many: ManyMerchants,
  options: Pick<NightPlaces, 'url' | 'statementsUrl' | 'more'> & {
    readonly what: string;
    readonly nights: number;
    readonly entriesPerDay: number;
    /** Called once the merchants are known, to give them a past before the first day that is read. */
    readonly seed?: (database: BenchDatabase) => Promise<void>;
    /** Called when the days before are done. */
    readonly onReady?: () => Promise<void>;
  },
): Promise<DaybookRun> =>
  withDatabase(bench, async (database) => {
    const { what, nights, entriesPerDay, onReady } = options;
    const places = { ...options, database, keys: await addMerchants(database, many) };
    await options.seed?.(database);
    const before = addDays(many.range.to, -nights);
    await bench.daybook({
      what: `${what}: the days before`,
      command: 'run',
      range: { from: many.range.from, to: before },
      env: nightEnv(places, before),
    });
    await database.settle();
    await onReady?.();
    const env = nightEnv(places, many.range.to);
    const run = await bench.daybook({ what, command: 'run', range: null, env });
    const published = many.merchants.length * nights;
    expectFigures(what, run, { inserted: published * entriesPerDay, published });
    return run;
  });
