/**
 * Makes up a merchant's ledger from a seed: balances that follow from each other, with what the scenario plants in
 * them.
 */
import { daysFromTo, dayWindow } from '../../ledger/business-day.ts';
import { minorUnitsOf, type Planted, type Scenario } from './scenario.ts';

export interface SandboxEntry {
  readonly batchNo: string;
  readonly merchantNo: string;
  readonly currency: string;
  busiType: string;
  /** A JSON number as it is sent; null in a debit. */
  inAmount: string | null;
  outAmount: string | null;
  vailAmount: string;
  readonly bookedMs: number;
  /** Shown from this instant on; Infinity: never. */
  visibleFromMs: number;
  /** Shown until this instant; Infinity: for ever. */
  visibleUntilMs: number;
  /** Shown with another transaction type from an instant on. */
  amendment: { readonly fromMs: number; readonly busiType: string } | null;
}

const BUSI_TYPES = ['SETTLE', 'PAYOUT', 'REFUND', 'FEE', 'FX', 'COLLECT'];
/** Batch numbers do not follow the order of entries. Multiples of the root modulo the prime never repeat. */
const BATCH_PRIME = 2_147_483_647;
const BATCH_ROOT = 48_271;

/** An amount in minor units as some platform may write it: plain, without trailing zeros, or with an exponent. */
function wireNumber(units: bigint, minorUnits: number, random: Random): string {
  const negative = units < 0n;
  const digits = (negative ? -units : units).toString().padStart(minorUnits + 1, '0');
  const sign = negative ? '-' : '';
  if (minorUnits === 0) {
    const thousands = /^([1-9]\d*)(000)$/.exec(digits);
    return thousands !== null && random() < 0.5 ? `${sign}${thousands[1]!}E+3` : sign + digits;
  }
  const plain = `${sign}${digits.slice(0, -minorUnits)}.${digits.slice(-minorUnits)}`;
  return random() < 0.5 ? plain : plain.replace(/0+$/, '').replace(/\.$/, '');
}

/** A JSON number such as `-0.1` or `1E+3`, in minor units. The scenario is checked for more decimals than these. */
export function unitsOf(text: string, minorUnits: number): bigint {
  const [mantissa = '', exponent = '0'] = text.toUpperCase().split('E');
  const [integer = '0', fraction = ''] = mantissa.replace('-', '').split('.');
  const shift = Number(exponent) + minorUnits - fraction.length;
  const units = BigInt(integer + fraction) * 10n ** BigInt(shift);
  return mantissa.startsWith('-') ? -units : units;
}

/** Every entry of a merchant, account by account in order of time, with what is planted. */
export function generateLedger(
  scenario: Scenario,
  merchantNo: string,
  currencies: readonly string[],
): SandboxEntry[] {
  const entries: SandboxEntry[] = [];
  let serial = Math.abs(hash(merchantNo)) % 1_000_000;
  const batchNo = (): string => {
    serial += 1;
    const mixed = Number((BigInt(serial) * BigInt(BATCH_ROOT)) % BigInt(BATCH_PRIME));
    return `SBX${String(mixed).padStart(10, '0')}${String(hash(merchantNo) % 1_000).padStart(3, '0')}`;
  };
  for (const currency of currencies) {
    const minorUnits = minorUnitsOf(currency);
    // An account begins with a balance of 0, and its first entry is a large credit.
    let endowment = BigInt(1 + (hash(merchantNo + currency) % 900)) * 10n ** BigInt(minorUnits + 4);
    let balance = 0n;
    for (const day of daysFromTo(scenario.from, scenario.to)) {
      const random = seeded(`${scenario.seed} ${merchantNo} ${currency} ${day}`);
      const { beginMs, endMs } = dayWindow(day, scenario.timeZone);
      const planted = scenario.planted.filter(
        (one) => one.merchant === merchantNo && one.currency === currency && one.day === day,
      );
      const seconds = bookingSeconds(
        scenario.entriesPerDay,
        Math.floor((endMs - beginMs + 1) / 1_000),
        random,
      );
      seconds.forEach((second, nth) => {
        const here = planted.filter((one) => one.nth === nth);
        const copies = 1 + here.reduce((sum, one) => sum + (one.what === 'burst' ? one.count : 0), 0);
        for (let copy = 0; copy < copies; copy += 1) {
          const exact = here.find((one) => one.what === 'amount');
          const net =
            exact === undefined
              ? endowment + netOf(random, endowment + balance, minorUnits)
              : unitsOf(exact.net, minorUnits);
          if (exact === undefined) endowment = 0n;
          balance += net;
          const amount =
            exact === undefined
              ? wireNumber(net < 0n ? -net : net, minorUnits, random)
              : exact.net.replace(/^-/, '');
          const entry: SandboxEntry = {
            batchNo: batchNo(),
            merchantNo,
            currency,
            busiType: BUSI_TYPES[below(random, BUSI_TYPES.length)]!,
            inAmount: net >= 0n ? amount : null,
            outAmount: net >= 0n ? null : amount,
            vailAmount: wireNumber(balance, minorUnits, random),
            bookedMs: beginMs + second * 1_000,
            visibleFromMs: Number.NEGATIVE_INFINITY,
            visibleUntilMs: Number.POSITIVE_INFINITY,
            amendment: null,
          };
          for (const one of here) plant(entry, one);
          entries.push(entry);
        }
      });
    }
  }
  return entries;
}

/** An entry of the ledger, as the merchant knows of it. */
export interface BookedEntry {
  readonly batchNo: string;
  readonly currency: string;
  readonly type: string;
  /** In minor units, a credit above zero. */
  readonly units: bigint;
  readonly bookedMs: number;
}

/** The entries that the platform shows for good by now. Those that no client can book are left out. */
export const bookedEntries = (entries: readonly SandboxEntry[], nowMs: number): BookedEntry[] =>
  entries
    .filter(
      ({ inAmount, outAmount, bookedMs, visibleFromMs, visibleUntilMs }) =>
        (inAmount === null) !== (outAmount === null) &&
        Math.max(bookedMs, visibleFromMs) <= nowMs &&
        visibleUntilMs === Number.POSITIVE_INFINITY,
    )
    .map(({ batchNo, currency, busiType, inAmount, outAmount, bookedMs }) => {
      const size = unitsOf((inAmount ?? outAmount)!, minorUnitsOf(currency));
      return { batchNo, currency, type: busiType, units: inAmount === null ? -size : size, bookedMs };
    });

function plant(entry: SandboxEntry, one: Planted): void {
  if (one.what === 'missing') entry.visibleFromMs = Number.POSITIVE_INFINITY;
  if (one.what === 'late') entry.visibleFromMs = Date.parse(one.appears);
  if (one.what === 'vanished') entry.visibleUntilMs = Date.parse(one.at);
  if (one.what === 'amended') entry.amendment = { fromMs: Date.parse(one.at), busiType: one.busiType };
  if (one.what === 'malformed') {
    entry.inAmount ??= entry.outAmount;
    entry.outAmount ??= entry.inAmount;
  }
}

/**
 * The seconds of a day that entries are booked at, in order. About one entry in seven shares its second with another.
 */
function bookingSeconds(count: number, dayS: number, random: Random): number[] {
  const seconds = Array.from({ length: count }, () => below(random, dayS)).sort((a, b) => a - b);
  return seconds
    .map((second, at) => (at > 0 && random() < 0.15 ? seconds[at - 1]! : second))
    .sort((a, b) => a - b);
}

/** Credits and debits that keep the balance well above zero. */
function netOf(random: Random, balance: bigint, minorUnits: number): bigint {
  const size = BigInt(1 + below(random, 500_000)) * (minorUnits === 3 ? 10n : 1n);
  const units = random() < 0.1 ? size * 1_000n : size;
  return random() < 0.5 && units < balance ? -units : units;
}

function hash(text: string): number {
  let state = 7;
  for (let at = 0; at < text.length; at += 1)
    state = (Math.imul(state, 31) + text.charCodeAt(at)) & 0x7fffffff;
  return state;
}

export type Random = () => number;

/** Numbers from 0 up to, not including, 1, from a text as seed. */
export function seeded(seed: string): Random {
  let state = 2_166_136_261;
  for (let at = 0; at < seed.length; at += 1) state = Math.imul(state ^ seed.charCodeAt(at), 16_777_619);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** An integer from 0 up to, not including, `count`. */
export const below = (random: Random, count: number): number => Math.floor(random() * count);

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/** A permutation of 0 to `count` - 1, as a function of the place; no list is kept. */
export function permutation(count: number, seed: string): (index: number) => number {
  if (count < 3) return (index) => index;
  const random = seeded(seed);
  let step = 1 + below(random, count - 1);
  while (gcd(step, count) !== 1) step += 1;
  const offset = below(random, count);
  return (index) => Number((BigInt(index) * BigInt(step) + BigInt(offset)) % BigInt(count));
}
