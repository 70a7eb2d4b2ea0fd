/** The tables of a day's statement: the revisions before, what changed since the last of them, and the entries. */
import { addAmounts, grouped, subtractAmounts } from '../../../ledger/money.ts';
import { counted } from '../../../ledger/text.ts';
import type { Changes, PublishedRevision, RowCells, StatementDay } from '../format.ts';
import { placesOf, type Places } from '../columns.ts';
import { countText, instantText } from './day-figures.ts';
import { COLOR, STYLE } from './drawing.ts';
import type { Column, Row } from './table.ts';
import type { Sheet } from './sheet.ts';

/** The latest of them are shown; the manifest has all. */
const EARLIER_SHOWN_MAX = 20;
const CHANGES_SHOWN_MAX = 100;

const EARLIER_COLUMNS: readonly Column[] = [
  { head: 'Revision', width: 44 },
  { head: 'Published', width: 104 },
  { head: 'Reason, CSV and its SHA-256', width: 351.28 },
];

/** Which files it took the place of, the latest first. */
export function earlierSection(sheet: Sheet, earlier: readonly PublishedRevision[]): void {
  if (earlier.length === 0) return;
  sheet.heading('Earlier revisions');
  sheet.table(
    EARLIER_COLUMNS,
    earlier
      .slice(-EARLIER_SHOWN_MAX)
      .reverse()
      .map(({ revision, publishedAt, reason, file, sha256 }): Row => ({
        cells: [
          String(revision),
          instantText(publishedAt),
          [
            { text: reason ?? 'the first one', style: STYLE.cell },
            ...[file, sha256].map((text) => ({ text, style: STYLE.mono })),
          ],
        ],
      })),
  );
  const more = earlier.length - EARLIER_SHOWN_MAX;
  if (more > 0)
    sheet.paragraph(`And ${countText(more)} before these; the manifest of the day has all.`, STYLE.soft);
}

const AMOUNTS: readonly Column[] = ['Credit', 'Debit', 'Balance'].map((head) => ({
  ...{ head, width: 82, isAmount: true },
}));
const ENTRY_COLUMNS: readonly Column[] = [
  { head: 'Time', width: 46 },
  { head: 'Batch number', width: 127.28 },
  { head: 'Type', width: 80 },
  ...AMOUNTS,
];
const CHANGE_COLUMNS: readonly Column[] = [
  { head: 'Row', width: 38 },
  { head: 'Time', width: 46 },
  { head: 'Batch number', width: 109.28 },
  { head: 'Type', width: 60 },
  ...AMOUNTS,
];

/** The cells of an entry, in the order of the columns. */
function entryCells(day: StatementDay, cells: RowCells, at: Places): string[] {
  const bookedAt = cells[at.bookedAt]!;
  return [
    // The day stands on the first page.
    bookedAt.startsWith(`${day.day} `) ? bookedAt.slice(day.day.length + 1) : bookedAt,
    cells[at.batchNo]!,
    cells[at.type] ?? '',
    ...[cells[at.credit]!, cells[at.debit]!, cells[at.balance]!].map(grouped),
  ];
}

/** Added and removed rows, and changed ones before and after. */
export function changesSection(sheet: Sheet, day: StatementDay, changes: Changes | null): void {
  const before = day.earlier.at(-1)!.revision;
  sheet.heading(`What changed since revision ${before}`);
  if (changes === null) {
    sheet.paragraph(
      'The file of that revision could not be read: the reason on the first page says what is known.',
    );
    return;
  }
  if (changes.rows.length === 0) {
    sheet.paragraph('No entry changed: the reason on the first page says what did.');
    return;
  }
  const at = placesOf(day.columns);
  const shown = changes.rows.slice(0, CHANGES_SHOWN_MAX);
  const rows = shown.flatMap((change): Row[] => {
    const line = (what: string, named: Readonly<Record<string, string>>): Row => {
      const cells = day.columns.map(({ name }) => named[name] ?? '');
      return { cells: [what, ...entryCells(day, cells, at)] };
    };
    return [
      ...(change.before === null ? [] : [line(change.after === null ? 'went' : 'before', change.before)]),
      ...(change.after === null ? [] : [line(change.before === null ? 'came' : 'after', change.after)]),
    ];
  });
  sheet.table(CHANGE_COLUMNS, rows);
  const more = changes.rows.length - shown.length + changes.more;
  if (more > 0)
    sheet.paragraph(`And ${countText(more)} more; \`daybook statements diff\` shows them all.`, STYLE.soft);
}

/** The entries in the order of the chain, with a line wherever a balance does not follow. */
export function entriesSection(
  sheet: Sheet,
  day: StatementDay,
  { shown, inAll }: { readonly shown: readonly RowCells[]; readonly inAll: number },
): void {
  const { published, zone } = day;
  const { breakCount, breaksAfter } = published.figures;
  sheet.heading('Entries');
  if (inAll === 0) {
    sheet.paragraph('None.');
    return;
  }
  const rows = [...entryRows(day, shown)];
  const left = inAll - shown.length;
  if (left > 0) {
    const breaksLeft = breakCount - breaksAfter - rows.filter(({ before }) => before !== undefined).length;
    sheet.paragraph(
      `The first ${countText(shown.length)} of ${countText(inAll)}. The other ${countText(left)} are in the CSV, ` +
        `${published.file}.` +
        (breaksLeft > 0
          ? ` ${counted(breaksLeft, 'break')} ${breaksLeft === 1 ? 'is' : 'are'} among those.`
          : ''),
    );
  }
  sheet.paragraph(
    `In the order of their balances. Times are of ${zone ?? 'the platform’s time zone'}.`,
    STYLE.soft,
  );
  sheet.table(ENTRY_COLUMNS, rows);
}

const BREAK = { ...STYLE.cell, color: COLOR.bad };

function* entryRows(day: StatementDay, shown: readonly RowCells[]): Generator<Row> {
  const at = placesOf(day.columns);
  const { opening } = day.published.figures;
  let balance = opening;
  for (const cells of shown) {
    const credit = cells[at.credit]!;
    const expected = credit === '' ? subtractAmounts(balance, cells[at.debit]!) : addAmounts(balance, credit);
    balance = cells[at.balance]!;
    const missing = subtractAmounts(balance, expected);
    yield {
      cells: entryCells(day, cells, at),
      ...(/[1-9]/.test(missing) && {
        before: {
          text: `Break: the balance below does not follow from the one above; it is ${grouped(missing)} off.`,
          style: BREAK,
        },
      }),
    };
  }
}
