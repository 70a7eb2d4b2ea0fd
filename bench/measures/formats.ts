/** Times what each format takes more than the CSV alone, where a large day is published in both. The limit is the CSV. */
import { PUBLISHABLE_FORMATS } from '../../src/ledger/statement-formats.ts';
import { withLargeDay } from '../large-day.ts';
import { count, median, roundsOf, type Measure } from '../measure.ts';

const [CSV, ...OTHERS] = PUBLISHABLE_FORMATS;

export const formats: Measure = {
  name: 'formats',
  measure: (bench) =>
    withLargeDay(bench, 'BENCH-FORMATS', async ({ entries, publish }) => {
      const elapsedMs = new Map<string, number[]>(PUBLISHABLE_FORMATS.map((name) => [name, []]));
      for (let round = 0; round < roundsOf(bench); round += 1)
        for (const [name, times] of elapsedMs) times.push(await publish({ DAYBOOK_STATEMENT_FORMATS: name }));
      const msOf = (name: string): number => median(elapsedMs.get(name)!);
      const limit = entries / (msOf(CSV) / 1_000);
      return OTHERS.map((name) => {
        const figure = entries / ((msOf(name) - msOf(CSV)) / 1_000);
        return {
          what: `publishing a day of ${count(entries)} entries as ${name}, beside the CSV`,
          figure,
          limit,
          limitIs: 'publishing the CSV',
          unit: 'entries/s',
          ratio: figure / limit,
          target: { atLeast: 1 / 3 },
        };
      });
    }),
};
