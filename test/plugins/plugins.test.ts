/** What the values of the plugins say is theirs exists, and is of one plugin alone. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { relationsOf } from '../../scripts/reference/tables.ts';
import { PLUGINS } from '../../src/plugins.ts';
import type { Plugin } from '../../src/plugin.ts';
import { CORE } from '../../src/settings/core.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { freshDatabase } from '../support/database.ts';

let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

const SETTINGS = new Map(
  await Promise.all(
    PLUGINS.map(
      async ({ name, settings }) => [name, Object.keys((await settings?.())?.declared ?? {})] as const,
    ),
  ),
);
const settingsOf = ({ name }: Plugin) => SETTINGS.get(name);

/** Everything of one kind that plugins name, with the plugin. */
const named = (namesOf: (plugin: Plugin) => readonly string[] | undefined) =>
  PLUGINS.flatMap((plugin) => (namesOf(plugin) ?? []).map((name) => ({ name, plugin: plugin.name })));

describe('a name is of one plugin', () => {
  test.each<[string, (plugin: Plugin) => readonly string[] | undefined]>([
    ['plugin', ({ name }) => [name]],
    ['setting', settingsOf],
    ['table', ({ tables }) => tables],
    ['role', ({ roles }) => roles],
    ['command', ({ commands }) => commands?.map(({ usage }) => usage.replace(/ .*/, ''))],
    ['job', ({ jobs }) => jobs?.map(({ name }) => name)],
  ])('each %s', (_, namesOf) => {
    const names = named(namesOf).map(({ name }) => name);
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });
});

test('no setting of a plugin is declared by the core as well', () => {
  expect(named(settingsOf).filter(({ name }) => name in CORE)).toEqual([]);
});

test('tables and roles exist', async () => {
  const tables = new Set((await relationsOf(database.db)).map(({ name }) => name));
  expect(named((one) => one.tables).filter(({ name }) => !tables.has(name))).toEqual([]);
  expect(named((one) => one.roles).filter(({ name }) => !existsSync(`sql/roles/${name}`))).toEqual([]);
});

test('the pages that tell of a plugin exist, with the heading', () => {
  const anchorOf = (heading: string): string =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(/\s/g, '-');
  const missing = named(({ docs }) => docs).filter(({ name }) => {
    const [page, anchor] = name.split('#') as [string, string | undefined];
    if (!existsSync(`docs/${page}`)) return true;
    const headings = readFileSync(`docs/${page}`, 'utf8').matchAll(/^#+ (.*)$/gm);
    return anchor !== undefined && ![...headings].some(([, heading]) => anchorOf(heading!) === anchor);
  });
  expect(missing).toEqual([]);
});

test('a table whose rows one plugin alone reads or writes is named by it', async () => {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'src', 'jobs'], {
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => file.endsWith('.ts') && existsSync(file));
  const texts = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));
  const owners = new Map(named(({ tables }) => tables).map(({ name, plugin }) => [name, plugin]));
  const unnamed: string[] = [];
  for (const { name, isView } of await relationsOf(database.db)) {
    if (isView) continue;
    const query = new RegExp(
      String.raw`(?:(?:From|Into|Table|Join|using)\(\s*['"]|\b(?:FROM|JOIN|INTO|UPDATE|TABLE) (?:ONLY )?)${name}\b`,
    );
    const places = new Set(
      [...texts]
        .filter(([, text]) => query.test(text))
        .map(([file]) => /^src\/plugins\/([^/]+)\//.exec(file)?.[1] ?? 'the core'),
    );
    const [only] = places;
    if (places.size === 1 && only !== 'the core' && owners.get(name) !== only)
      unnamed.push(`${name} is used by ${only!} alone`);
  }
  expect(unnamed).toEqual([]);
});
