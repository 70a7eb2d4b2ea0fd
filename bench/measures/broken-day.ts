/**
 * Counts the calls of a night whose day is large and lacks one entry, so that its balances break and its days are read
 * again. The limit is the same night without the fault. The night after it reads the broken day once more, as a part of the lookback.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { addDays, dayWindow } from '../../src/ledger/business-day.ts';
import { count, withDatabase, withSandbox, type Bench, type Measure } from '../measure.ts';
import { benchLedger, MERCHANT, syncEnv, ZONE } from '../scenario.ts';

const DAYS_BEFORE = 1;
const NIGHTS = 2;

interface Calls {
  readonly night: number;
  readonly nextNight: number;
}

export const brokenDay: Measure = {
  name: 'broken-day',
  measure: async (bench) => {
    const entriesPerDay = bench.short ? 1_000 : 30_000;
    const whole = await callsOf(bench, entriesPerDay, false);
    const broken = await callsOf(bench, entriesPerDay, true);
    const day = `a day of ${count(entriesPerDay)} entries that lacks one`;
    return [
      {
        what: `calls of the night that reads ${day}`,
        ...{ figure: broken.night, limit: whole.night, ratio: broken.night / whole.night, unit: 'calls' },
        limitIs: 'the same without the fault',
        target: { atMost: 1.1 },
      },
      {
        what: `calls of the night after ${day}`,
        ...{ figure: broken.nextNight, limit: whole.nextNight, unit: 'calls' },
        ratio: broken.nextNight / whole.nextNight,
        limitIs: 'the same without the fault',
        target: { atMost: 1.1 },
      },
    ];
  },
};

/** The calls of the last two nights, each of which reads its day and the one before. */
async function callsOf(bench: Bench, entriesPerDay: number, isBroken: boolean): Promise<Calls> {
  const { scenario, range } = benchLedger({ days: DAYS_BEFORE + NIGHTS, entriesPerDay });
  const day = addDays(range.from, DAYS_BEFORE);
  const place = { merchant: MERCHANT.merchantNo, currency: 'USD', day, nth: Math.floor(entriesPerDay / 2) };
  const planted = isBroken ? [{ what: 'missing' as const, ...place }] : [];
  const folder = await mkdtemp(join(tmpdir(), 'daybook-bench-'));
  try {
    return await withSandbox(bench, { ...scenario, planted }, (sandbox) =>
      withDatabase(bench, async (database) => {
        const night = async (yesterday: string, endsWith: number): Promise<number> => {
          const before = await sandbox.requests();
          const env = syncEnv(sandbox, database, {
            DAYBOOK_NOW: new Date(dayWindow(yesterday, ZONE).endMs + 3_600_000).toISOString(),
            STATEMENTS_URL: pathToFileURL(folder).href,
            DAYBOOK_RESWEEP_DAYS: String(DAYS_BEFORE),
          });
          const what = `the night after ${yesterday}, ${count(entriesPerDay)} entries a day`;
          await bench.daybook({ what, command: 'run', range: null, env, endsWith });
          return (await sandbox.requests()) - before;
        };
        const endsWith = isBroken ? 3 : 0;
        return { night: await night(day, endsWith), nextNight: await night(range.to, endsWith) };
      }),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
