/** What was written between two moments: rows by their version in the database, files by their bytes and times. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { sha256Of } from '../../src/host/sha256.ts';
import { sql, type Kysely } from 'kysely';
import type { DB } from '../../src/store/engine/schema.ts';

type Cells = Readonly<Record<string, unknown>>;

interface Row {
  /** The transaction that wrote the row. A row that was deleted and stored anew has another one as well. */
  readonly writer: string;
  readonly cells: Cells;
}

/** Rows by their primary key, by table. */
export type Rows = ReadonlyMap<string, ReadonlyMap<string, Row>>;

/** All rows of all tables but of those that `without` names. */
export async function rowsOfTables(db: Kysely<DB>, without: ReadonlySet<string>): Promise<Rows> {
  const { rows: keys } = await sql<{ table: string; columns: string[] }>`
    SELECT relname AS table, array_agg(attname::text ORDER BY attnum) AS columns
    FROM pg_class JOIN pg_index ON indrelid = pg_class.oid AND indisprimary
      JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace GROUP BY 1 ORDER BY 1`.execute(db);
  const tables = new Map<string, ReadonlyMap<string, Row>>();
  for (const { table, columns } of keys.filter(({ table }) => !without.has(table))) {
    const { rows } = await sql<Row>`
      SELECT xmin::text AS writer, to_jsonb(its) AS cells FROM ${sql.table(table)} AS its`.execute(db);
    tables.set(table, new Map(rows.map((row) => [columns.map((name) => row.cells[name]).join(' '), row])));
  }
  return tables;
}

/** What was written of the rows, each as `table.column`, or as the table and what happened to a row. */
export function writtenRows(before: Rows, after: Rows): string[] {
  const written = new Set<string>();
  for (const [table, rows] of after) {
    const old = before.get(table) ?? new Map<string, Row>();
    for (const key of old.keys()) if (!rows.has(key)) written.add(`${table}: a row is gone`);
    for (const [key, { writer, cells }] of rows) {
      const known = old.get(key);
      if (known === undefined) written.add(`${table}: a new row`);
      else if (known.writer !== writer) {
        const changed = Object.keys(cells).filter(
          (name) => JSON.stringify(cells[name]) !== JSON.stringify(known.cells[name]),
        );
        if (changed.length === 0) written.add(`${table}: a row is written as it was`);
        for (const name of changed) written.add(`${table}.${name}`);
      }
    }
  }
  return [...written].sort();
}

/** Each file below a folder, with the SHA-256 of its bytes, its inode and when it was written. */
export async function filesBelow(folder: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const one of found.filter((each) => each.isFile())) {
    const path = join(one.parentPath, one.name);
    const { mtimeMs, ino } = await stat(path);
    files.set(relative(folder, path), `${ino} ${mtimeMs} ${sha256Of(await readFile(path))}`);
  }
  return files;
}

/** Files that came, went or were written, though with the same bytes. */
export const writtenFiles = (
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): string[] =>
  [...new Set([...before.keys(), ...after.keys()])]
    .filter((path) => before.get(path) !== after.get(path))
    .sort();
