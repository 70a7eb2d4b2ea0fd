/** Times publishing a large day to a folder. The limit is COPY of the same rows as sorted CSV that is thrown away. */
import { copyCsvAway } from '../copy.ts';
import { withLargeDay } from '../large-day.ts';
import { count, ofRounds, ratesOf, roundsOf, timed, type Measure } from '../measure.ts';

const MERCHANT_NO = 'BENCH-PUBLISH';
const ROWS = `SELECT batch_no, booked_at, currency, transaction_type, credit, debit, balance FROM ledger_entry
  WHERE merchant_no = '${MERCHANT_NO}' AND currency = 'USD' AND vanished_at IS NULL ORDER BY booked_ms, batch_no`;

export const publish: Measure = {
  name: 'publish',
  measure: (bench) =>
    withLargeDay(bench, MERCHANT_NO, async (day) => {
      const { entries } = day;
      const { withClient } = day.database;
      const publishMs: number[] = [];
      const copyMs: number[] = [];
      await withClient((client) => copyCsvAway(client, ROWS));
      for (let round = 0; round < roundsOf(bench); round += 1) {
        await withClient(async (client) => {
          copyMs.push(await timed(() => copyCsvAway(client, ROWS)));
        });
        publishMs.push(await day.publish());
      }
      return [
        {
          what: `publishing a day of ${count(entries)} entries to a directory`,
          ...ofRounds(ratesOf(entries, publishMs), ratesOf(entries, copyMs)),
          limitIs: 'COPY (SELECT .. ORDER BY ..) as CSV, thrown away',
          unit: 'entries/s',
          target: { atLeast: 0.25 },
        },
      ];
    }),
};
