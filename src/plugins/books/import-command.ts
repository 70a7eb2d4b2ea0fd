/** `books import`, `list` and `unreadable`: reads a merchant's own book, and tells what was imported and which rows could not be read. */
import type { Command } from 'commander';
import { sql, type RawBuilder } from 'kysely';
import {
  answer,
  answerWith,
  auditEventOf,
  collect,
  offlineSettings,
  stopSignal,
  withBy,
  type GlobalFlags,
} from '../../cli/context.ts';
import {
  dayFlag,
  merchantsOf,
  pageBehind,
  pageOf,
  unknownMerchant,
  withPageFlags,
  type PageFlags,
  type RangeFlags,
} from '../../cli/flags.ts';
import { inputText } from '../../cli/input-file.ts';
import { createProgressLine } from '../../cli/output/progress-line.ts';
import { counted, line, lines, nextLine, type Times } from '../../cli/output/text.ts';
import type { Chosen } from '../../ledger/account-filter.ts';
import { createCurrencies } from '../../ledger/money.ts';
import { EXIT, UsageError } from '../../run/verdict/exit-codes.ts';
import { ofMerchants } from '../../store/account-filter.ts';
import { rowsOf } from '../../store/engine/database.ts';
import { knownMerchants } from '../../store/merchants.ts';
import { importBook, type ImportReport } from './import/import.ts';
import { MAPPING_BYTES_MAX, readMapping } from './import/mapping.ts';
import type { UnreadableRow } from './import/rows.ts';
import { openSource } from './import/sources.ts';

const HELP = `
The mapping says how the file is read (docs/books.md):
  merchant: M1
  format: csv            # or xlsx, or query
  zone: Asia/Shanghai
  columns: {number: Order, booked: Date, currency: Currency, amount: Amount, reference: Reference}

The file covers the time from its first row to its last one, or all days from --from to --to, in the book’s own zone: an entry of these
that it does not hold is withdrawn.
Exits with 3 if rows cannot be read; \`daybook books unreadable\` lists them.
Also exits with 3, and stores nothing, where the import adds or withdraws more than BOOKS_APPROVAL_ABOVE: another person
then imports the same file with the same mapping.

Examples:
  daybook books import orders.csv --map orders.yaml --by Ada
  daybook books import orders.csv --map orders.yaml --from 2026-03-01 --to 2026-03-31 --dry-run
  gunzip -c orders.csv.gz | daybook books import - --map orders.yaml`;

const ANSWERED = `
A later import of the book answers a row: if it reads the entry, or all the time of the row’s import, or the same file with another mapping.`;

export function addImportCommands(books: Command): void {
  withBy(books.command('import'))
    .argument('[file]', 'the file, or - for what comes in on stdin; none for a query')
    .description('read a merchant’s own book from a file or a query')
    .requiredOption('--map <file>', 'the mapping: how the file is read, YAML')
    .option('--from <day>', 'first day of the book’s zone that the file holds completely, YYYY-MM-DD')
    .option('--to <day>', 'last day that it holds completely')
    .option('--start <day>', 'first day of the book from now on (default: as far back as its imports reach)')
    .option('--dry-run', 'only say what would change')
    .addHelpText('after', HELP)
    .action(importBooks);
  addList(books.command('list'), IMPORTS).description(
    'imports of own books, newest first: which days they cover, and what they changed',
  );
  addList(books.command('unreadable'), UNREADABLE)
    .description('rows of own books that could not be read, as they came')
    .option('--all', 'those too that a later import answered')
    .addHelpText('after', ANSWERED);
}

type ImportFlags = { readonly map: string; readonly dryRun?: boolean; readonly start?: string } & Pick<
  RangeFlags,
  'from' | 'to'
>;

async function importBooks(path: string | undefined, flags: ImportFlags, self: Command): Promise<void> {
  const mapping = readMapping(inputText(flags.map, MAPPING_BYTES_MAX), flags.map);
  const [from, to] = [dayFlag('--from', flags.from), dayFlag('--to', flags.to)];
  const startsOn = dayFlag('--start', flags.start);
  if (from !== undefined && to !== undefined && from > to) throw new UsageError('--from lies after --to.');
  const settings = offlineSettings(self);
  const platform = settings.platform?.timeZone;
  if (platform === undefined)
    throw new UsageError('PLATFORM_TIME_ZONE is not set: the days of a book are those of its zone.');
  const { merchant: merchantNo, book } = mapping;
  const signal = stopSignal();
  const source = openSource(mapping, {
    ...{ path: path ?? null, env: process.env, stdin: process.stdin },
    ...{ isInsecureAllowed: settings.allowInsecure.includes('database'), signal },
  });
  const isDryRun = flags.dryRun === true;
  const auditEvent = auditEventOf(self, `${merchantNo} ${book}`, source.name);
  await answerWith(settings, self, async ({ db, now }) => {
    const known = await knownMerchants(db, [merchantNo]);
    const isOfSettings = settings.platform?.merchant?.merchantNo === merchantNo;
    if (known.size === 0 && !isOfSettings) throw unknownMerchant(merchantNo);
    const progress = createProgressLine();
    const report = await importBook(db, {
      ...{ mapping, source, from, to, startsOn, isDryRun, auditEvent, now, signal },
      ...{ approvalAbove: settings.books.approvalAbove, logins: settings.access },
      currencies: createCurrencies(settings.currencies),
      zones: { own: mapping.zone ?? platform, platform },
      onProgress: (rows) => progress.show({ stage: 'import', rows }),
    }).finally(progress.clear);
    const document = { merchantNo, book, source: source.name, dryRun: isDryRun, ...report };
    const exitCode = report.unreadable > 0 ? EXIT.needsPerson : EXIT.done;
    return { document, text: reportText(document), exitCode };
  });
}

const CHANGES = ['added', 'changed', 'unchanged', 'returned', 'withdrawn', 'unreadable', 'open'] as const;

type Named = Readonly<Record<'merchantNo' | 'book' | 'source', string>>;
type Imported = Pick<ImportReport, 'rowsRead' | 'firstDay' | 'lastDay'> &
  Partial<Readonly<Record<(typeof CHANGES)[number], number>>> &
  Named;

/** `120 rows of orders.csv for the book erp of M1: 3 added, 117 unchanged`. */
const importedText = (one: Imported): string => {
  const counts = CHANGES.flatMap((key) => (one[key] ? `${one[key].toLocaleString('en')} ${key}` : []));
  const changes = counts.length === 0 ? '' : `: ${counts.join(', ')}`;
  return line`${counted(one.rowsRead, 'row')} of ${one.source} for the book ${one.book} of ${one.merchantNo}${changes}`;
};

const coverText = ({ firstDay, lastDay }: Imported, zone?: string): string | false =>
  firstDay !== null && `it covers ${firstDay} to ${lastDay}${zone === undefined ? '' : ` (${zone})`}`;

const keptText = (kept: number): string =>
  `${counted(kept, 'entry', 'entries')} of these days that the file does not have ${kept === 1 ? 'lies' : 'lie'} before its first time or ` +
  `after its last, and ${kept === 1 ? 'stays' : 'stay'}: \`--from\` and \`--to\` say which days it holds completely`;

function reportText(report: ImportReport & Imported & { readonly dryRun: boolean }): string {
  const { firstUnreadable, unreadable, answered, dryRun } = report;
  return lines(
    `${importedText(report)}${dryRun ? ' (dry run: nothing was stored)' : ''}`,
    coverText(report, report.zone),
    report.kept > 0 && keptText(report.kept),
    report.notWithdrawn,
    report.moved,
    report.aboveLimit !== null && dryRun && `a second person has to import it, too: ${report.aboveLimit}`,
    answered > 0 &&
      `${counted(answered, 'unreadable row')} of earlier imports ${answered === 1 ? 'is' : 'are'} answered`,
    ...firstUnreadable.map(({ line: at, reason }) => line`  line ${at}: ${reason}`),
    unreadable > firstUnreadable.length &&
      `  and ${counted(unreadable - firstUnreadable.length, 'more row', 'more rows')}`,
    unreadable > 0 && !dryRun && 'unreadable rows are kept: `daybook books unreadable` lists them',
    !dryRun && `\`daybook books match --merchant ${report.merchantNo}\` matches the book with the ledger`,
  );
}

interface Listing<Row> {
  /** Its columns that say where a row stands. */
  readonly place: readonly (string & keyof Row)[];
  readonly noun: string;
  readonly none: string;
  /** `after` has the place of the last row before, or is empty. */
  readonly query: (after: readonly string[], merchants: Chosen, isAll: boolean) => RawBuilder<Row>;
  readonly textOf: (row: Row, times: Times) => string;
  /** What the list is followed by: a row with its text. */
  readonly waiting?: (merchants: Chosen) => RawBuilder<{ readonly text: string }>;
}

const IMPORTS: Listing<Imported & { readonly import: number; readonly at: Date; readonly by: string }> = {
  ...{ place: ['import'], noun: 'import', none: 'no own book is imported' },
  query: ([before = null], merchants) => sql`
    SELECT import.id AS import, merchant_no AS "merchantNo", book, source, at, by_whom AS by, first_day AS "firstDay",
      last_day AS "lastDay", rows_read AS "rowsRead", added, changed, returned, withdrawn, unreadable,
      (SELECT count(*) FROM book_unreadable WHERE import_id = import.id AND answered_import_id IS NULL) AS open
    FROM book_import AS import JOIN audit_event ON audit_event.id = audit_event_id
    WHERE ${ofMerchants(merchants)} AND (${before === null} OR import.id < ${before}::bigint) ORDER BY import.id DESC`,
  waiting: (merchants) => sql`
    SELECT source || ' for the book ' || book || ' of ' || merchant_no || ', imported by ' || by_whom || ', waits for a second person: ' || reason AS text
    FROM book_import_waiting JOIN audit_event ON audit_event.id = audit_event_id WHERE ${ofMerchants(merchants)} ORDER BY audit_event_id`,
  textOf: (row, times) =>
    lines(line`${row.import}: ${times.at(row.at)} by ${row.by}: ${importedText(row)}`, coverText(row)),
};

type Unreadable = UnreadableRow & Named & { readonly import: number; readonly answeredBy: number | null };

const UNREADABLE: Listing<Unreadable> = {
  ...{ place: ['import', 'line'], noun: 'row', none: 'no row is unreadable' },
  query: ([importId = null, row = null], merchants, isAll) => sql`
    SELECT import.id AS import, line, merchant_no AS "merchantNo", book, source, number, reason, raw, answered_import_id AS "answeredBy"
    FROM book_unreadable JOIN book_import AS import ON import.id = import_id
    WHERE ${ofMerchants(merchants)} AND (${isAll} OR answered_import_id IS NULL)
      AND (${row === null} OR (import_id, line) > (${importId}::bigint, ${row}::bigint)) ORDER BY import_id, line`,
  textOf: (row) =>
    lines(
      line`${row.import}:${row.line} of ${row.source} for the book ${row.book} of ${row.merchantNo}: ${row.reason}`,
      line`  ${row.raw}`,
      row.answeredBy !== null && `  answered by import ${row.answeredBy}`,
    ),
};

type ListFlags = PageFlags & Pick<RangeFlags, 'merchant'> & { readonly all?: boolean };

function addList<Row>(
  command: Command,
  { place, noun, none, query, textOf, waiting }: Listing<Row>,
): Command {
  const name = place.join(':');
  command.option('--merchant <no>', 'only this merchant (may be repeated)', collect, []);
  return withPageFlags(command, name).action(async (flags: ListFlags, self: Command) => {
    const page = pageOf(flags, self.optsWithGlobals<GlobalFlags>().json === true);
    const after = page.after?.split(':') ?? place.map(() => '0');
    if (after.length !== place.length || after.some((part) => !/^\d{1,15}$/.test(part)))
      throw new UsageError(`--after ${page.after} is no place; write ${name.toUpperCase()}.`);
    const asked = query(page.after === undefined ? [] : after, merchantsOf(flags), flags.all === true);
    await answer(self, async ({ db, times }) => {
      const found = await rowsOf(db)<Row>`${asked} LIMIT ${page.limit === undefined ? null : page.limit + 1}`;
      const placeOf = (row: Row): string => place.map((column) => row[column]).join(':');
      const { shown, next } = pageBehind(found, placeOf, { ...page, after: '' });
      const texts = shown.map((row) => textOf(row, times));
      const waits =
        waiting === undefined ? [] : await rowsOf(db)<{ text: string }>`${waiting(merchantsOf(flags))}`;
      const list =
        shown.length === 0 ? none : lines(...texts, times.note, nextLine(shown.length, noun, next));
      return { document: shown, text: lines(list, ...waits.map(({ text }) => line`${text}`)) };
    });
  });
}
