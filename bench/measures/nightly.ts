/** Times a nightly run on a large table and on a small one. The cost should depend only on the new entries. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { addDays, dayWindow } from '../../src/ledger/business-day.ts';
import {
  count,
  ofRounds,
  roundsOf,
  withDatabase,
  withSandbox,
  type Bench,
  type Measure,
} from '../measure.ts';
import type { SandboxProcess } from '../processes.ts';
import { benchLedger, MERCHANT, syncEnv, ZONE } from '../scenario.ts';
import { seedLedger, seedPublishedDays } from '../seed.ts';
import type { BenchDatabase } from '../server.ts';

/** Days that the nightly run reads again in addition to yesterday. */
const RESWEEP_DAYS = 7;

export const nightly: Measure = {
  name: 'nightly',
  isLong: true,
  measure: async (bench) => {
    const [perDay, small, large] = bench.short ? [500, 1_000, 10_000] : [10_000, 100_000, 10_000_000];
    const nights = roundsOf(bench);
    const ledger = benchLedger({ days: RESWEEP_DAYS + 1 + nights, entriesPerDay: perDay });
    const folder = await mkdtemp(join(tmpdir(), 'daybook-bench-'));
    const smallMs: number[] = [];
    const largeMs: number[] = [];
    try {
      await withSandbox(bench, ledger.scenario, (sandbox) =>
        withDatabase(bench, (smallOne) =>
          withDatabase(bench, async (largeOne) => {
            const nightOnSmall = await nightsOn(
              bench,
              sandbox,
              smallOne,
              join(folder, 'small'),
              small / perDay,
            );
            const nightOnLarge = await nightsOn(
              bench,
              sandbox,
              largeOne,
              join(folder, 'large'),
              large / perDay,
            );
            for (let night = 0; night < nights; night += 1) {
              const yesterday = addDays(ledger.range.to, night + 1 - nights);
              smallMs.push(await nightOnSmall(yesterday));
              largeMs.push(await nightOnLarge(yesterday));
            }
          }),
        ),
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    return [
      {
        what: `a night with ${count(perDay)} new entries on ${count(large)} stored`,
        ...ofRounds(largeMs, smallMs),
        limitIs: `the same on ${count(small)} stored`,
        unit: 'ms',
        target: { atMost: 1.3 },
      },
    ];
  },
};

/**
 * Fills the database with a history and lets daybook continue from it. Returns a function that does one nightly run
 * and returns its time in ms.
 */
async function nightsOn(
  bench: Bench,
  sandbox: SandboxProcess,
  database: BenchDatabase,
  folder: string,
  seededDays: number,
): Promise<(yesterday: string) => Promise<number>> {
  const { from, to } = benchLedger({ days: RESWEEP_DAYS + 1, entriesPerDay: 0 }).range;
  const firstDay = await lookAt(sandbox, from);
  const entries = seededDays * firstDay.total;
  await seedLedger(database.db, {
    merchantNo: MERCHANT.merchantNo,
    entries,
    days: seededDays,
    lastDay: addDays(from, -1),
    closingCents: firstDay.openingCents,
  });
  await seedPublishedDays(database.db, MERCHANT);
  const run = (range: { from: string; to: string } | null, yesterday: string) =>
    bench.daybook({
      what: `a night on ${count(entries)}`,
      command: 'run',
      range,
      env: syncEnv(sandbox, database, {
        DAYBOOK_NOW: new Date(dayWindow(yesterday, ZONE).endMs + 3_600_000).toISOString(),
        STATEMENTS_URL: pathToFileURL(folder).href,
        // The sandbox has only the days that the nightly run reads. Checks that check older days would find them
        // missing.
        DAYBOOK_CHECKS: 'zone,empty,shared',
      }),
    });
  await run({ from, to }, to);
  await database.settle();
  return async (yesterday) => {
    const { elapsedMs, figures } = await run(null, yesterday);
    const expected = { inserted: firstDay.total, unchanged: RESWEEP_DAYS * firstDay.total, published: 1 };
    for (const [name, value] of Object.entries(expected)) {
      const found = figures[name as keyof typeof expected];
      if (found !== value) throw new Error(`the night of ${yesterday}: ${name} ${found}, not ${value}`);
    }
    return elapsedMs;
  };
}

/** How many entries a day has, and the balance before the first of them. */
async function lookAt(
  sandbox: SandboxProcess,
  day: string,
): Promise<{ readonly total: number; readonly openingCents: number }> {
  const { beginMs, endMs } = dayWindow(day, ZONE);
  const response = await fetch(`${sandbox.url}/api/sp2404`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${MERCHANT.token}`,
      merchantNo: MERCHANT.merchantNo,
    },
    body: JSON.stringify({ beginDate: beginMs, endDate: endMs, pageNum: 1, pageSize: 1 }),
  });
  const page = (await response.json()) as {
    total: number;
    list: { inAmount: number | null; outAmount: number | null; vailAmount: number }[];
  };
  const first = page.list[0];
  if (first === undefined) throw new Error(`the sandbox has no entries on ${day}`);
  const opening = first.vailAmount - (first.inAmount ?? 0) + (first.outAmount ?? 0);
  return { total: page.total, openingCents: Math.round(opening * 100) };
}
