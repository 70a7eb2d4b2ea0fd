/** Compares two revisions of a statement, as `statements diff` does, within the time of a request. */
import { StatementDamaged, rowsBetween } from '../../statements/fetch.ts';
import { causesOf, type CausedRow } from '../../statements/reason.ts';
import { tallyRows } from '../../statements/differing-rows.ts';
import type { ComparisonShown } from '../../pages/revisions.ts';
import type { StatementRow } from '../../store/statements/statements.ts';
import type { Asked, PagesContext } from './context.ts';
import { PageRefusal } from './page-refusal.ts';

const ROWS_SHOWN_MAX = 50;
/** Files of more rows take seconds to read. */
const ROWS_COMPARED_MAX = 100_000;

/** `?revision=2&against=1`; null unless both are asked for. Throws `PageRefusal` for a revision that there is not. */
export async function comparisonOf(
  { db, objects }: PagesContext,
  { query }: Asked,
  revisions: readonly StatementRow[],
): Promise<ComparisonShown | null> {
  const [newer, older] = [query('revision'), query('against')];
  if (newer === null || older === null) return null;
  const [before, after] = [older, newer].map((text) =>
    revisions.find(({ revision }) => String(revision) === text),
  );
  if (before === undefined || after === undefined || before.revision >= after.revision)
    throw new PageRefusal(404);
  const rows = before.row_count + after.row_count;
  if (rows > ROWS_COMPARED_MAX) return { before, after, rows: { tooLarge: rows } };
  const tally = tallyRows(ROWS_SHOWN_MAX);
  try {
    for await (const row of rowsBetween(objects, before, after)) tally.take(row);
  } catch (error) {
    if (error instanceof StatementDamaged) return { before, after, rows: { problem: error.message } };
    throw error;
  }
  const shown: CausedRow[] = [];
  for await (const some of causesOf(db, tally.shown, before, after)) shown.push(...some);
  return { before, after, rows: { shown, counts: tally.counts } };
}
