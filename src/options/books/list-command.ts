/** `books list` and `books unreadable`: what was imported, and which rows could not be read. */
import type { Command } from 'commander';
import { answer, collect } from '../../cli/context.ts';
import { idFlag, merchantsOf, pageOf, withPageFlags, type PageFlags } from '../../cli/flags.ts';
import { counted, lines, longTable, nextLine } from '../../cli/output/text.ts';
import type { GlobalFlags } from '../../cli/print.ts';
import { UsageError } from '../../run/verdict/exit-codes.ts';
import type { Chosen } from '../../ledger/account-filter.ts';
import { rowsOf, type Db } from '../../store/engine/database.ts';

interface ListFlags extends PageFlags {
  readonly merchant: readonly string[];
}

const withListFlags = (command: Command, place: string): Command =>
  withPageFlags(
    command.option('--merchant <no>', 'only this merchant (may be repeated)', collect, []),
    place,
  );

export function addListCommands(books: Command): void {
  withListFlags(books.command('list'), 'import')
    .description('imports of own books, newest first: which days they cover, and what they changed')
    .action(listImports);
  withListFlags(books.command('unreadable'), 'import:line')
    .description('rows of own books that could not be read, as they came')
    .option('--all', 'those too that a later import answered')
    .addHelpText(
      'after',
      '\nA later import of the book answers a row: if it reads the entry, or all days of the row’s import, or the same file with another mapping.',
    )
    .action(listUnreadable);
}

interface ListedImport {
  readonly import: number;
  readonly merchantNo: string;
  readonly book: string;
  readonly source: string;
  readonly at: Date;
  readonly by: string;
  readonly firstDay: string | null;
  readonly lastDay: string | null;
  readonly rowsRead: number;
  readonly added: number;
  readonly changed: number;
  readonly returned: number;
  readonly withdrawn: number;
  readonly unreadable: number;
  readonly open: number;
}

async function listImports(flags: ListFlags, self: Command): Promise<void> {
  const { limit, after } = pageOf(flags, self.optsWithGlobals<GlobalFlags>().json === true);
  const before = after === undefined ? null : idFlag(after, `--after ${after} is no number of an import.`);
  await answer(self, async ({ db, times }) => {
    const found = await importsOf(db, { merchants: merchantsOf(flags), before, limit });
    const shown = found.slice(0, limit);
    const next = shown.length < found.length ? String(shown.at(-1)!.import) : null;
    return {
      document: shown,
      text:
        shown.length === 0
          ? 'no own book is imported'
          : lines(
              longTable(shown, {
                '>import': (one) => one.import,
                merchant: ({ merchantNo }) => merchantNo,
                book: ({ book }) => book,
                at: ({ at }) => times.at(at),
                by: ({ by }) => by,
                '~source': ({ source }) => source,
                covers: ({ firstDay, lastDay }) =>
                  firstDay === null ? 'nothing' : `${firstDay} to ${lastDay}`,
                '>rows': ({ rowsRead }) => rowsRead,
                '>added': ({ added }) => added,
                '>changed': ({ changed }) => changed,
                '?>returned': ({ returned }) => returned,
                '>withdrawn': ({ withdrawn }) => withdrawn,
                '>unreadable': ({ unreadable }) => unreadable,
                '>still open': ({ open }) => open,
              }),
              times.note,
              nextLine(shown.length, 'import', next),
            ),
    };
  });
}

interface Wanted {
  readonly merchants: Chosen;
  readonly limit: number | undefined;
}

/** One row more than the limit, if there are more. */
const importsOf = (
  db: Db,
  { merchants, before, limit }: Wanted & { readonly before: number | null },
): Promise<ListedImport[]> =>
  rowsOf(db)<ListedImport>`
    SELECT i.id AS import, i.merchant_no AS "merchantNo", i.book, i.source, a.at, a.by_whom AS by,
      i.first_day AS "firstDay", i.last_day AS "lastDay", i.rows_read AS "rowsRead", i.added, i.changed, i.returned, i.withdrawn, i.unreadable,
      (SELECT count(*) FROM book_unreadable AS u WHERE u.import_id = i.id AND u.answered_import_id IS NULL) AS open
    FROM book_import AS i JOIN audit_event AS a ON a.id = i.audit_event_id
    WHERE (${merchants}::text[] IS NULL OR i.merchant_no = ANY(${merchants}::text[])) AND (${before}::bigint IS NULL OR i.id < ${before}::bigint)
    ORDER BY i.id DESC LIMIT ${limit === undefined ? null : limit + 1}`;

interface ListedRow {
  readonly import: number;
  readonly line: number;
  readonly merchantNo: string;
  readonly book: string;
  readonly source: string;
  readonly number: string | null;
  readonly reason: string;
  readonly raw: string;
  readonly answeredBy: number | null;
}

async function listUnreadable(flags: ListFlags & { readonly all?: boolean }, self: Command): Promise<void> {
  const { limit, after } = pageOf(flags, self.optsWithGlobals<GlobalFlags>().json === true);
  const place = after === undefined ? null : /^(\d{1,15}):(\d{1,15})$/.exec(after);
  if (place === null && after !== undefined)
    throw new UsageError(`--after ${after} is no place of a row; write IMPORT:LINE, like 3:17.`);
  await answer(self, async ({ db }) => {
    const found = await unreadableRows(db, {
      ...{ merchants: merchantsOf(flags), limit, isAll: flags.all === true },
      after: place === null ? null : [Number(place[1]), Number(place[2])],
    });
    const shown = found.slice(0, limit);
    const last = shown.at(-1);
    const next = shown.length < found.length ? `${last!.import}:${last!.line}` : null;
    return {
      document: shown,
      text:
        shown.length === 0
          ? 'no row is unreadable'
          : lines(
              longTable(shown, {
                '>import': (one) => one.import,
                '>line': ({ line }) => line,
                merchant: ({ merchantNo }) => merchantNo,
                book: ({ book }) => book,
                '~source': ({ source }) => source,
                number: ({ number }) => number,
                '~reason': ({ reason }) => reason,
                '~row': ({ raw }) => raw,
                ...(flags.all === true && { '>answered by': ({ answeredBy }: ListedRow) => answeredBy }),
              }),
              nextLine(shown.length, 'row', next),
              next === null &&
                `${counted(shown.length, 'row')}; correct them in the book, and import it again`,
            ),
    };
  });
}

const unreadableRows = (
  db: Db,
  wanted: Wanted & { readonly isAll: boolean; readonly after: readonly [number, number] | null },
): Promise<ListedRow[]> => {
  const { merchants, isAll, after, limit } = wanted;
  return rowsOf(db)<ListedRow>`
    SELECT u.import_id AS import, u.line, i.merchant_no AS "merchantNo", i.book, i.source, u.number, u.reason, u.raw,
      u.answered_import_id AS "answeredBy"
    FROM book_unreadable AS u JOIN book_import AS i ON i.id = u.import_id
    WHERE (${merchants}::text[] IS NULL OR i.merchant_no = ANY(${merchants}::text[])) AND (${isAll} OR u.answered_import_id IS NULL)
      AND (u.import_id, u.line) > (${after?.[0] ?? 0}::bigint, ${after?.[1] ?? 0}::bigint)
    ORDER BY u.import_id, u.line LIMIT ${limit === undefined ? null : limit + 1}`;
};
