/** `entries find`: shows everything known about an entry, given its batch number. */
import type { Command } from 'commander';
import { MERCHANT_NO, MERCHANT_NO_RULE } from '../ledger/merchant-no.ts';
import { EXIT, UsageError } from '../run/verdict/exit-codes.ts';
import { placesOf, type EntryPlace, type EntryPlaces } from '../statements/entry-places.ts';
import type { QuarantineRow } from '../store/quarantine.ts';
import type { BreakRow } from '../store/breaks/breaks.ts';
import {
  adjacentBreaks,
  ENTRIES_FOUND_MAX,
  findEntries,
  unreadableOfNumber,
  type EntryHistory,
} from '../store/entry-history.ts';
import { moneyText } from '../ledger/money.ts';
import { amountOf, differences } from './amendments.ts';
import { offlineSettings, print, withApp } from './context.ts';
import { counted, line, lines } from './output/text.ts';
import { timesOf, type Times } from './output/times.ts';

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
      '\nLines of a statement are counted from 1; line 1 is the header. Ends with 2 where no entry has the number, with 4 where ' +
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

/** A merchant's entry with its history, its places in statements, and adjacent breaks. */
interface FoundEntry extends EntryHistory, EntryPlaces {
  readonly breaks: readonly BreakRow[];
}

interface FoundByNumber {
  readonly batchNo: string;
  readonly entries: readonly FoundEntry[];
  readonly quarantined: readonly QuarantineRow[];
  /** More merchants may have this number than are shown. */
  readonly isCut: boolean;
}

const entriesText = ({ batchNo, entries, quarantined, isCut }: FoundByNumber, times: Times): string =>
  lines(
    ...entries.map((entry, at) => lines(at > 0 && '', entryText(batchNo, entry, times))),
    isCut &&
      `\nonly the first ${counted(entries.length, 'merchant')} with this number are shown: name one with --merchant`,
    quarantined.length > 0 && entries.length > 0 && '',
    ...quarantined.map((row) => quarantinedText(batchNo, row, times)),
    `\n${times.note}`,
  );

function entryText(batchNo: string, found: FoundEntry, times: Times): string {
  const { merchantNo, contents, vanishedAt, absentSince, places, unread, breaks } = found;
  const { entry } = contents.at(-1)!;
  return lines(
    line`entry ${batchNo} of merchant ${merchantNo}: ${amountOf(entry)}, balance ${moneyText(entry.balance, entry.currency)}`,
    line`  booked at ${entry.bookedAt}, transaction type ${entry.transactionType}`,
    vanishedAt !== null && `  no longer shown by the platform since ${times.at(vanishedAt)}`,
    absentSince !== null &&
      `  missing from the reading of ${times.at(absentSince)}: it stays until a later reading confirms that`,
    ...contents.map((_, at) => versionText(found, at, times)),
    ...places.filter((place) => isReported(place, found)).map((place) => placeText(place, found, times)),
    places.length === 0 &&
      `  no statement of ${entry.currency} ${entry.bookedAt.slice(0, 10)} is published yet`,
    unread > 0 && `  ${counted(unread, 'older revision')} not read`,
    ...breaks.map((row) => adjacentBreakText(row, batchNo, times)),
  );
}

function versionText({ contents }: FoundEntry, at: number, times: Times): string {
  const { version, entry, seenAt, runId } = contents[at]!;
  const before = contents[at - 1];
  const what = before === undefined ? 'first seen' : differences({ before: before.entry, after: entry });
  return line`  version ${version}, ${times.at(seenAt)}${runId === null ? '' : ` (run ${runId})`}: ${what}`;
}

/**
 * Whether a place is shown: if the entry is in it or its file could not be read. The current revision of the entry's
 * own day is also shown if the entry is not in it.
 */
const isReported = (
  { isCurrent, found, problem, currency, day }: EntryPlace,
  { contents }: FoundEntry,
): boolean => {
  const { entry } = contents.at(-1)!;
  const isOwn = entry.currency === currency && entry.bookedAt.startsWith(day);
  return found !== null || problem !== null || (isCurrent && isOwn);
};

function placeText(
  { revision, isCurrent, file, publishedAt, supersededAt, problem, found }: EntryPlace,
  { vanishedAt }: FoundEntry,
  times: Times,
): string {
  const name = line`revision ${revision}${isCurrent ? ', the current one' : ''}`;
  if (problem !== null) return line`  ${file} (${name}) cannot be read: ${problem}`;
  if (found === null) {
    const why = vanishedAt === null ? '; the next `daybook run` or `daybook publish` brings it' : '';
    return line`  not in ${file} (${name}, published ${times.at(publishedAt)})${why}`;
  }
  return isCurrent
    ? line`  line ${found.line} of ${file} (${name})`
    : line`  was line ${found.line} of ${file} (${name}, superseded ${times.at(supersededAt)})`;
}

function adjacentBreakText(row: BreakRow, batchNo: string, times: Times): string {
  const where =
    row.before_batch_no === batchNo
      ? 'lies right before it'
      : row.after_batch_no === batchNo
        ? 'lies right after it'
        : 'may come from it';
  const standing = row.status === 'open' ? 'open' : `${row.status} ${times.at(row.closed_at)}`;
  return `  break ${row.id} (${standing}) ${where}: \`daybook breaks show ${row.id}\` explains it`;
}

const quarantinedText = (batchNo: string, row: QuarantineRow, times: Times): string =>
  lines(
    line`unreadable entry ${row.id} of merchant ${row.merchant_no} has the number ${batchNo}: ${row.reason}`,
    `  seen first ${times.at(row.first_seen_at)}` +
      (row.released_at === null ? ', and still sent' : `, no longer sent since ${times.at(row.released_at)}`),
    row.acknowledged_at !== null && line`  acknowledged ${times.at(row.acknowledged_at)}: ${row.note ?? ''}`,
    `  \`daybook quarantine${row.released_at === null && row.acknowledged_at === null ? '' : ' --all'}\` shows it as received`,
  );
