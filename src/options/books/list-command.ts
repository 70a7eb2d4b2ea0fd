/** `books list` and `books unreadable`: what was imported, and which rows could not be read. */
import type { Command } from 'commander';
import { sql, type RawBuilder } from 'kysely';
import { answer, collect } from '../../cli/context.ts';
import { merchantsOf, pageOf, withPageFlags, type PageFlags } from '../../cli/flags.ts';
import { lines, longTable, nextLine } from '../../cli/output/text.ts';
import type { GlobalFlags } from '../../cli/print.ts';
import { UsageError } from '../../run/verdict/exit-codes.ts';
import { ofMerchants } from '../../store/account-filter.ts';
import { rowsOf } from '../../store/engine/database.ts';

type Row = Readonly<Record<string, string | number | Date | null>>;
type Place = readonly string[];

interface Listing {
  /** What a row is, and which of its fields name its place in the list. */
  readonly noun: string;
  readonly place: Place;
  readonly none: string;
  /** As `table` takes them: each is a field of a row. */
  readonly columns: string;
  /** `after` is the place of the last row before, or empty. */
  readonly query: (after: Place, isOfMerchants: RawBuilder<boolean>, isAll: boolean) => RawBuilder<Row>;
}

const ANSWERED = `
A later import of the book answers a row: if it reads the entry, or all days of the row’s import, or the same file with another mapping.`;

export function addListCommands(books: Command): void {
  addList(books.command('list'), {
    ...{ noun: 'import', place: ['import'], none: 'no own book is imported' },
    columns:
      '>import merchantNo book at by ~source firstDay lastDay >rowsRead >added >changed ?>returned >withdrawn >unreadable >open',
    query: ([before], isOfMerchants) => sql`
      SELECT import.id AS import, merchant_no AS "merchantNo", book, source, at, by_whom AS by, first_day AS "firstDay",
        last_day AS "lastDay", rows_read AS "rowsRead", added, changed, returned, withdrawn, unreadable,
        (SELECT count(*) FROM book_unreadable WHERE import_id = import.id AND answered_import_id IS NULL) AS open
      FROM book_import AS import JOIN audit_event ON audit_event.id = audit_event_id
      WHERE ${isOfMerchants} AND (${before === undefined} OR import.id < ${before ?? null}::bigint) ORDER BY import.id DESC`,
  }).description('imports of own books, newest first: which days they cover, and what they changed');
  addList(books.command('unreadable'), {
    ...{ noun: 'row', place: ['import', 'line'], none: 'no row is unreadable' },
    columns: '>import >line merchantNo book ~source number ~reason ~raw ?>answeredBy',
    query: ([importId = null, line = null], isOfMerchants, isAll) => sql`
      SELECT import.id AS import, line, merchant_no AS "merchantNo", book, source, number, reason, raw, answered_import_id AS "answeredBy"
      FROM book_unreadable JOIN book_import AS import ON import.id = import_id
      WHERE ${isOfMerchants} AND (${isAll} OR answered_import_id IS NULL)
        AND (${line === null} OR (import_id, line) > (${importId}::bigint, ${line}::bigint)) ORDER BY import_id, line`,
  })
    .description('rows of own books that could not be read, as they came')
    .option('--all', 'those too that a later import answered')
    .addHelpText('after', ANSWERED);
}

type ListFlags = PageFlags & { readonly merchant: readonly string[]; readonly all?: boolean };

function addList(command: Command, { noun, place, none, columns, query }: Listing): Command {
  command.option('--merchant <no>', 'only this merchant (may be repeated)', collect, []);
  return withPageFlags(command, place.join(':')).action(async (flags: ListFlags, self: Command) => {
    const page = pageOf(flags, self.optsWithGlobals<GlobalFlags>().json === true);
    const limit = page.limit === undefined ? null : page.limit + 1;
    const after = page.after?.split(':') ?? [];
    const isPlace = after.length === place.length && after.every((number) => /^\d{1,15}$/.test(number));
    if (page.after !== undefined && !isPlace)
      throw new UsageError(`--after ${page.after} is no place; write ${place.join(':').toUpperCase()}.`);
    const asked = query(after, ofMerchants(merchantsOf(flags)), flags.all === true);
    await answer(self, async ({ db, times }) => {
      const rows = await rowsOf(db)<Row>`${asked} LIMIT ${limit}`;
      const shown = rows.slice(0, page.limit);
      const next = shown.length < rows.length ? place.map((part) => shown.at(-1)![part]).join(':') : null;
      const cells = columns.split(' ').map((head) => {
        const key = head.replace(/^\W+/, '');
        const cellOf = ({ [key]: cell = null }: Row) => (cell instanceof Date ? times.at(cell) : cell);
        return [head.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`), cellOf] as const;
      });
      const table = longTable(shown, Object.fromEntries(cells));
      return {
        document: shown,
        text: shown.length === 0 ? none : lines(table, times.note, nextLine(shown.length, noun, next)),
      };
    });
  });
}
