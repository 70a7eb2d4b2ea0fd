/** Amounts as formats of a bank want them: with no more decimals than their currency has by ISO 4217. */
import type { BusinessDay, StatedFigures } from '../../ledger/entry.ts';
import {
  createCurrencies,
  decimalsOf,
  addAmounts,
  compareAmounts,
  subtractAmounts,
} from '../../ledger/money.ts';
import { counted } from '../../ledger/text.ts';
import { addDays } from '../../ledger/business-day.ts';
import {
  type Places,
  type StatementDay,
  type StatementMonth,
  FormatTooSmall,
} from '../../statements/formats/format.ts';

const ISO_4217 = createCurrencies({});
function cut(amount: string, allowed: number | null): string | null {
  const tooMany = allowed === null ? 0 : decimalsOf(amount) - allowed;
  if (tooMany <= 0) return amount;
  if (/[^0]/.test(amount.slice(-tooMany))) return null;
  return amount.slice(0, -tooMany).replace(/\.$/, '');
}

export interface BankAmounts {
  /**
   * The amount with no zeros beyond the decimals of its currency; of a currency that ISO does not have, as it is. Throws
   * `FormatTooSmall` where it would have to be rounded. `what` names it, like `the amount 1.005 of entry B1`.
   */
  readonly inUnits: (amount: string, what: () => string) => string;
  /** Throws `FormatTooSmall` if a figure of the day would have to be rounded; names an entry where one is why. */
  readonly checkFigures: (at: Places) => Promise<void>;
}

/** The code that a format of banks writes. */
export const writtenCurrency = ({
  account,
  isoCurrency,
}: Pick<StatementDay, 'account' | 'isoCurrency'>): string => isoCurrency ?? account.currency;

export function bankAmounts(day: StatementDay, format: string): BankAmounts {
  const currency = writtenCurrency(day);
  const allowed = ISO_4217.minorUnits(currency);
  const refused = (what: string): FormatTooSmall =>
    new FormatTooSmall(
      day,
      format,
      `${what} has more decimals than ${currency} has, which are ${allowed ?? 0}`,
    );
  const inUnits = (amount: string, what: () => string): string => {
    const text = cut(amount, allowed);
    if (text === null) throw refused(what());
    return text;
  };
  const checkFigures = async (at: Places): Promise<void> => {
    const { opening, creditTotal, debitTotal, closing } = day.published.figures;
    const figures = { opening, closing, 'sum of credits': creditTotal, 'sum of debits': debitTotal };
    const found = Object.entries(figures).find(([, amount]) => cut(amount, allowed) === null);
    if (found === undefined) return;
    for await (const rows of day.rows)
      for (const cells of rows) {
        const amount = cells[at.credit]! || cells[at.debit]!;
        inUnits(amount, () => ofEntry(amount, cells[at.batchNo]!));
      }
    throw refused(`the ${found.join(' ')}`);
  };
  return { inUnits, checkFigures };
}

export const ofEntry = (amount: string, batchNo: string): string =>
  `the amount ${amount} of entry ${batchNo}`;

/** What opening + credits - debits lacks of the closing; null where they agree. */
export function missingIn({ opening, creditTotal, debitTotal, closing }: StatedFigures): string | null {
  const missing = subtractAmounts(closing, subtractAmounts(addAmounts(opening, creditTotal), debitTotal));
  return compareAmounts(missing, '0') === 0 ? null : missing;
}

/** `2 entries that may be of this day came and could not be read` */
export const unreadableText = (count: number, period = 'day'): string =>
  `${counted(count, 'entry', 'entries')} that may be of this ${period} came and could not be read`;

/** `month 2026-03 of the daily revisions 01-04 r1, 05 r2`; days without a statement are not there. */
function monthText({ name, days }: StatementMonth): string {
  const stretches: { from: BusinessDay; to: BusinessDay; revision: number }[] = [];
  for (const { day, revision } of days) {
    const last = stretches.at(-1);
    if (last?.revision === revision && addDays(last.to, 1) === day) last.to = day;
    else stretches.push({ from: day, to: day, revision });
  }
  const named = stretches.map(
    ({ from, to, revision }) => `${from.slice(-2)}${from === to ? '' : `-${to.slice(-2)}`} r${revision}`,
  );
  return `month ${name} of the daily revisions ${named.join(', ')}`;
}

/** The revision, the verdict, the breaks, what could not be read, by how much the figures do not add up, and where the opening is from. */
export function notesOf({
  published,
  since,
  month,
  account,
  isoCurrency,
}: Pick<StatementDay, 'published' | 'since' | 'month' | 'account' | 'isoCurrency'>): string[] {
  const { figures, unreadable, revision } = published;
  const head = `daybook ${month === undefined ? `revision ${revision}` : monthText(month)}`;
  const name = isoCurrency === undefined ? head : `${head}, ${account.currency} is written as ${isoCurrency}`;
  const { verdict, breakCount, breaksAfter, restarted, otherClosings } = figures;
  const missing = missingIn(figures);
  if (since !== undefined)
    return [
      name,
      `only what changed since ${since === 0 ? 'the day had no statement' : `revision ${since}`}`,
      ...(missing === null
        ? []
        : [`a net ${missing} comes from a changed opening or a break, not from these entries`]),
    ];
  return [
    ...[name, verdict, `breaks: ${breakCount}`],
    ...(breaksAfter === 0
      ? []
      : [`${breaksAfter} of them between the last balance of the day and the next entry`]),
    ...(unreadable === 0
      ? []
      : [`${unreadableText(unreadable, month && 'month')}: the figures lack what they say`]),
    ...(missing === null ? [] : [`a net ${missing} is missing between opening and closing`]),
    ...(restarted ? ['opening derived from the first entry'] : []),
    ...(otherClosings === undefined
      ? []
      : [`may close on ${otherClosings.join(' or ')} as well: nothing decides`]),
  ];
}
