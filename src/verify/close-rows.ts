/** Replaced statements against the close that froze them, row by row, as far as their files are here. */
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { CSV } from './formats.ts';
import { UnreadableRows } from './csv.ts';
import { checkRows, type RowCheck } from './rows.ts';
import type { ClosedStatement } from './close-file.ts';

export interface ReplacedFile {
  readonly path: string;
  readonly merchantNo: string;
  readonly timeZone: string;
}

/** Problems of each frozen statement whose file is among these; others have no entry. */
export async function checkedByRows(
  closes: readonly { readonly merchantNo: string; readonly statements: readonly ClosedStatement[] }[],
  files: readonly ReplacedFile[],
  open: (path: string) => AsyncIterable<Uint8Array> = createReadStream,
): Promise<ReadonlyMap<ClosedStatement, readonly string[]>> {
  const byName = new Map(files.map((one) => [`${one.merchantNo} ${basename(one.path)}`, one]));
  const checked = new Map<ClosedStatement, readonly string[]>();
  for (const { merchantNo, statements } of closes)
    for (const statement of statements) {
      const file = byName.get(`${merchantNo} ${statement.file}`);
      if (file === undefined) continue;
      const problems = await problemsWithRows(statement, file.timeZone, open(file.path));
      if (problems !== null) checked.set(statement, problems);
    }
  return checked;
}

async function problemsWithRows(
  statement: ClosedStatement,
  timeZone: string,
  bytes: AsyncIterable<Uint8Array>,
): Promise<string[] | null> {
  let checks: readonly RowCheck[] | null = null;
  try {
    for await (const rows of CSV.reader.rows(bytes))
      for (const cells of rows) {
        checks ??= checksOf(statement, timeZone, cells);
        for (const check of checks) check.take(cells);
      }
  } catch (error) {
    if (error instanceof UnreadableRows) return null;
    throw error;
  }
  const [found, ...others] = (checks ?? []).map((check) => check.end());
  if (found === undefined) return null;
  return others.some((problems) => problems.length === 0) ? [] : found.map(inClose);
}

/** A close does not say whether one of the breaks lies behind the last row, where no row shows it. */
const checksOf = (statement: ClosedStatement, zone: string, columns: readonly string[]): RowCheck[] =>
  [0, 1].map((breaksAfter) =>
    checkRows(
      { ...statement, columns: [...columns], breaksAfter, overMidnight: 'unknown' },
      statement.day,
      zone,
      CSV.reader,
    ),
  );

const inClose = (problem: string): string => problem.replace('the manifest says', 'the close says');
