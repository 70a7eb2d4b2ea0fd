/** Makes docs/reference/tables.md: tables, views and columns, from a migrated database and its comments. */
import { sql, type Kysely } from 'kysely';
import type { DB } from '../../src/store/engine/schema.ts';
import { cell, code, MADE_BY, table } from './markdown.ts';

/** A table or view. */
export interface Relation {
  readonly name: string;
  readonly isView: boolean;
  /** Null if it has no comment. */
  readonly comment: string | null;
  /** The columns of the primary key, in order. A view has none. */
  readonly key: readonly string[];
  readonly columns: readonly RelationColumn[];
}

export interface RelationColumn {
  readonly name: string;
  /** The type as SQL writes it. */
  readonly type: string;
  /** Null if it has no comment. */
  readonly comment: string | null;
}

/** All tables and views of a migrated database, except those of the migrations, in the order of their creation. */
export async function relationsOf(db: Kysely<DB>): Promise<Relation[]> {
  const { rows } = await sql<Relation>`
    SELECT
      relation.relname AS name,
      relation.relkind = 'v' AS "isView",
      obj_description(relation.oid, 'pg_class') AS comment,
      ARRAY(
        SELECT key_column.attname::text
        FROM pg_index AS own
        CROSS JOIN LATERAL unnest(own.indkey::smallint[]) WITH ORDINALITY AS place (number, nth)
        JOIN pg_attribute AS key_column ON key_column.attrelid = own.indrelid AND key_column.attnum = place.number
        WHERE own.indrelid = relation.oid AND own.indisprimary
        ORDER BY place.nth
      ) AS key,
      (
        SELECT json_agg(
          json_build_object(
            'name', attname,
            'type', format_type(atttypid, atttypmod),
            'comment', col_description(attrelid, attnum)
          ) ORDER BY attnum
        )
        FROM pg_attribute WHERE attrelid = relation.oid AND attnum > 0 AND NOT attisdropped
      ) AS columns
    FROM pg_class AS relation
    WHERE relation.relkind IN ('r', 'v') AND relation.relnamespace = current_schema()::regnamespace
      AND relation.relname NOT LIKE 'kysely\_%'
    ORDER BY relation.oid`.execute(db);
  return rows;
}

function relationSection({ name, comment, key, columns }: Relation): string {
  return [
    `### ${name}`,
    comment ?? '',
    key.length === 0 ? '' : `Key: ${key.map(code).join(', ')}.`,
    table(
      ['column', 'type', 'what it holds'],
      columns.map((column) => [code(column.name), cell(column.type), cell(column.comment ?? '')]),
    ),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** docs/reference/tables.md, before it is formatted. */
export function tablesPage(relations: readonly Relation[]): string {
  const sections = (isView: boolean) =>
    relations.filter((relation) => relation.isView === isView).map(relationSection);
  return [
    '# Tables and views',
    MADE_BY,
    'Amounts are exact `numeric`, in units of the currency. Days are business days of the platform’s zone. ' +
      'A `timestamp with time zone` is an instant, one without it the clock of the platform’s zone; a column that ends with ' +
      '`_ms` is an instant in ms since 1970. ' +
      'What of this lasts is in [README.md](README.md); the comments stand in the database, too (`\\d+` in psql).',
    '## Views',
    ...sections(true),
    '## Tables',
    ...sections(false),
  ].join('\n\n');
}
