/**
 * Times a night of many small merchants. The limit is a script that makes the fewest possible calls and proves
 * nothing.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { addDays, dayWindow } from '../../src/ledger/business-day.ts';
import type { FewestCallsInput } from '../fewest-calls.ts';
import { count, withDatabase, withSandbox, type Bench, type Measure, type Measured } from '../measure.ts';
import { AT_ONCE, lastNights, manyMerchants, RESWEEP_DAYS, type ManyMerchants } from '../merchants.ts';
import { runScript } from '../processes.ts';
import { ZONE } from '../scenario.ts';

const ENTRIES_PER_DAY = 20;
const TARGET = { atLeast: 0.4 } as const;

/** How many nights are done at once: a single one, or several after days without daybook. */
const shapes = (short: boolean): readonly { readonly merchants: number; readonly nights: number }[] =>
  short
    ? [{ merchants: 20, nights: 1 }]
    : [
        { merchants: 2_000, nights: 1 },
        { merchants: 1_000, nights: 6 },
      ];

export const merchants: Measure = {
  name: 'merchants',
  measure: async (bench) => {
    const measured: Measured[] = [];
    for (const shape of shapes(bench.short)) measured.push(await measureNights(bench, shape));
    return measured;
  },
};

async function measureNights(
  bench: Bench,
  { merchants: number, nights }: { readonly merchants: number; readonly nights: number },
): Promise<Measured> {
  const many = manyMerchants({
    merchants: number,
    days: RESWEEP_DAYS + 1 + nights,
    entriesPerDay: ENTRIES_PER_DAY,
  });
  const folder = await mkdtemp(join(tmpdir(), 'daybook-bench-'));
  try {
    return await withSandbox(bench, many.scenario, async ({ url }) => {
      const figure = number / ((await daybookMs(bench, many, { url, nights, folder })) / 1_000);
      const limit = number / ((await scriptMs(bench, many, { url, nights, folder })) / 1_000);
      return {
        what: `${nights === 1 ? 'a night' : `${nights} nights caught up`} of ${count(number)} merchants, ${ENTRIES_PER_DAY} entries a day each`,
        figure,
        limit,
        limitIs: 'the fewest calls, one upsert and one CSV a merchant, no proof',
        unit: 'merchants/s',
        ratio: figure / limit,
        target: TARGET,
      };
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Where {
  readonly url: string;
  readonly nights: number;
  readonly folder: string;
}

/** How many ms daybook takes for the last nights, once it has the days before. */
async function daybookMs(bench: Bench, many: ManyMerchants, { url, nights, folder }: Where): Promise<number> {
  const what = `${nights === 1 ? 'a night' : `${nights} nights`} of ${count(many.merchants.length)} merchants`;
  const statementsUrl = pathToFileURL(join(folder, 'daybook')).href;
  const options = { what, url, statementsUrl, nights, entriesPerDay: ENTRIES_PER_DAY };
  return (await lastNights(bench, many, options)).elapsedMs;
}

/** How many ms the script takes for the same windows. It has the days before stored too. */
const scriptMs = (bench: Bench, many: ManyMerchants, { url, nights, folder }: Where): Promise<number> =>
  withDatabase(bench, async (database) => {
    const last = many.range.to;
    const files = join(folder, 'script');
    await mkdir(files, { recursive: true });
    const script = (from: string, to: string) => {
      const input: FewestCallsInput = {
        baseUrl: url,
        databaseUrl: database.url,
        merchants: many.merchants,
        beginMs: dayWindow(from, ZONE).beginMs,
        endMs: dayWindow(to, ZONE).endMs,
        lastDayBeginMs: dayWindow(addDays(last, 1 - nights), ZONE).beginMs,
        atOnce: AT_ONCE,
        folder: files,
      };
      return runScript<{ elapsedMs: number }>('./fewest-calls.ts', input);
    };
    await script(many.range.from, addDays(last, -nights));
    await database.settle();
    const { elapsedMs } = await script(addDays(last, 1 - nights - RESWEEP_DAYS), last);
    return elapsedMs;
  });
