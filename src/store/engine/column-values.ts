/** How database columns become JavaScript values. node-postgres and the embedded database both use this table. */

/** Ids of the types in PostgreSQL's pg_type. */
const OID = { int8: 20, date: 1082, timestamp: 1114, timestamptz: 1184, numeric: 1700 } as const;

const asText = (value: string): string => value;

/** For ids, counts and instants in ms. All are far below 2^53; a larger one is a fault. */
function asSafeInteger(value: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new RangeError(`bigint ${value} does not fit a JavaScript number`);
  return number;
}

/**
 * Amounts stay decimal text. Days (`YYYY-MM-DD`) and times without a zone (`YYYY-MM-DD HH:mm:ss`) stay text. Instants
 * become `Date`.
 */
export const COLUMN_PARSERS: Readonly<Record<number, (value: string) => string | number | Date>> = {
  [OID.int8]: asSafeInteger,
  [OID.numeric]: asText,
  [OID.date]: asText,
  [OID.timestamp]: asText,
  [OID.timestamptz]: (value) => new Date(value),
};
