/** Finds what many amended entries have in common: one change of the platform's, rather than one of each entry. Pure. */
import type { LedgerEntry } from './entry.ts';
import { addAmounts, compareAmounts, decimalsOf, fromScaled, subtractAmounts, toScaled } from './money.ts';

/** An entry before and after the platform changed it. */
export interface ContentChange {
  readonly before: LedgerEntry;
  readonly after: LedgerEntry;
}

/** Fewer entries than this are reported one by one. */
export const MANY_MIN = 3;
/** At least this share of them has to have changed in the same way. */
const COMMON_SHARE = 0.9;

export interface CommonChange {
  readonly count: number;
  /** The end of a sentence that begins with the entries: `have another transaction type`. */
  readonly what: string;
}

/** The change that nearly all of them have in common; null if they have none, or are few. */
export function commonChange(changes: readonly ContentChange[]): CommonChange | null {
  if (changes.length < MANY_MIN) return null;
  const counts = new Map<string, number>();
  for (const change of changes) {
    for (const what of changeTexts(change)) counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, a], [, b]) => b - a);
  if (most === undefined || most[1] < changes.length * COMMON_SHARE) return null;
  return { count: most[1], what: most[0] };
}

/** All that the change may be: where an amount has no decimals to lose, its balance alone shows that both were rounded. */
function changeTexts(change: ContentChange): readonly string[] {
  const what = changeText(change);
  if (what === null) return [];
  return what === roundedAs('balances') && usedDecimals(netOf(change.after)) === 0
    ? [what, roundedAs('amounts and balances')]
    : [what];
}

function changeText(change: ContentChange): string | null {
  const { before, after } = change;
  const isSame = {
    currency: before.currency === after.currency,
    type: before.transactionType === after.transactionType,
    time: before.bookedAt === after.bookedAt,
    net: isEqual(netOf(before), netOf(after)),
    balance: isEqual(before.balance, after.balance),
  };
  const differing = Object.entries(isSame).flatMap(([field, same]) => (same ? [] : [field]));
  const [only] = differing;
  if (differing.length === 1 && only === 'type') return 'have another transaction type';
  if (differing.length === 1 && only === 'currency') return 'have another currency code';
  if (differing.length === 1 && only === 'time') return timeText(change);
  if (differing.length === 1 && only === 'balance') return balanceText(change);
  return differing.every((field) => field === 'net' || field === 'balance')
    ? amountText(change, isSame)
    : null;
}

function timeText({ before, after }: ContentChange): string {
  if (after.bookedAt.endsWith('00:00:00')) return 'have a timestamp at midnight, without the time of day';
  const minutes = Math.round((after.bookedMs - before.bookedMs) / 60_000);
  const amount = Math.abs(minutes);
  const size = amount % 60 === 0 ? `${amount / 60} h` : `${amount} min`;
  return `have a timestamp ${size} ${minutes > 0 ? 'later' : 'earlier'}`;
}

function balanceText({ before, after }: ContentChange): string {
  if (isEqual(after.balance, '0')) return 'have a balance of 0 now, with the amounts as before';
  if (isEqual(after.balance, subtractAmounts(before.balance, netOf(before))))
    return 'have the balance before the entry now, where it was the one after it';
  if (isEqual(addAmounts(after.balance, before.balance), '0'))
    return 'have the balance with the opposite sign, with the amounts as before';
  return (
    factorText(before.balance, after.balance, 'balances') ??
    roundedText('balances', [balancesOf(before, after)]) ??
    'have another balance, with the amounts as before'
  );
}

const balancesOf = (before: LedgerEntry, after: LedgerEntry): readonly [string, string] => [
  before.balance,
  after.balance,
];

function amountText({ before, after }: ContentChange, isSame: { readonly balance: boolean }): string | null {
  const [was, is] = [netOf(before), netOf(after)];
  if (isSame.balance && isEqual(addAmounts(was, is), '0')) return 'have credit and debit swapped';
  const kind = isSame.balance ? 'amounts' : 'amounts and balances';
  const factor = factorText(was, is, kind);
  if (factor !== null && (isSame.balance || factorText(before.balance, after.balance, kind) === factor))
    return factor + (isSame.balance ? ', and the balances as before' : '');
  return roundedText('amounts and balances', [[was, is], balancesOf(before, after)]);
}

/** Factors that wrong units make: 10 to the power of up to 3, either way. */
function factorText(was: string, is: string, what: string): string | null {
  if (isEqual(was, '0') || isEqual(was, is)) return null;
  for (const power of [2, 3, 1]) {
    const factor = 10n ** BigInt(power);
    if (isEqual(times(was, factor), is)) return `have ${what} ${factor} times as large`;
    if (isEqual(times(is, factor), was)) return `have ${what} divided by ${factor}`;
  }
  return null;
}

/** Amounts that changed by less than one, none of which has more decimals than before, and one of which has fewer. */
function roundedText(what: string, pairs: readonly (readonly [string, string])[]): string | null {
  const isNear = ([was, is]: readonly [string, string]): boolean =>
    compareAmounts(subtractAmounts(was, is).replace('-', ''), '1') < 0;
  const lost = pairs.map(([was, is]) => usedDecimals(was) - usedDecimals(is));
  const isRounded =
    pairs.every(isNear) && lost.every((count) => count >= 0) && lost.some((count) => count > 0);
  return isRounded ? roundedAs(what) : null;
}

const roundedAs = (what: string): string => `have ${what} rounded to fewer decimals`;

/** Without trailing zeros. */
const usedDecimals = (amount: string): number =>
  decimalsOf(amount.includes('.') ? amount.replace(/\.?0+$/, '') : amount);
/** What the entry adds to its account's balance. */
export const netOf = ({ credit, debit }: Pick<LedgerEntry, 'credit' | 'debit'>): string =>
  credit ?? subtractAmounts('0', debit!);
const isEqual = (a: string, b: string): boolean => compareAmounts(a, b) === 0;
const times = (amount: string, factor: bigint): string => {
  const decimals = decimalsOf(amount);
  return fromScaled(toScaled(amount, decimals) * factor, decimals);
};
