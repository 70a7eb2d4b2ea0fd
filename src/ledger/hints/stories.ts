/** Describes breaks in sentences for a person. Breaks with one cause are described together, once. */
import { isEvidence } from './evidence.ts';
import { factorBetween } from './patterns.ts';
import type { Account, BreakHint, BusinessDay, ContinuityBreak } from '../entry.ts';
import { compareAmounts, moneyText, subtractAmounts } from '../money.ts';

export interface KnownBreak extends ContinuityBreak {
  readonly id: number;
  readonly account: Account;
  readonly isHealed: boolean;
}

export interface BreakStory<Break extends KnownBreak = KnownBreak> {
  readonly breaks: readonly Break[];
  /** The account days that they lie in: `M1 USD 2026-03-02`. */
  readonly where: string;
  readonly cause: string;
}

/** Breaks with these hints make one story per account day, or one story for all accounts of a merchant. */
const NAMED_BY_DAY: readonly BreakHint[] = ['below-minor-unit'];
const NAMED_ACROSS_ACCOUNTS: readonly BreakHint[] = ['in-another-currency', 'amended-entry'];
/** Breaks with these hints each make a story of their own. */
const NAMED_ALONE: readonly BreakHint[] = [
  'equals-neighbour',
  'twice-neighbour',
  'amount-off',
  'unexplained',
];

/** Whether the hint names a cause, rather than only what may be missing at this one break. */
export const isCauseKnown = ({ hint }: Pick<ContinuityBreak, 'hint'>): boolean => !NAMED_ALONE.includes(hint);

/** Groups breaks by cause. The stories are in the order of their first breaks. */
export function storiesOf<Break extends KnownBreak>(breaks: readonly Break[]): BreakStory<Break>[] {
  return [...Map.groupBy(breaks, causeKey).values()].map((own) => ({
    breaks: own,
    where: placesName(own),
    cause: causeText(own),
  }));
}

function causeKey(one: KnownBreak): string {
  const { account, day, hint, hintBatchNo, id } = one;
  // Evidence that names no single entry is about the entries of this one span.
  if (!isCauseKnown(one) || (isEvidence(hint) && hintBatchNo === null)) return String(id);
  // The hint of each break of the pair names the entry of the other.
  if (hint === 'offset-by-later-break') return pairKey(account, one.beforeBatchNo, hintBatchNo);
  if (hint === 'offsets-earlier-break') return pairKey(account, hintBatchNo, one.beforeBatchNo);
  return JSON.stringify([
    hint,
    account.merchantNo,
    NAMED_ACROSS_ACCOUNTS.includes(hint) ? null : account.currency,
    NAMED_BY_DAY.includes(hint) ? day : null,
    hintBatchNo,
  ]);
}

const pairKey = ({ merchantNo, currency }: Account, earlier: string | null, later: string | null): string =>
  JSON.stringify(['pair', merchantNo, currency, earlier, later]);

function placesName(breaks: readonly KnownBreak[]): string {
  const days = new Set(breaks.map(({ account, day }) => dayName(account, day)));
  return [...days].join(' and ');
}

const dayName = ({ merchantNo, currency }: Account, day: BusinessDay): string =>
  `${merchantNo} ${currency} ${day}`;

/** Where the balance jumps (or jumped, if the break is healed), and by how much. */
export function jumpText(found: KnownBreak): string {
  const after = found.afterBatchNo ?? 'the start';
  const money = (amount: string): string => moneyText(amount, found.account.currency);
  const [is, starts] = found.isHealed ? ['was', 'started'] : ['is', 'starts'];
  return (
    `After ${after} the balance ${is} ${money(found.expectedBalance)}, but ${found.beforeBatchNo} ` +
    `${starts} from ${money(found.foundBalance)}: ${netText(found)} ${lackText(found)}`
  );
}

/** `a net debit of 12.30 EUR`. */
export const netText = (found: KnownBreak): string =>
  `a net ${found.missingNet.startsWith('-') ? 'debit' : 'credit'} of ${sizeText(found)}`;

/** `12.30 EUR`, without a sign. */
const sizeText = (found: KnownBreak): string => moneyText(amountOf(found), found.account.currency);

/** Says what is missing. Nothing is missing any more if the break is healed, or if a known entry explains it. */
function lackText({ isHealed, hint }: KnownBreak): string {
  if (isHealed) return 'was unexplained between these two entries; the balance carries forward there now.';
  const isKept = hint === 'quarantined-entry' || hint === 'vanished-entry';
  return isKept
    ? 'between these two entries is not in the chain.'
    : 'is unexplained between these two entries.';
}

/** One break and its likely cause. The cause of a healed break no longer matters and is left out. */
export const explain = (found: KnownBreak): string =>
  found.isHealed ? jumpText(found) : `${jumpText(found)} ${causeText([found])}`;

export const causeOf = (found: KnownBreak): string => causeText([found]);

const amountOf = ({ missingNet }: ContinuityBreak): string =>
  missingNet.startsWith('-') ? subtractAmounts('0', missingNet) : missingNet;

/**
 * The likely cause of breaks with one hint. If the other breaks of that cause are not given, the text needs only this
 * one.
 */
const causeText = (breaks: readonly KnownBreak[]): string => CAUSES[breaks[0]!.hint](breaks, breaks[0]!);

type Cause = (breaks: readonly KnownBreak[], first: KnownBreak) => string;

const named = ({ hintBatchNo }: ContinuityBreak): string => hintBatchNo ?? 'an entry';
const gapName = ({ afterBatchNo, beforeBatchNo }: ContinuityBreak): string =>
  afterBatchNo === null ? `before ${beforeBatchNo}` : `between ${afterBatchNo} and ${beforeBatchNo}`;
/** The break right before the entry that a hint names, and the one right after it. */
const breakInto = (breaks: readonly KnownBreak[], batchNo: string | null): KnownBreak | undefined =>
  breaks.find(({ beforeBatchNo }) => beforeBatchNo === batchNo);
const breakBehind = (breaks: readonly KnownBreak[], batchNo: string | null): KnownBreak | undefined =>
  breaks.find(({ afterBatchNo }) => afterBatchNo === batchNo);
const isSame = (a: string, b: string): boolean => compareAmounts(a, b) === 0;

function outOfPlace(breaks: readonly KnownBreak[], first: KnownBreak): string {
  const entry = named(first);
  const into = breakInto(breaks, first.hintBatchNo);
  const out = breaks.find((one) => one !== into && into && isSame(one.foundBalance, into.expectedBalance));
  if (into !== undefined && out === undefined && breaks.length === 2) return lastOutOfPlace(into, breaks);
  const gap = breaks.find((one) => one !== into && one !== out);
  if (into === undefined || out === undefined || gap === undefined) {
    return `The timestamp of ${entry} is wrong: moved to another place of its account, the chain holds.`;
  }
  const isOne = out.afterBatchNo === entry;
  const entries = isOne ? entry : `the entries from ${entry} to ${out.afterBatchNo!}`;
  return (
    `The ${isOne ? 'timestamp' : 'timestamps'} of ${entries} ${isOne ? 'is' : 'are'} wrong: moved to where ` +
    `${isOne ? 'it fits' : 'they fit'} exactly, ${gapName(gap)}, the chain holds.`
  );
}

function lastOutOfPlace(into: KnownBreak, breaks: readonly KnownBreak[]): string {
  const gap = breaks.find((one) => one !== into)!;
  return (
    `The timestamp of ${into.beforeBatchNo} is wrong, and so are those of any entries booked after it: moved to where ` +
    `they fit exactly, ${gapName(gap)}, the chain holds.`
  );
}

function notHere(breaks: readonly KnownBreak[], first: KnownBreak): string {
  const last = breaks.at(-1)!.afterBatchNo;
  const entry = named(first);
  if (breaks.length === 1 || last === null || last === entry) {
    return (
      `Without ${entry} the chain holds: it belongs to another merchant or account, or its timestamp is wrong, or ` +
      'entries are missing on both sides of it.'
    );
  }
  return (
    `Without the entries from ${entry} to ${last} the chain holds: they belong to another merchant or account, or their ` +
    'timestamps are wrong, or entries are missing on both sides of them.'
  );
}

function amountsInOtherUnit(breaks: readonly KnownBreak[], first: KnownBreak): string {
  const [{ expectedBalance, foundBalance }, next] = [first, breaks[1]];
  const factor =
    next === undefined
      ? null
      : factorBetween(
          subtractAmounts(next.expectedBalance, expectedBalance),
          subtractAmounts(next.expectedBalance, foundBalance),
        );
  if (factor === null)
    return `The amount of ${first.beforeBatchNo} and those next to it are in another unit than their balances.`;
  return `The amounts from ${named(first)} to ${breaks.at(-1)!.beforeBatchNo} are ${unitText(factor)}`;
}

function figuresInOtherUnit(breaks: readonly KnownBreak[], first: KnownBreak): string {
  const factor = factorBetween(first.expectedBalance, first.foundBalance)!;
  const to = breaks.length > 1 ? ` to ${breaks[1]!.afterBatchNo!}` : ' on';
  return `Amounts and balances from ${first.beforeBatchNo}${to} are ${unitText(factor)}`;
}

const unitText = (factor: number): string =>
  factor > 0
    ? `${factor} times too large, as if in minor units: divided by ${factor}, the chain holds.`
    : `${-factor} times too small, as if in a larger unit: multiplied by ${-factor}, the chain holds.`;

function inAnotherCurrency(breaks: readonly KnownBreak[], first: KnownBreak): string {
  const entry = named(first);
  const standsIn = breaks.find(
    ({ afterBatchNo, beforeBatchNo }) => afterBatchNo === entry || beforeBatchNo === entry,
  );
  const gap = breaks.find(({ account }) => account.currency !== standsIn?.account.currency);
  if (standsIn === undefined && breaks.length === 1) {
    return (
      `The currency of ${entry} is wrong: it is the first in its account, and fits exactly in ${first.account.currency} ` +
      `${gapName(first)}.`
    );
  }
  if (standsIn === undefined || gap === undefined) {
    return `The currency of ${entry} is wrong: in another currency of the merchant it fits exactly, and here it does not.`;
  }
  return (
    `The currency of ${entry} is wrong: it stands in ${standsIn.account.currency}, and fits exactly in ` +
    `${gap.account.currency} ${gapName(gap)}.`
  );
}

function balanceOff(breaks: readonly KnownBreak[], first: KnownBreak): string {
  const entry = named(first);
  const into = breakInto(breaks, first.hintBatchNo);
  const other =
    into?.missingNet.startsWith('-') === true
      ? ', or an amount was on hold just while this entry was booked'
      : '';
  return (
    `The balance of ${entry} is wrong by ${sizeText(first)} and every other figure fits, or the amounts of ${entry} and of ` +
    `the entry after it are wrong${other}.`
  );
}

/** The entry after the one that the hint names, if the break between the two is given. */
const follower = (breaks: readonly KnownBreak[], { hintBatchNo }: KnownBreak): string =>
  breakBehind(breaks, hintBatchNo)?.beforeBatchNo ?? 'the entry after it';

const pairOf = (breaks: readonly KnownBreak[], first: KnownBreak): string =>
  `${named(first)} and ${follower(breaks, first)}`;

function offset(breaks: readonly KnownBreak[], first: KnownBreak): string {
  const isEarlier = first.hint === 'offset-by-later-break';
  const [from, to] = isEarlier ? [first.beforeBatchNo, named(first)] : [named(first), first.beforeBatchNo];
  const other = breaks.length > 1 ? 'the other' : isEarlier ? 'a later break' : 'an earlier break';
  return (
    `One break cancels ${other} exactly: ${pairCause(breaks, first, isEarlier)}, or every balance from ${from} up ` +
    `to ${to} is wrong by ${sizeText(first)}.`
  );
}

/** A hold lowers the available balance first; an amount that came first was not on hold. */
function pairCause(breaks: readonly KnownBreak[], first: KnownBreak, isEarlier: boolean): string {
  const earlier = isEarlier ? first : breaks.find(({ hint }) => hint === 'offset-by-later-break');
  const isLowered = (earlier ?? first).missingNet.startsWith('-') === (earlier !== undefined);
  const pair = 'two entries are missing, such as a payment and its refund';
  return isLowered ? `${pair}, or a hold that was placed and released` : pair;
}

const quarantinedName = (batchNo: string | null, verb: string): string =>
  batchNo === null ? `What is quarantined there ${verb}` : `Quarantined entry ${batchNo} ${verb}`;

const CAUSES: Readonly<Record<BreakHint, Cause>> = {
  'vanished-entry': (_, { hintBatchNo }) =>
    hintBatchNo === null
      ? 'Entries that vanished explain it together: the platform showed them there, and shows them no longer (`daybook amendments`).'
      : `Vanished entry ${hintBatchNo} explains it: the platform showed exactly that amount there, and shows it no longer ` +
        '(`daybook amendments`).',
  'vanished-in-span': (_, { hintBatchNo }) =>
    hintBatchNo === null
      ? 'Entries that the platform no longer shows for that period may be part of it (`daybook amendments`).'
      : `Vanished entry ${hintBatchNo} may be part of it: the platform showed it in that period, and shows it no longer ` +
        '(`daybook amendments`).',
  'amended-entry': (_, { hintBatchNo }) =>
    hintBatchNo === null
      ? 'Entries that the platform amended explain it together: with their earlier contents the chain holds (`daybook amendments`).'
      : `Amended entry ${hintBatchNo} explains it: with the content that the platform showed before, the chain holds ` +
        '(`daybook amendments`).',
  'amended-in-span': (_, { hintBatchNo }) =>
    `${hintBatchNo === null ? 'Entries that the platform amended there' : `Amended entry ${hintBatchNo}`} may be part of it ` +
    '(`daybook amendments`).',
  'several-changes': () =>
    'Known changes in that period explain it together: entries that vanished, were amended or cannot be read ' +
    '(`daybook amendments`, `daybook quarantine`).',
  'quarantined-entry': (_, { hintBatchNo }) =>
    `${quarantinedName(hintBatchNo, 'explains')} it: the platform sends exactly that amount there, in an entry that ` +
    'cannot be read as one (`daybook quarantine`).',
  'quarantined-in-span': (_, { hintBatchNo }) =>
    `${quarantinedName(hintBatchNo, 'may be')} what is not in the chain, or part of it: the platform sends it in that period, ` +
    'and it cannot be read as an entry (`daybook quarantine`).',
  'below-minor-unit': (breaks) =>
    `${breaks.length === 1 ? 'It is' : 'Each of them is'} below one minor unit: amounts or balances carry the noise of a ` +
    'floating-point number.',
  'same-balance': (breaks, first) =>
    `The entries from ${named(first)} to ${breaks.at(-1)!.beforeBatchNo} show the same balance, whatever their amounts: ` +
    'the balance of one moment is shown for all of them.',
  'balances-before': (_, first) =>
    `From ${named(first)} on, entries show the balance before them in place of the one after them: read so, the chain holds.`,
  'amounts-in-other-unit': amountsInOtherUnit,
  'figures-in-other-unit': figuresInOtherUnit,
  'entry-out-of-place': outOfPlace,
  'entries-trade-places': (breaks, first) =>
    `The timestamp of ${named(first)} or of ${follower(breaks, first)} is wrong: in the other order the chain holds.`,
  'in-another-currency': inAnotherCurrency,
  'entry-does-not-belong': notHere,
  'balance-off': balanceOff,
  'balances-swapped': (breaks, first) =>
    `The balances of ${pairOf(breaks, first)} are wrong: each shows the other’s, and swapped the chain holds.`,
  'amounts-swapped': (breaks, first) =>
    `The amounts of ${pairOf(breaks, first)} are wrong: each shows the other’s, and swapped the chain holds.`,
  'offset-by-later-break': offset,
  'offsets-earlier-break': offset,
  'equals-neighbour': (_, first) =>
    `It equals the amount of ${named(first)}: perhaps that entry is there twice, or a second entry like it is missing.`,
  'twice-neighbour': (_, first) =>
    `It is twice the amount of ${named(first)}: perhaps credit and debit are swapped there.`,
  'amount-off': (_, found) =>
    `Most likely the amount of ${found.beforeBatchNo} is wrong by ${sizeText(found)}. Otherwise one or more entries are missing ` +
    `between the two, or carry another time, or every balance from ${found.beforeBatchNo} on is wrong by that amount.`,
  unexplained: (_, found) =>
    'Most likely one or more entries are missing between the two, or carry another time. Otherwise the amount of ' +
    `${found.beforeBatchNo} is wrong by ${sizeText(found)}, or every balance from ${found.beforeBatchNo} on is.`,
};
