/**
 * What is known of entries: `entries find` (one, by its batch number), `amendments` (those that the platform changed or
 * took back) and `quarantine` (those that could not be read).
 */
import type { Command } from 'commander';
import { firstNamed, shellWord } from '../ledger/text.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import { moneyText } from '../ledger/money.ts';
import { EXIT, UsageError } from '../run/verdict/exit-codes.ts';
import { placesOf, type EntryPlace, type EntryPlaces } from '../statements/entry-places.ts';
import { type QuarantineRow, acknowledgeUnreadable, listQuarantine } from '../store/quarantine.ts';
import { acceptSilent } from '../store/silent-accounts.ts';
import { acceptHeld, heldDaysOf, type HeldDay } from '../store/absent-entries.ts';
import { listAmendments, listVanished, type Amendment } from '../store/amendments.ts';
import type { BreakRow } from '../store/breaks/breaks.ts';
import {
  adjacentBreaks,
  ENTRIES_FOUND_MAX,
  findEntries,
  unreadableOfNumber,
  type EntryHistory,
} from '../store/entry-history.ts';
import { answer, collect, withBy } from './context.ts';
import { accountsFlagged, dayFlag, idFlag, merchantNoFlag, textFlag, type RangeFlags } from './flags.ts';
import { counted, line, lines, listTable, table, type Times } from './output/text.ts';

export function entriesCommand(entries: Command): void {
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
    .action((batchNo: string, { merchant }: { readonly merchant?: string }, self: Command) => {
      if (batchNo === '') throw new UsageError('the number is empty; write it as the platform has it.');
      const merchants = merchant === undefined ? null : [merchantNoFlag('--merchant', merchant)];
      return answer(self, async ({ db, objects, times }) => {
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
        const exitCode = isUnread ? EXIT.incomplete : EXIT.done;
        return { document, text: entriesText(document, times), exitCode };
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

const FIELDS = ['currency', 'transactionType', 'credit', 'debit', 'balance', 'bookedAt'] as const;
/** `transactionType` is `transaction type`. */
const wordsOf = (field: string): string => field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** `balance 5.00 → 6.00, booked at ... → ...`. */
const differences = ({ before, after }: Pick<Amendment, 'before' | 'after'>): string =>
  FIELDS.filter((field) => before[field] !== after[field])
    .map((field) => `${wordsOf(field)} ${before[field] ?? 'none'} → ${after[field] ?? 'none'}`)
    .join(', ');

const amountOf = ({ credit, debit, currency }: LedgerEntry): string =>
  `${credit === null ? 'debit' : 'credit'} ${moneyText(credit ?? debit ?? '', currency)}`;

const AMENDMENTS_HELP = `
If every entry of an account's day disappears at once, or most entries of several days, daybook keeps the entries and asks you.
Until you confirm, they are held: published statements stay as they are, the account
gets no new ones, and runs end with 4. \`daybook amendments accept --note TEXT\`
confirms that they are gone. If they come back, the hold ends by itself.

Examples:
  daybook amendments
  daybook amendments accept --merchant 10001 --currency USD --from 2026-03-03 --to 2026-03-03 --note "letter 4711"`;

const ACCEPT_HELP = `
Entries that disappear all at once usually mean an error at the platform. Ask it before you confirm.

Examples:
  daybook amendments accept --merchant 10001 --currency USD --from 2026-03-03 --to 2026-03-03 --note "letter 4711" --by Ada
  daybook amendments accept --merchant 10001 --note "the platform's answer of 5 March"
  daybook amendments accept --note "letter 4711"      where entries of one merchant alone are held`;

export function amendmentsCommand(amendments: Command): void {
  amendments.addHelpText('after', AMENDMENTS_HELP).action((_flags: object, self: Command) =>
    answer(self, async ({ db, times }) => {
      const amended = await listAmendments(db);
      const vanished = await listVanished(db);
      const held = await heldDaysOf(db, null);
      return {
        document: { amended, vanished, held },
        text: lines(
          amendedText(amended, times),
          '',
          vanishedText(vanished, times),
          '',
          heldText(held, times),
          amended.length + vanished.length + held.length > 0 && times.note,
        ),
      };
    }),
  );
  addAcceptCommand(amendments);
}

const amendedText = (amended: readonly Amendment[], times: Times): string =>
  amended.length === 0
    ? 'nothing was amended'
    : table(
        ['merchant', 'batch no', 'seen', '~what changed'],
        amended.map((one) => [
          ...[one.merchantNo, one.before.batchNo, times.at(one.supersededAt), differences(one)],
        ]),
      );

const vanishedText = (vanished: Awaited<ReturnType<typeof listVanished>>, times: Times): string =>
  vanished.length === 0
    ? 'no entry was removed'
    : listTable(vanished, {
        merchant: ({ merchantNo }) => merchantNo,
        'no longer shown': ({ entry }) => entry.batchNo,
        seen: ({ vanishedAt }) => times.at(vanishedAt),
        '?booked at': ({ entry }) => entry.bookedAt,
        '~was': ({ entry }) => amountOf(entry),
      });

const heldText = (held: readonly HeldDay[], times: Times): string =>
  held.length === 0
    ? 'nothing is held'
    : listTable(held, {
        merchant: ({ merchantNo }) => merchantNo,
        currency: ({ currency }) => currency,
        'held day': ({ day }) => day,
        '>entries': ({ entries }) => entries,
        since: ({ since }) => times.at(since),
        accepted: ({ acceptedAt }) => times.at(acceptedAt) || 'no',
      });

const NOTHING_HELD = (): UsageError =>
  new UsageError(
    'no held entry and no silent account there waits to be accepted; `daybook amendments` lists held entries, ' +
      '`daybook status` silent accounts.',
  );
const HELD_NAMED_MAX = 5;

/** The merchant whose entries are held, where it is one. Throws `UsageError` where there is none or several. */
function onlyHeld(held: readonly HeldDay[]): readonly string[] {
  const waiting = held.filter(({ acceptedAt }) => acceptedAt === null);
  const merchants = [...new Set(waiting.map(({ merchantNo }) => merchantNo))];
  if (merchants.length === 0) throw NOTHING_HELD();
  if (merchants.length === 1) return merchants;
  const named = firstNamed(merchants.map(shellWord), HELD_NAMED_MAX);
  throw new UsageError(
    `entries of several merchants are held (${named}): say whose they are with --merchant NO.`,
  );
}

const acceptedText = (days: readonly { readonly entries: number }[]): string => {
  const entries = days.reduce((sum, one) => sum + one.entries, 0);
  return (
    `accepted: ${counted(entries, 'entry', 'entries')} of ${counted(days.length, 'account day')}. ` +
    'The next run that does not find them marks them as vanished and publishes revisions. If they are back, nothing changes.'
  );
};

function addAcceptCommand(amendments: Command): void {
  withBy(amendments.command('accept'))
    .description(
      'confirm that held entries are gone for good, or that nothing was booked in a silent account; the next run publishes what follows',
    )
    .option(
      '--merchant <no>',
      'of this merchant (may be repeated; default: the only one with held entries)',
      collect,
      [],
    )
    .option('--currency <code>', 'only of this currency (may be repeated)', collect, [])
    .option('--from <day>', 'first day, YYYY-MM-DD (default: the first that is held)')
    .option('--to <day>', 'last day, included (default: the last that is held)')
    .requiredOption('--note <text>', 'how you know, such as the platform’s answer; kept with it')
    .addHelpText('after', ACCEPT_HELP)
    .action((flags: RangeFlags & { readonly note: string }, self: Command) => {
      const note = textFlag(flags.note, 'say how you know that the entries are gone');
      const [from, to] = [dayFlag('--from', flags.from), dayFlag('--to', flags.to)];
      return answer(self, async ({ db, recorded }) => {
        const merchant = flags.merchant.length > 0 ? flags.merchant : onlyHeld(await heldDaysOf(db, null));
        const filter = { ...accountsFlagged({ ...flags, merchant }), from, to };
        const subject = [...merchant, ...flags.currency, from, to].filter(Boolean).join(' ');
        const accepted = await recorded({ subject, note }, async (trx, at) => {
          const days = await acceptHeld(trx, filter, at);
          const silent = await acceptSilent(trx, filter, at);
          if (days.length + silent.length > 0) return { days, silent };
          throw NOTHING_HELD();
        });
        const { days, silent } = accepted;
        return {
          document: { accepted: days, silent },
          text: lines(
            days.length > 0 && acceptedText(days),
            silent.length > 0 &&
              `accepted: ${counted(silent.length, 'silent account')}. The next run publishes the days without entries.`,
          ),
        };
      });
    });
}

/** Characters of an unreadable entry that are shown as text. */
const RAW_SHOWN_MAX = 300;

export function quarantineCommand(quarantine: Command): void {
  quarantine
    .option('--all', 'also those the platform no longer sends, and those acknowledged')
    .addHelpText(
      'after',
      '\nEach needs attention until the platform corrects it, or until it is acknowledged.\n\n' +
        'Examples:\n  daybook quarantine\n  daybook quarantine acknowledge 7 --note "booked by hand, case 4711"',
    )
    .action(({ all = false }: { readonly all?: boolean }, self: Command) =>
      answer(self, async ({ db, times }) => {
        const rows = await listQuarantine(db, { merchants: null, all });
        return { document: rows, text: quarantineText(rows, times) };
      }),
    );
  withBy(quarantine.command('acknowledge'))
    .argument('<id>', 'the quarantine number, as `daybook quarantine` shows it')
    .requiredOption('--note <text>', 'why it needs no more attention; stored with it')
    .description('record that an unreadable entry needs no more attention; it stays in quarantine')
    .action((text: string, flags: { readonly note: string }, self: Command) => {
      const unknown = `no open quarantined entry has the number ${text}; \`daybook quarantine\` lists them.`;
      const id = idFlag(text, unknown);
      const note = textFlag(flags.note, 'give a reason for the acknowledgement');
      return answer(self, async ({ recorded }) => {
        await recorded({ subject: id, note }, async (trx, at) => {
          if (!(await acknowledgeUnreadable(trx, id, note, at))) throw new UsageError(unknown);
        });
        return { document: { id, acknowledged: true }, text: `entry ${text} is acknowledged` };
      });
    });
}

const quarantineText = (rows: readonly QuarantineRow[], times: Times): string =>
  rows.length === 0
    ? 'nothing is quarantined'
    : lines(
        counted(rows.length, 'quarantined entry', 'quarantined entries'),
        ...rows.map((row) =>
          lines(
            line`\n${row.id}: merchant ${row.merchant_no}, batch no ${row.batch_no ?? 'none'}${row.occurrences === 1 ? '' : `, ${row.occurrences} times`}: ${row.reason}`,
            line`  ${row.raw.slice(0, RAW_SHOWN_MAX)}${row.raw.length > RAW_SHOWN_MAX ? ' ... (complete with --json)' : ''}`,
            row.released_at !== null && `  no longer sent since ${times.at(row.released_at)}`,
            row.acknowledged_at !== null &&
              line`  acknowledged ${times.at(row.acknowledged_at)}: ${row.note ?? ''}`,
          ),
        ),
        `\n${times.note}`,
      );
