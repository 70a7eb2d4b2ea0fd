/** Compares two revisions of one day's statement. */
import { sql, type RawBuilder } from 'kysely';
import type { FigureColumns } from '../account-days.ts';

/** A file without rows is the same whatever the balance, so amounts are compared as well. */
const CONTENT = [
  'sha256',
  'opening',
  'credit_total',
  'credit_count',
  'debit_total',
  'debit_count',
  'closing',
] as const satisfies readonly ('sha256' | keyof FigureColumns)[];

/**
 * Whether two rows of `statement`, by their aliases, have the same file and the same amounts. Who has the one does not
 * need the other, whatever their verdicts.
 */
export const sameContent = (one: string, other: string): RawBuilder<boolean> =>
  sql.join(
    CONTENT.map((column) => sql`${sql.ref(`${one}.${column}`)} = ${sql.ref(`${other}.${column}`)}`),
    sql` AND `,
  );
