/** `entries find`: shows everything known about an entry, given its batch number. */
import type { Command } from 'commander';
import { MERCHANT_NO, MERCHANT_NO_RULE } from '../ledger/merchant-no.ts';
import { EXIT, UsageError } from '../run/verdict/exit-codes.ts';
import { placesOf } from '../statements/entry-places.ts';
import {
  adjacentBreaks,
  ENTRIES_FOUND_MAX,
  findEntries,
  unreadableOfNumber,
} from '../store/entry-history.ts';
import { offlineSettings, print, withApp } from './context.ts';
import { entriesText, type FoundByNumber, type FoundEntry } from './output/entries-text.ts';
import { timesOf } from './output/times.ts';

interface FindFlags {
  readonly merchant?: string;
}

export function addEntriesCommand(program: Command): void {
  const entries = program.command('entries').description('find an entry');
  entries
    .command('find')
    .argument('<batch-no>', 'the entry’s number, as the platform and the statements have it')
    .option('--merchant <no>', 'only this merchant; quicker where there are thousands')
    .description('history of an entry: its versions, its statement, line and revision, adjacent breaks')
    .addHelpText(
      'after',
      '\nLines of a statement are counted from 1, the header’s. Ends with 2 where no entry has the number, with 4 where ' +
        'one of its statements cannot be read.\n\n' +
        'Examples:\n  daybook entries find SBX1684027663557\n  daybook entries find 59102 --merchant 10001 --json',
    )
    .action(async (batchNo: string, { merchant }: FindFlags, self: Command) => {
      if (batchNo === '') throw new UsageError('the number is empty; write it as the platform has it.');
      if (merchant !== undefined && !MERCHANT_NO.test(merchant))
        throw new UsageError(`--merchant ${merchant} is no merchant number: it ${MERCHANT_NO_RULE}.`);
      const settings = offlineSettings(self);
      await withApp(settings, async ({ database: { db }, objects }) => {
        const merchants = merchant === undefined ? null : [merchant];
        const histories = await findEntries(db, batchNo, merchants);
        const quarantined = await unreadableOfNumber(db, batchNo, merchants);
        if (histories.length + quarantined.length === 0) throw unknownEntry(batchNo, merchant);
        const found: FoundEntry[] = [];
        for (const history of histories) {
          const { merchantNo, contents } = history;
          const stood = contents.map(({ entry }) => entry);
          found.push({
            ...history,
            ...(await placesOf({ db, objects }, merchantNo, stood)),
            breaks: await adjacentBreaks(db, history, batchNo),
          });
        }
        const isCut = histories.length === ENTRIES_FOUND_MAX;
        const document: FoundByNumber = { batchNo, entries: found, quarantined, isCut };
        const isUnread = found.some(({ places }) => places.some(({ problem }) => problem !== null));
        print(self, {
          document,
          text: entriesText(document, timesOf(settings)),
          exitCode: isUnread ? EXIT.incomplete : EXIT.done,
        });
      });
    });
}

const unknownEntry = (batchNo: string, merchant: string | undefined): UsageError =>
  new UsageError(
    `no entry ${batchNo}${merchant === undefined ? '' : ` of merchant ${merchant}`} is stored, and no unreadable one has ` +
      'that number. Give the full number; upper and lower case matter. If it was booked on a day ' +
      'that was never read (`daybook status` shows which were), `daybook run --from DAY --to DAY` reads it; what came ' +
      'without a readable number is in `daybook quarantine --all`.',
  );
