/** docs/reference is generated. These tests fail if its pages are stale. */
import { readdir, readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { referencePages } from '../../scripts/reference-pages.ts';
import { commandsPage } from '../../scripts/reference/commands.ts';
import { fieldsOf, withMeanings } from '../../scripts/reference/files.ts';
import { relationsOf, tablesPage } from '../../scripts/reference/tables.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { freshDatabase } from '../support/database.ts';
import { listOf, objectOf, oneOf, optional, orNull, textLike, integer } from '../../src/verify/shape.ts';

let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

test('the pages describe the program as it is now (`npm run reference` writes them)', async () => {
  const pages = await referencePages(database.db);
  for (const [path, text] of pages) expect(await readFile(path, 'utf8'), path).toBe(text);
  const there = (await readdir('docs/reference')).map((name) => `docs/reference/${name}`);
  const written = [...pages.keys()].filter((path) => path.startsWith('docs/reference/'));
  expect([...written, 'docs/reference/README.md'].sort()).toEqual(there.sort());
});

test('every table, view and column has a comment that says what it holds', async () => {
  const relations = await relationsOf(database.db);
  const tables = await database.db.introspection.getTables();
  expect(relations.map(({ name }) => name).sort()).toEqual(tables.map(({ name }) => name).sort());
  const silent = relations.flatMap(({ name, comment, columns }) => [
    ...(comment === null ? [name] : []),
    ...columns.filter((column) => column.comment === null).map((column) => `${name}.${column.name}`),
  ]);
  expect(silent).toEqual([]);
});

test('a table is shown with its key, its columns and their comments', async () => {
  await sql`
    CREATE TABLE seen (place text, nth integer, at timestamptz, PRIMARY KEY (nth, place));
    COMMENT ON TABLE seen IS 'What was seen.';
    COMMENT ON COLUMN seen.nth IS 'Which|one.'`.execute(database.db);
  const seen = (await relationsOf(database.db)).filter(({ name }) => name === 'seen');
  await sql`DROP TABLE seen`.execute(database.db);
  expect(tablesPage(seen).split('\n\n').slice(-4)).toEqual([
    '### seen',
    'What was seen.',
    'Key: `nth`, `place`.',
    '| column | type | what it holds |\n| --- | --- | --- |\n' +
      '| `place` | text |  |\n| `nth` | integer | Which\\|one. |\n| `at` | timestamp with time zone |  |',
  ]);
});

test('a column or field without a meaning, and a meaning without one, are faults', () => {
  expect(withMeanings(['b', 'a'], { a: 'first', b: 'second' })).toEqual(['second', 'first']);
  expect(() => withMeanings(['a', 'b'], { a: 'first' })).toThrow('say in file-meanings.ts what b means');
  expect(() => withMeanings(['a'], { a: 'first', b: 'second' })).toThrow('no file has b');
});

test('all fields of a document are shown with their types, inner ones too', () => {
  const shape = objectOf({
    kind: oneOf('x/1'),
    sum: orNull(textLike('a zero', (value) => value === '0')),
    parts: optional(listOf(objectOf({ state: oneOf('on', 'off') }))),
    whole: orNull(objectOf({ count: integer(0) })),
  });
  expect(fieldsOf(shape)).toEqual([
    { path: 'kind', type: '`x/1`', isAlways: true },
    { path: 'sum', type: 'string or null', isAlways: true },
    { path: 'parts', type: 'array', isAlways: false },
    { path: 'parts[].state', type: '`on`, `off`', isAlways: true },
    { path: 'whole', type: 'object or null', isAlways: true },
    { path: 'whole.count', type: 'integer', isAlways: true },
  ]);
});

test('a command’s arguments, options and help are shown, without the options that every command has', () => {
  const program = new Command('daybook');
  const parent = program.command('entries').description('entries');
  parent
    .command('find')
    .description('look an entry up')
    .argument('<batchNo>', 'its number')
    .option('--merchant <no>', 'only this|that merchant')
    .option('--json', 'print one JSON document')
    .addHelpText('after', '\nExample:\n  daybook entries find B1');
  expect(commandsPage(program).split('\n\n').slice(3)).toEqual([
    '## daybook entries find',
    'look an entry up.',
    '| argument | what it is |\n| --- | --- |\n| `<batchNo>` | its number |',
    '| option | what it does |\n| --- | --- |\n| `--merchant <no>` | only this\\|that merchant |',
    '```text\nExample:\n  daybook entries find B1\n```',
  ]);
});

test('a command with subcommands is shown too if it can be run itself', () => {
  const program = new Command('daybook');
  const runs = program.command('runs').description('what ran').option('--all', 'all of them');
  runs.command('forget').description('give up');
  program.command('entries').description('entries').command('find').description('look up');
  const titles = commandsPage(program).match(/^## .*$/gm);
  expect(titles).toEqual(['## daybook runs', '## daybook runs forget', '## daybook entries find']);
});
