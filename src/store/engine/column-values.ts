/** How columns arrive in JavaScript: one table for node-postgres and the embedded database, so that both read alike. */

/** Types by their number in pg_type. */
const OID = { int8: 20, date: 1082, timestamp: 1114, timestamptz: 1184, numeric: 1700 } as const;

const asText = (value: string): string => value;

/** Ids, counts and instants in ms: all far below 2^53, and a fault where one is not. */
function asSafeInteger(value: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new RangeError(`bigint ${value} does not fit a JavaScript number`);
  return number;
}

/**
 * Amounts stay the digits the database holds, days and zoneless times stay text (`YYYY-MM-DD`,
 * `YYYY-MM-DD HH:mm:ss`), instants become `Date`.
 */
export const COLUMN_PARSERS: Readonly<Record<number, (value: string) => string | number | Date>> = {
  [OID.int8]: asSafeInteger,
  [OID.numeric]: asText,
  [OID.date]: asText,
  [OID.timestamp]: asText,
  [OID.timestamptz]: (value) => new Date(value),
};
