/** Columns of many rows as PostgreSQL array literals: one parameter a column, far cheaper than one a value. */

const NEEDS_ESCAPE = /["\\]/;
const ESCAPED = /["\\]/g;

/** `{"a","b",NULL}` for a parameter cast to `text[]` or to any type that reads its values from text. */
export function arrayLiteral(values: readonly (string | number | null)[]): string {
  const spelt = values.map((value) => {
    if (value === null) return 'NULL';
    if (typeof value === 'number') return value;
    return `"${NEEDS_ESCAPE.test(value) ? value.replace(ESCAPED, '\\$&') : value}"`;
  });
  return `{${spelt.join(',')}}`;
}
