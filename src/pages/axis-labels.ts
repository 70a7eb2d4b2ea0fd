/** Formats the numbers of an axis, short, with enough digits to distinguish neighbours. */

const DIGITS_MAX = 21;

/** Ticks in order, all the same step apart, in the reader's language. */
export function axisLabels(ticks: readonly number[], locale: string): string[] {
  if (ticks.length === 0) return [];
  const largest = Math.max(...ticks.map(Math.abs));
  const step = ticks.length > 1 ? Math.abs(ticks[1]! - ticks[0]!) : largest;
  const digits = step === 0 ? 1 : placeOf(largest) - placeOf(step) + 1;
  const format = new Intl.NumberFormat(`${locale}-u-nu-latn`, {
    notation: 'compact',
    maximumSignificantDigits: Math.min(Math.max(digits, 1), DIGITS_MAX),
  });
  return ticks.map((tick) => format.format(tick));
}

/** The place of a number's first digit, counted from the units. */
const placeOf = (value: number): number => Number(value.toExponential(6).split('e')[1]);
