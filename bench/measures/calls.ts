/** Counts the calls to read an unchanging ledger. The limit is the fewest calls possible: pages of 100, per window. */
import { PAGE_SIZE_MAX } from '../../src/platform/wire.ts';
import { count, withDatabase, withSandbox, type Bench, type Measure, type Measured } from '../measure.ts';
import { benchLedger, syncEnv, type BenchLedger } from '../scenario.ts';

/** One shape has days so large that daybook splits them, the other has days that are read in one window. */
const shapes = (short: boolean): readonly { days: number; entriesPerDay: number }[] =>
  short
    ? [{ days: 2, entriesPerDay: 1_250 }]
    : [
        { days: 16, entriesPerDay: 12_510 },
        { days: 160, entriesPerDay: 1_251 },
      ];

export const calls: Measure = {
  name: 'calls',
  measure: async (bench) => {
    const measured: Measured[] = [];
    for (const shape of shapes(bench.short)) measured.push(await measureShape(benchLedger(shape), bench));
    return measured;
  },
};

const measureShape = (ledger: BenchLedger, bench: Bench): Promise<Measured> =>
  withSandbox(bench, ledger.scenario, (sandbox) =>
    withDatabase(bench, async (database) => {
      const run = await bench.daybook({
        what: `sync of ${count(ledger.entries)}`,
        command: 'sync',
        range: ledger.range,
        env: syncEnv(sandbox, database),
      });
      if (run.figures.inserted !== ledger.entries) throw new Error(`${run.figures.inserted} entries arrived`);
      const made = await sandbox.requests();
      const fewest = ledger.days * Math.ceil(ledger.entries / ledger.days / PAGE_SIZE_MAX);
      return {
        what: `calls for ${count(ledger.entries)} entries over ${ledger.days} days`,
        figure: made,
        limit: fewest,
        limitIs: 'ceil(total / 100) a day',
        unit: 'calls',
        ratio: made / fewest,
        target: { atMost: 1.03 },
      };
    }),
  );
