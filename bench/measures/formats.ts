/** Times a large day that is published in another format as well. The limit is the CSV alone. */
import { publishedFormats, STATEMENT_FORMATS } from '../../src/statements/formats/all.ts';
import { CSV } from '../../src/statements/formats/csv.ts';
import { withLargeDay } from '../large-day.ts';
import { count, ofRounds, roundsOf, type Measure } from '../measure.ts';

const OTHERS = publishedFormats(STATEMENT_FORMATS.map(({ name }) => name)).map(({ name }) => name);

export const formats: Measure = {
  name: 'formats',
  measure: (bench) =>
    withLargeDay(bench, 'BENCH-FORMATS', async ({ entries, publish }) => {
      const elapsedMs = new Map<string, number[]>([CSV.name, ...OTHERS].map((name) => [name, []]));
      for (let round = 0; round < roundsOf(bench); round += 1)
        for (const [name, times] of elapsedMs) times.push(await publish({ DAYBOOK_STATEMENT_FORMATS: name }));
      return OTHERS.map((name) => ({
        what: `publishing a day of ${count(entries)} entries as CSV and ${name}`,
        ...ofRounds(elapsedMs.get(name)!, elapsedMs.get(CSV.name)!),
        limitIs: 'the CSV alone',
        unit: 'ms',
        target: { atMost: 4 },
      }));
    }),
};
