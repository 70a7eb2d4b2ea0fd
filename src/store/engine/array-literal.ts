/**
 * Writes a column of many rows as one PostgreSQL array literal: one parameter a column is far cheaper than one a
 * value.
 */

const NEEDS_ESCAPE = /["\\]/;
const ESCAPED = /["\\]/g;

/** Returns `{"a","b",NULL}`, for a parameter that is cast to `text[]` or to an array of another type. */
export function arrayLiteral(values: readonly (string | number | null)[]): string {
  const spelt = values.map((value) => {
    if (value === null) return 'NULL';
    if (typeof value === 'number') return value;
    return `"${NEEDS_ESCAPE.test(value) ? value.replace(ESCAPED, '\\$&') : value}"`;
  });
  return `{${spelt.join(',')}}`;
}
