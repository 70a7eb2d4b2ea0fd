/** Parses an amount as a reader's language writes it, so that an amount shown can be searched for unchanged. */
import { plainDecimal } from '../ledger/money.ts';
import type { Format } from './format.ts';

/** Typed group separators. */
const SPACES = /[\s'’]/g;
/** Invisible marks of writing direction. */
const UNSEEN = /\p{Cf}/gu;
const MINUS = /^[-−]/;
const PLAIN = /^-?\d{1,30}(?:\.\d{1,30})?$/;
const SEPARATED = '1234567.5';

/**
 * A plain decimal; null if the text is no amount. A page of exact digits is read exactly first, any other one as the
 * language writes numbers: `491,84` is one number in German and none in English.
 */
export function readAmount(
  text: string,
  { format, isExact }: { readonly format: Pick<Format, 'locale'>; readonly isExact: boolean },
): string | null {
  const given = text.replace(UNSEEN, '').replace(MINUS, '-').replace(SPACES, '');
  const local = () => localDigits(given, format.locale);
  const digits = isExact ? (exactDigits(given) ?? local()) : (local() ?? exactDigits(given));
  return digits === null ? null : plainDecimal(digits.replace(/^(-?)0+(?=\d)/, '$1'));
}

const exactDigits = (given: string): string | null => (PLAIN.test(given) ? given : null);

/** Groups have three digits, and in some languages two, but for the last one. */
function localDigits(given: string, locale: string): string | null {
  const parts = new Intl.NumberFormat(`${locale}-u-nu-latn`, { useGrouping: true }).formatToParts(
    SEPARATED as `${number}`,
  );
  const part = (type: string) => (parts.find((one) => one.type === type)?.value ?? '').replace(SPACES, '');
  const [group, decimal] = [part('group'), part('decimal')];
  const grouped = group === '' ? '' : `|\\d{1,3}(?:[${group}]\\d{2,3})*[${group}]\\d{3}`;
  const [, integer, fraction] =
    new RegExp(`^(-?(?:\\d+${grouped}))(?:[${decimal}](\\d+))?$`).exec(given) ?? [];
  if (integer === undefined) return null;
  const digits = group === '' ? integer : integer.replaceAll(group, '');
  return exactDigits(fraction === undefined ? digits : `${digits}.${fraction}`);
}
