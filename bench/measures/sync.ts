/**
 * Measures how fast entries are stored if the platform answers at once. The limit is COPY of the same rows into the
 * table.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copyFromFile, copyToFile } from '../copy.ts';
import {
  count,
  ofRounds,
  ratesOf,
  roundsOf,
  timed,
  withDatabase,
  withSandbox,
  type Measure,
} from '../measure.ts';
import { benchLedger, syncEnv } from '../scenario.ts';

export const sync: Measure = {
  name: 'sync',
  measure: async (bench) => {
    const ledger = benchLedger(
      bench.short ? { days: 2, entriesPerDay: 5_000 } : { days: 40, entriesPerDay: 12_500 },
    );
    const folder = await mkdtemp(join(tmpdir(), 'daybook-bench-'));
    const rows = join(folder, 'ledger_entry.copy');
    const syncMs: number[] = [];
    const copyMs: number[] = [];
    try {
      await withSandbox(bench, ledger.scenario, async (sandbox) => {
        for (let round = 0; round < roundsOf(bench); round += 1) {
          await withDatabase(bench, async (database) => {
            await database.settle();
            const run = await bench.daybook({
              what: `sync of ${count(ledger.entries)}`,
              command: 'sync',
              range: ledger.range,
              env: syncEnv(sandbox, database),
            });
            syncMs.push(run.elapsedMs);
            await database.withClient((client) => copyToFile(client, 'ledger_entry', rows));
          });
          await withDatabase(bench, async (database) => {
            await database.settle();
            await database.withClient(async (client) => {
              copyMs.push(await timed(() => copyFromFile(client, 'ledger_entry', rows)));
            });
          });
        }
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    return [
      {
        what: `sync of ${count(ledger.entries)} entries without latency`,
        ...ofRounds(ratesOf(ledger.entries, syncMs), ratesOf(ledger.entries, copyMs)),
        limitIs: 'COPY of the same rows, indexes included',
        unit: 'entries/s',
        target: { atLeast: 0.3 },
      },
    ];
  },
};
