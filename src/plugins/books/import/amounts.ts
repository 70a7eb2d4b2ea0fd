/** Amounts of an own book in their currency: with its sign or code next to them, and never with more decimals than it has. */
import type { Currencies } from '../../../ledger/money.ts';
import { canonicalAmount } from '../../../ledger/money.ts';
import type { Mapping } from './mapping.ts';
import { amountReader } from './values.ts';

/** Signs of currencies; one that several currencies have says nothing against the code of the row. */
const SIGNS: Readonly<Record<string, string>> = {
  '€': 'EUR',
  '£': 'GBP EGP FKP GIP LBP SDG SHP SSP SYP',
  $: 'USD ARS AUD BBD BMD BND BSD BZD CAD CLP COP FJD GYD HKD JMD KYD LRD MXN NAD NZD SBD SGD SRD TTD TWD UYU XCD',
  ...{ US$: 'USD', CA$: 'CAD', C$: 'CAD', A$: 'AUD', AU$: 'AUD', NZ$: 'NZD', HK$: 'HKD', S$: 'SGD' },
  ...{ NT$: 'TWD', MX$: 'MXN', R$: 'BRL' },
  ...{
    '¥': 'JPY CNY CNH',
    '￥': 'JPY CNY CNH',
    'CN¥': 'CNY CNH',
    'JP¥': 'JPY',
    RMB: 'CNY CNH',
    元: 'CNY CNH',
    円: 'JPY',
  },
  ...{ '₹': 'INR', Rs: 'INR LKR MUR NPR PKR SCR', 'Rs.': 'INR LKR MUR NPR PKR SCR' },
  ...{
    '₩': 'KRW',
    '₫': 'VND',
    '฿': 'THB',
    '₱': 'PHP',
    '₺': 'TRY',
    '₽': 'RUB',
    '₴': 'UAH',
    '₦': 'NGN',
    '₪': 'ILS',
  },
  ...{ '₵': 'GHS', '₡': 'CRC', '₲': 'PYG', '₸': 'KZT', '₾': 'GEL', '₼': 'AZN' },
  ...{
    zł: 'PLN',
    Kč: 'CZK',
    kr: 'DKK ISK NOK SEK',
    'kr.': 'DKK ISK NOK SEK',
    Ft: 'HUF',
    RM: 'MYR',
    Rp: 'IDR',
  },
  ...{ R: 'ZAR', 'S/': 'PEN', 'Fr.': 'CHF', SFr: 'CHF' },
};

/** What may stand next to an amount of the currency, longer ones first. */
function signsOf(currency: string): readonly string[] {
  const own = Object.entries(SIGNS).flatMap(([sign, codes]) =>
    codes.split(' ').includes(currency) ? [sign] : [],
  );
  return [currency, currency.toLowerCase(), ...own].sort((a, b) => b.length - a.length);
}

const MINUS_OR_OPEN = /^[(+\u2212-]/;
const MINUS_OR_CLOSE = /[)+\u2212-]$/;

/** The amount without one sign of its currency, before or after it. */
function withoutSign(text: string, signs: readonly string[]): string {
  const [lead = ''] = MINUS_OR_OPEN.exec(text) ?? [];
  const behind = text.slice(lead.length).trimStart();
  const first = signs.find((sign) => behind.startsWith(sign));
  if (first !== undefined) return lead + behind.slice(first.length).trimStart();
  const [tail = ''] = MINUS_OR_CLOSE.exec(text) ?? [];
  const before = text.slice(0, text.length - tail.length).trimEnd();
  const last = signs.find((sign) => before.endsWith(sign));
  return last === undefined ? text : before.slice(0, -last.length).trimEnd() + tail;
}

/** Up to three digits, one mark, and three digits: the mark may group them, or be the decimal one. */
const THREE_BEHIND_A_MARK = /^\D*[1-9]\d{0,2}([.,])\d{3}\D*$/;

/** An amount, or why it is none, as the end of a sentence that begins with what it is. */
export type AmountRead = { readonly amount: string } | { readonly problem: string };

const refused = (problem: string): AmountRead => ({ problem });
const TWO_WAYS =
  'may be read in two ways, as its mark may group digits: `decimal: point` or `decimal: comma` in the mapping says which it is.';

/** Returns what reads an amount of a currency. Nothing that may be read in two ways is read. */
export function moneyReader(
  { decimal, format }: Pick<Mapping, 'decimal' | 'format'>,
  currencies: Currencies,
): (text: string, currency: string) => AmountRead {
  const readAmount = amountReader(decimal ?? 'point');
  const decimalMark = decimal === 'comma' ? ',' : '.';
  const signs = new Map<string, readonly string[]>();
  return (given, currency) => {
    if (!signs.has(currency)) signs.set(currency, signsOf(currency));
    const text = withoutSign(given, signs.get(currency)!);
    const amount = readAmount(text);
    if (amount === null) return refused(given === '' ? 'is empty.' : 'is no amount.');
    const units = currencies.minorUnits(currency);
    const mark = THREE_BEHIND_A_MARK.exec(text)?.[1];
    const isSaid = decimal !== undefined || format === 'query';
    // No mark of a database groups digits, and of a currency without decimals none but that can stand there.
    const hasNoDecimals = units === 0 && mark === decimalMark && format !== 'query';
    if (hasNoDecimals || canonicalAmount(amount, units)?.excess === true)
      return refused(
        `has more decimals than ${currency}, which has ${units}. Where its mark groups digits, ` +
          `\`decimal: ${decimalMark === '.' ? 'comma' : 'point'}\` in the mapping says so.`,
      );
    if (mark === undefined || isSaid || (units === null && format === 'xlsx')) return { amount };
    const mayBeDecimals = units === null || units >= 3;
    const isUsual = mark === decimalMark ? units !== null && mayBeDecimals : !mayBeDecimals;
    return isUsual ? { amount } : refused(TWO_WAYS);
  };
}
