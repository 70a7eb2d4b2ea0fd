/** Measures the time a sync adds to what its calls take anyway, at 50 ms a call and sixteen calls at once. */
import { count, ofRounds, roundsOf, withDatabase, withSandbox, type Measure } from '../measure.ts';
import { benchLedger, syncEnv } from '../scenario.ts';

const LATENCY_MS = 50;
const CONCURRENCY = 16;

export const latency: Measure = {
  name: 'latency',
  measure: async (bench) => {
    const ledger = benchLedger({
      ...(bench.short ? { days: 2, entriesPerDay: 2_510 } : { days: 16, entriesPerDay: 12_510 }),
      latencyMs: LATENCY_MS,
    });
    const rounds: { elapsedMs: number; limitMs: number }[] = [];
    await withSandbox(bench, ledger.scenario, async (sandbox) => {
      for (let round = 0; round < roundsOf(bench); round += 1) {
        const before = await sandbox.requests();
        const run = await withDatabase(bench, (database) =>
          bench.daybook({
            what: `sync of ${count(ledger.entries)} at ${LATENCY_MS} ms a call`,
            command: 'sync',
            range: ledger.range,
            env: syncEnv(sandbox, database, { PLATFORM_CONCURRENCY: String(CONCURRENCY) }),
          }),
        );
        const calls = (await sandbox.requests()) - before;
        rounds.push({ elapsedMs: run.elapsedMs, limitMs: (calls * LATENCY_MS) / CONCURRENCY });
      }
    });
    return [
      {
        what: `sync of ${count(ledger.entries)} entries at ${LATENCY_MS} ms a call, ${CONCURRENCY} at once`,
        ...ofRounds(
          rounds.map(({ elapsedMs }) => elapsedMs),
          rounds.map(({ limitMs }) => limitMs),
        ),
        limitIs: `calls x ${LATENCY_MS} ms / ${CONCURRENCY}`,
        unit: 'ms',
        target: { atMost: 1.1 },
      },
    ];
  },
};
