/** Compares a sync with the simplest possible script, both on the same sandbox. */
import { dayWindow } from '../../src/ledger/business-day.ts';
import { count, ofRounds, roundsOf, withDatabase, withSandbox, type Measure } from '../measure.ts';
import type { NaiveInput } from '../naive-sync.ts';
import { runScript } from '../processes.ts';
import { benchLedger, MERCHANT, syncEnv, ZONE } from '../scenario.ts';

export const naive: Measure = {
  name: 'naive',
  measure: async (bench) => {
    const ledger = benchLedger(
      bench.short ? { days: 2, entriesPerDay: 1_000 } : { days: 40, entriesPerDay: 12_500 },
    );
    const syncRates: number[] = [];
    const naiveRates: number[] = [];
    await withSandbox(bench, ledger.scenario, async (sandbox) => {
      for (let round = 0; round < roundsOf(bench); round += 1) {
        await withDatabase(bench, async (database) => {
          const run = await bench.daybook({
            what: `sync of ${count(ledger.entries)}`,
            command: 'sync',
            range: ledger.range,
            env: syncEnv(sandbox, database),
          });
          syncRates.push(ledger.entries / (run.elapsedMs / 1_000));
        });
        // The script's rate does not grow with more days, so one day is enough.
        await withDatabase(bench, async (database) => {
          const input: NaiveInput = {
            baseUrl: sandbox.url,
            databaseUrl: database.url,
            ...MERCHANT,
            ...dayWindow(ledger.range.from, ZONE),
          };
          const script = await runScript<{ entries: number; elapsedMs: number }>('./naive-sync.ts', input);
          naiveRates.push(script.entries / (script.elapsedMs / 1_000));
        });
      }
    });
    return [
      {
        what: `sync of ${count(ledger.entries)} entries`,
        ...ofRounds(syncRates, naiveRates),
        limitIs: 'page after page, one INSERT a row',
        unit: 'entries/s',
        target: { atLeast: 15 },
      },
    ];
  },
};
