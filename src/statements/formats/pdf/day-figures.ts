/** The first page of a day's statement: whose it is, its figures, its verdict in words, and what proves it. */
import { entriesIn } from '../../../ledger/chain/figures.ts';
import type { StatedFigures } from '../../../ledger/entry.ts';
import { grouped } from '../../../ledger/money.ts';
import { counted } from '../../../ledger/text.ts';
import type { PublishedRevision, StatementDay } from '../format.ts';
import { missingIn, unreadableText } from '../bank-amounts.ts';
import { COLOR, STYLE, type TextStyle } from './drawing.ts';
import type { Column, Row } from './table.ts';
import type { Sheet } from './sheet.ts';

export const GOOD: TextStyle = { ...STYLE.text, font: 'bold', color: COLOR.good };
export const BAD: TextStyle = { ...GOOD, color: COLOR.bad };

/** A count as it is read: `1,234`. */
export const countText = (count: number): string => grouped(String(count));

/** An instant in UTC. */
export const instantText = (at: Date): string => `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** `Tuesday, 31 March 2026` */
const longDay = (day: string): string =>
  new Date(`${day}T00:00:00Z`).toLocaleDateString('en-GB', { dateStyle: 'full', timeZone: 'UTC' });

/** `March 2026` */
export const longMonth = (month: string): string =>
  new Date(`${month}-01T00:00:00Z`).toLocaleDateString('en-GB', {
    ...{ month: 'long', year: 'numeric', timeZone: 'UTC' },
  });

export function aboutDay(sheet: Sheet, { account, day, zone, published, earlier }: StatementDay): void {
  const { revision, publishedAt, reason } = published;
  sheet.title('Account statement', `${longDay(day)} · ${account.currency}`);
  sheet.facts([
    ['Merchant', account.merchantNo],
    ['Currency', account.currency],
    ['Business day', zone === null ? day : `${day}, 00:00:00 to 23:59:59 of ${zone}`],
    [
      'Revision',
      earlier.length === 0
        ? String(revision)
        : `${revision}, in place of revision ${earlier.at(-1)!.revision}`,
    ],
    ['Published', instantText(publishedAt)],
    ...(reason === null ? [] : [['Reason', reason] as const]),
  ]);
}

const FIGURE_COLUMNS = (currency: string): readonly Column[] => [
  { head: '', width: 219.28 },
  { head: 'Entries', width: 110, isAmount: true },
  { head: `Amount in ${currency}`, width: 170, isAmount: true },
];

/** Opening, credits, debits and closing as a table; then what the chain of balances says of them. */
export function figuresSection(sheet: Sheet, { account, published }: StatementDay): void {
  const { figures } = published;
  const { opening, creditTotal, creditCount, debitTotal, debitCount, closing } = figures;
  const style: TextStyle = { ...STYLE.text, size: 10 };
  const row = (name: string, count: string, amount: string, own = style): Row => ({
    cells: [name, count, grouped(amount)],
    style: own,
  });
  sheet.heading('Figures');
  sheet.table(FIGURE_COLUMNS(account.currency), [
    row('Opening balance', '', opening),
    row('Credits', countText(creditCount), creditTotal),
    row('Debits', countText(debitCount), debitTotal),
    row('Closing balance', '', closing, { ...style, font: 'bold' }),
  ]);
  sheet.heading('Verdict');
  for (const [text, own] of verdictTexts(published)) sheet.paragraph(text, own);
}

/** The verdict in words: one line that says which, and what else a reader has to know. */
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

export function proofSection(sheet: Sheet, { file, sha256 }: PublishedRevision): void {
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
