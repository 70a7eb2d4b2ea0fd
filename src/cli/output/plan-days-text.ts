/**
 * Words the account days of a `plan`: one line for each new day; for other days one line for each figure that
 * changes.
 */
import type { SeenFigures } from '../../reconcile/reconcile.ts';
import type { PlannedDay } from '../../run/plan-days.ts';
import { counted, lines, table } from './text.ts';

/** `width` is that of the terminal if left out. */
export function plannedDaysText(days: readonly PlannedDay[], width?: number): string {
  if (days.length === 0) return 'no account day would change';
  const fresh = days.filter(({ before }) => before === null);
  const changed = days.filter(({ before }) => before !== null);
  const withheld = days.filter((day) => day.withheld !== null);
  return lines(
    fresh.length > 0 && `${counted(fresh.length, 'account day')} would be new:`,
    fresh.length > 0 && freshTable(fresh, width),
    fresh.length > 0 && changed.length > 0 && '',
    changed.length > 0 && `${counted(changed.length, 'account day')} would change:`,
    changed.length > 0 && changedTable(changed, width),
    ...withheld.map((day) => `${nameOf(day)} would not be published: ${day.withheld!}`),
  );
}

const nameOf = ({ account: { merchantNo, currency }, day }: PlannedDay): string =>
  `${merchantNo} ${currency} ${day}`;

/** Sum and count of the credits or of the debits. */
const side = (total: string, count: number): string => `${total} (${count})`;
const credits = ({ creditTotal, creditCount }: SeenFigures): string => side(creditTotal, creditCount);
const debits = ({ debitTotal, debitCount }: SeenFigures): string => side(debitTotal, debitCount);
const revision = (number: number | null): string => (number === null ? 'none' : `r${number}`);

const freshTable = (days: readonly PlannedDay[], width?: number): string =>
  table(
    [
      ...['merchant', 'day', 'account', '?>credits', '?>debits', '>closing', 'verdict'],
      ...['>breaks', 'revision'],
    ],
    days.map(({ account: { merchantNo, currency }, day, after, revision: { after: number } }) => [
      merchantNo,
      day,
      currency,
      credits(after),
      debits(after),
      after.closing,
      after.verdict,
      after.breakCount,
      revision(number),
    ]),
    width,
  );

const changedTable = (days: readonly PlannedDay[], width?: number): string =>
  table(
    ['merchant', 'day', 'account', 'figure', '>now', '>then'],
    days.flatMap((day) =>
      changesIn(day).map((cells, at) => [
        ...(at === 0 ? [day.account.merchantNo, day.day, day.account.currency] : ['', '', '']),
        ...cells,
      ]),
    ),
    width,
  );

type Change = readonly [figure: string, now: string, then: string];

/** The figures that differ, and always the revision. If no figure differs, the rows of the statement do. */
function changesIn({ before: now, after: then, revision: { before, after } }: PlannedDay): Change[] {
  const spelled: Change[] = [
    ['opening', now!.opening, then.opening],
    ['credits', credits(now!), credits(then)],
    ['debits', debits(now!), debits(then)],
    ['closing', now!.closing, then.closing],
    ['verdict', now!.verdict, then.verdict],
    ['breaks', String(now!.breakCount), String(then.breakCount)],
  ];
  const moved = spelled.filter(([, one, other]) => one !== other);
  const rows: Change =
    before === null ? ['rows', 'not published', 'published'] : ['rows', 'as published', 'other content'];
  return [...(moved.length > 0 ? moved : [rows]), ['revision', revision(before), revision(after)]];
}
