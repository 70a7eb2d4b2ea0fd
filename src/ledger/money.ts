/** Exact money: decimal text outside, scaled bigint inside, never a JS number. */
import { data as isoCurrencies } from 'currency-codes';

/**
 * The most digits before the point, and after it, that an amount from the platform may have. No real ledger comes
 * near. Sums, PostgreSQL's numeric and statements can all carry far more, so calculated amounts need no limit of
 * their own.
 */
export const INTEGER_DIGITS_MAX = 30;
export const DECIMALS_MAX = 30;
/** The most digits that a number with an exponent may expand to, so that 1E+400000 costs no memory. */
const EXPANDED_DIGITS_MAX = INTEGER_DIGITS_MAX + DECIMALS_MAX;

/** A currency code as ISO 4217 writes them, in the list of ISO or not. */
export const CURRENCY_CODE = /^[A-Z]{3}$/;

export interface Currencies {
  /** The minor units of a currency (ISO 4217), or null if it has none, as gold, or if the code is not known. */
  readonly minorUnits: (code: string) => number | null;
  /** Whether the code is on a list, though it may have no minor units. */
  readonly isKnown: (code: string) => boolean;
}

/** Codes of ISO 4217 that the package lacks: the Caribbean guilder and the Arab accounting dinar. */
const NEWER = { XCG: 2, XAD: 2 };
/** Metals, units of account and tests, to which ISO 4217 gives no minor unit. */
const WITHOUT_UNIT = [
  'XAG',
  'XAU',
  'XBA',
  'XBB',
  'XBC',
  'XBD',
  'XDR',
  'XPD',
  'XPT',
  'XSU',
  'XTS',
  'XUA',
  'XXX',
];

/**
 * Currencies of ISO 4217, plus codes in use that ISO does not have. `extra` maps a code to its minor units: `{ CNH: 2
 * }`.
 */
export function createCurrencies(extra: Readonly<Record<string, number>>): Currencies {
  const units = new Map<string, number | null>(isoCurrencies.map(({ code, digits }) => [code, digits]));
  for (const code of WITHOUT_UNIT) units.set(code, null);
  for (const [code, digits] of Object.entries({ ...NEWER, ...extra })) units.set(code, digits);
  return { minorUnits: (code) => units.get(code) ?? null, isKnown: (code) => units.has(code) };
}

const PLAIN = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d{1,6}))?$/;

/**
 * The digits of a JSON number without its exponent: `1E+3` gives `1000`. Null if the text is no number, or if its
 * exponent makes it longer than 60 digits. A number without an exponent may have any length.
 */
export function plainDecimal(digits: string): string | null {
  if (PLAIN.test(digits)) return digits === '-0' ? '0' : digits;
  const match = NUMBER.exec(digits);
  if (match === null) return null;
  const [, sign = '', integer = '', fraction = '', exponentText = '0'] = match;
  const all = integer + fraction;
  const point = integer.length + Number(exponentText);
  if (Math.max(point, all.length) - Math.min(point, 0) > EXPANDED_DIGITS_MAX) return null;
  const padded = point <= 0 ? '0'.repeat(1 - point) + all : all.padEnd(point, '0');
  const at = Math.max(point, 1);
  const left = padded.slice(0, at).replace(/^0+(?=\d)/, '');
  const right = padded.slice(at);
  return sign + left + (right === '' ? '' : `.${right}`);
}

/** Whether a plain decimal has no more digits than an amount from the platform may have. */
export function isWithinDigits(amount: string): boolean {
  const decimals = decimalsOf(amount);
  const integer = amount.length - (decimals === 0 ? 0 : decimals + 1) - (amount.startsWith('-') ? 1 : 0);
  return integer <= INTEGER_DIGITS_MAX && decimals <= DECIMALS_MAX;
}

/** `-1234567.50` as `-1,234,567.50`: every digit stays. */
export function grouped(amount: string): string {
  const [integer = '', ...fraction] = amount.split('.');
  return [integer.replace(/\B(?=(\d{3})+$)/g, ','), ...fraction].join('.');
}

/** An amount in a sentence: `41,932.70 EUR`. */
export const moneyText = (amount: string, currency: string): string => `${grouped(amount)} ${currency}`;

/** How many decimals a plain decimal has. */
export function decimalsOf(amount: string): number {
  const point = amount.indexOf('.');
  return point === -1 ? 0 : amount.length - point - 1;
}

/**
 * The amount in its one canonical form: padded to the currency's minor units, and longer only by significant
 * decimals (then `excess` is true). If the minor units are unknown (null), the decimals stay as sent. Null if `digits`
 * is no number.
 */
export function canonicalAmount(
  digits: string,
  minorUnits: number | null,
): { readonly amount: string; readonly excess: boolean } | null {
  const plain = plainDecimal(digits);
  if (plain === null) return null;
  const unsigned = /^-0(?:\.0*)?$/.test(plain) ? plain.slice(1) : plain;
  if (minorUnits === null) return { amount: unsigned, excess: false };
  const decimals = decimalsOf(unsigned);
  if (decimals === minorUnits) return { amount: unsigned, excess: false };
  if (decimals < minorUnits) {
    const dotted = decimals === 0 ? `${unsigned}.` : unsigned;
    return { amount: dotted + '0'.repeat(minorUnits - decimals), excess: false };
  }
  let end = unsigned.length;
  const keep = end - (decimals - minorUnits);
  while (end > keep && unsigned[end - 1] === '0') end -= 1;
  if (unsigned[end - 1] === '.') end -= 1;
  return { amount: unsigned.slice(0, end), excess: end > keep };
}

/** `amount` times 10^scale. Throws if the amount has more decimals than `scale`, because nothing is ever rounded. */
export function toScaled(amount: string, scale: number): bigint {
  const decimals = decimalsOf(amount);
  if (decimals > scale) throw new RangeError(`${amount} has more than ${scale} decimals`);
  const digits = decimals === 0 ? amount : amount.replace('.', '');
  return BigInt(decimals === scale ? digits : digits + '0'.repeat(scale - decimals));
}

/** The plain decimal of a scaled value, with exactly `scale` decimals. */
export function fromScaled(value: bigint, scale: number): string {
  if (scale === 0) return value.toString();
  const negative = value < 0n;
  const digits = (negative ? -value : value).toString().padStart(scale + 1, '0');
  const at = digits.length - scale;
  return `${negative ? '-' : ''}${digits.slice(0, at)}.${digits.slice(at)}`;
}

const combine = (a: string, b: string, operation: (a: bigint, b: bigint) => bigint): string => {
  const scale = Math.max(decimalsOf(a), decimalsOf(b));
  return fromScaled(operation(toScaled(a, scale), toScaled(b, scale)), scale);
};

/** Exact sum, with as many decimals as the longer of the two. */
export const addAmounts = (a: string, b: string): string => combine(a, b, (x, y) => x + y);

/** Exact difference, with as many decimals as the longer of the two. */
export const subtractAmounts = (a: string, b: string): string => combine(a, b, (x, y) => x - y);

/** Below, equal or above zero as `a` is less than, equal to or more than `b`; `1.0` equals `1`. */
export function compareAmounts(a: string, b: string): number {
  const scale = Math.max(decimalsOf(a), decimalsOf(b));
  const difference = toScaled(a, scale) - toScaled(b, scale);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}
