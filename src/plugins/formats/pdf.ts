/** Statements as PDF, to read, sign and file: docs/decisions/formats.md. The same day gives the same bytes. */
import { entriesIn } from '../../ledger/chain/figures.ts';
import type { StatedFigures } from '../../ledger/entry.ts';
import { counted } from '../../ledger/text.ts';
import { instantText } from '../../ledger/wall-time.ts';
import {
  type PublishedRevision,
  type StatementDay,
  type Changes,
  linesOfChange,
  placesOf,
  type Places,
} from '../../statements/formats/format.ts';
import { type RowCells } from '../../verify/csv.ts';
import { missingIn, unreadableText } from './bank-amounts.ts';
import { accountFact, merchantFacts } from './names.ts';
import { COLOR, STYLE, type TextStyle, type Column, type Row, type Sheet, createSheet } from './pdf-sheet.ts';
import { addAmounts, grouped, subtractAmounts } from '../../ledger/money.ts';

export const GOOD: TextStyle = { ...STYLE.text, font: 'bold', color: COLOR.good };
export const BAD: TextStyle = { ...GOOD, color: COLOR.bad };

/** A count as it is read: `1,234`. */
export const countText = (count: number): string => grouped(String(count));

/** `Tuesday, 31 March 2026` */
const longDay = (day: string): string =>
  new Date(`${day}T00:00:00Z`).toLocaleDateString('en-GB', { dateStyle: 'full', timeZone: 'UTC' });

/** `March 2026` */
export const longMonth = (month: string): string =>
  new Date(`${month}-01T00:00:00Z`).toLocaleDateString('en-GB', {
    ...{ month: 'long', year: 'numeric', timeZone: 'UTC' },
  });

function aboutDay(sheet: Sheet, { account, day, zone, published, earlier, names }: StatementDay): void {
  const { revision, publishedAt, reason } = published;
  sheet.title('Account statement', `${longDay(day)} · ${account.currency}`);
  sheet.facts([
    ['Merchant', account.merchantNo],
    ...merchantFacts(names),
    ['Currency', account.currency],
    ...accountFact(names, account.currency),
    ['Business day', zone === null ? day : `${day}, 00:00:00 to 23:59:59 of ${zone}`],
    [
      'Revision',
      earlier.length === 0
        ? String(revision)
        : `${revision}, in place of revision ${earlier.at(-1)!.revision}`,
    ],
    ['Published', instantText(publishedAt, zone)],
    ...(reason === null ? [] : [['Reason', reason] as const]),
  ]);
}

const FIGURE_COLUMNS = (currency: string): readonly Column[] => [
  { head: '', width: 219.28 },
  { head: 'Entries', width: 110, isAmount: true },
  { head: `Amount in ${currency}`, width: 170, isAmount: true },
];

async function figuresSection(sheet: Sheet, { account, published }: StatementDay): Promise<void> {
  const { figures } = published;
  const { opening, creditTotal, creditCount, debitTotal, debitCount, closing } = figures;
  const style: TextStyle = { ...STYLE.text, size: 10 };
  const row = (name: string, count: string, amount: string, own = style): Row => ({
    cells: [name, count, grouped(amount)],
    style: own,
  });
  sheet.heading('Figures');
  await sheet.table(FIGURE_COLUMNS(account.currency), [
    row('Opening balance', '', opening),
    row('Credits', countText(creditCount), creditTotal),
    row('Debits', countText(debitCount), debitTotal),
    row('Closing balance', '', closing, { ...style, font: 'bold' }),
  ]);
  sheet.heading('Verdict');
  for (const [text, own] of verdictTexts(published)) sheet.paragraph(text, own);
}

function verdictTexts({
  figures,
  unreadable,
}: PublishedRevision): (readonly [text: string, style?: TextStyle])[] {
  const { verdict, breakCount, restarted } = figures;
  const lacking =
    unreadable === 0
      ? []
      : [[`Not all readable: ${unreadableText(unreadable)}. The figures lack what they say.`, BAD] as const];
  const derived = restarted
    ? [['The opening is derived from the first entry: it does not follow from the day before.'] as const]
    : [];
  const sum = 'Opening plus credits minus debits is the closing.';
  if (verdict === 'broken') {
    const missing = missingIn(figures);
    const adds =
      missing === null
        ? 'Opening plus credits minus debits need not be the closing.'
        : `Opening plus credits minus debits is not the closing: a net ${grouped(missing)} is missing between them.`;
    return [
      [
        `Broken: ${counted(breakCount, 'break')}, where a balance does not follow from the one before.${laterText(figures)}`,
        BAD,
      ],
      [
        `${adds} What a person has explained since is in the manifest of the day: this file stays as it was published.`,
      ],
      ...lacking,
      ...derived,
    ];
  }
  const isEmpty = entriesIn(figures) === 0;
  const holds = isEmpty
    ? 'nothing was booked, and the balance stayed.'
    : `every balance follows from the one before${verdict === 'reordered' ? ', in another order than that of the times' : ''}.`;
  return [
    ...lacking,
    unreadable === 0 ? [`Proven: ${holds}`, GOOD] : [`Of what could be read: ${holds}`],
    ...(isEmpty ? [] : [[sum] as const]),
    ...derived,
  ];
}

/** Which of the breaks no entry of the day shows; empty where none is so. */
function laterText({ breakCount, breaksAfter }: StatedFigures): string {
  if (breaksAfter === 0) return '';
  const which =
    breakCount === 1
      ? 'It lies'
      : breaksAfter === breakCount
        ? `All ${breakCount} lie`
        : `${breaksAfter} of them ${breaksAfter === 1 ? 'lies' : 'lie'}`;
  return ` ${which} between the last balance of this day and the next entry, which is of a later day.`;
}

function proofSection(sheet: Sheet, { file, sha256 }: PublishedRevision): void {
  sheet.heading('Proof');
  sheet.paragraph(
    'This page shows the published CSV, which is the file that is proven. Anybody who has it can compute its SHA-256 and ' +
      'compare.',
  );
  sheet.facts([
    ['CSV', file, STYLE.mono],
    ['SHA-256 of the CSV', sha256, STYLE.mono],
  ]);
}

/** The latest of them are shown; the manifest has all. */
const EARLIER_SHOWN_MAX = 20;
const CHANGES_SHOWN_MAX = 100;

const EARLIER_COLUMNS: readonly Column[] = [
  { head: 'Revision', width: 44 },
  { head: 'Published', width: 118 },
  { head: 'Reason, CSV and its SHA-256', width: 337.28 },
];

async function earlierSection(sheet: Sheet, { earlier, zone }: StatementDay): Promise<void> {
  if (earlier.length === 0) return;
  sheet.heading('Earlier revisions');
  await sheet.table(
    EARLIER_COLUMNS,
    earlier
      .slice(-EARLIER_SHOWN_MAX)
      .reverse()
      .map(({ revision, publishedAt, reason, file, sha256 }): Row => ({
        cells: [
          String(revision),
          instantText(publishedAt, zone),
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

async function changesSection(sheet: Sheet, day: StatementDay, changes: Changes | null): Promise<void> {
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
  const rows = shown.flatMap(linesOfChange).map(([what, named]): Row => {
    const cells = day.columns.map(({ name }) => named[name] ?? '');
    return { cells: [what, ...entryCells(day, cells, at)] };
  });
  await sheet.table(CHANGE_COLUMNS, rows);
  const more = changes.rows.length - shown.length + changes.more;
  if (more > 0)
    sheet.paragraph(
      `And ${countText(more)} more; \`daybook statements diff DAY\` shows them all.`,
      STYLE.soft,
    );
}

async function entriesSection(
  sheet: Sheet,
  day: StatementDay,
  { shown, inAll }: { readonly shown: readonly RowCells[]; readonly inAll: number },
): Promise<void> {
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
  await sheet.table(ENTRY_COLUMNS, rows);
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

/** Entries that are listed; the CSV has all. */
export const ENTRIES_SHOWN_MAX = 1_000;

export async function* writePdf(day: StatementDay): AsyncGenerator<Uint8Array> {
  const { account, published } = day;
  const changes = await day.changes();
  const shown: RowCells[] = [];
  // All are read, as only their end proves that they are those published.
  for await (const rows of day.rows)
    if (shown.length < ENTRIES_SHOWN_MAX) shown.push(...rows.slice(0, ENTRIES_SHOWN_MAX - shown.length));
  const name = `${account.merchantNo} · ${account.currency} · ${day.day} · revision ${published.revision}`;
  const sheet = await createSheet({
    ...{ title: `Account statement ${name}`, foot: `Account statement ${name}`, at: published.publishedAt },
  });
  aboutDay(sheet, day);
  await figuresSection(sheet, day);
  proofSection(sheet, published);
  sheet.signOff();
  await earlierSection(sheet, day);
  if (day.earlier.length > 0) await changesSection(sheet, day, changes);
  await entriesSection(sheet, day, { shown, inAll: entriesIn(published.figures) });
  yield* sheet.end();
}
