/**
 * Checks the pages for people: the files, folders and names in code that they mention exist, and links lead
 * somewhere.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const PAGES = [
  ...['README.md', 'CONTRIBUTING.md'],
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path)),
];
const FOLDERS = ['src', 'jobs', 'sql', 'config', 'test', 'bench', 'scripts', 'deploy', 'docs'];
/** Every file and folder, from the top of the checkout. */
const TREE = FOLDERS.flatMap((folder) => [
  folder,
  ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
]);

/** `src/run/run.ts`, `sql/roles`, `sync/certificate.ts`, `run/stages/*-stage.ts`; a source file's name alone. */
const PATH = new RegExp(
  `\`((?:${[...FOLDERS, ...readdirSync('src')].join('|')})/[\\w./*-]+|[\\w*-]+(?:[./][\\w-]+)*\\.ts)\``,
  'g',
);
/** A name in the code, and the file in which it should be. */
const NAME_IN_FILE = /`(\w+)` (?:of|in) `([\w./-]+\.ts)`/g;
const LINK = /\]\(([^)#:]+)(?:#[^)]*)?\)/g;

/**
 * The entire paths that a path may mean. Short paths and paths with an asterisk are allowed if their meaning is clear.
 */
function found(path: string): string[] {
  const end = path.replace(/\/$/, '').replaceAll('.', '\\.').replaceAll('*', '[^/]*');
  return TREE.filter((one) => new RegExp(`(^|/)${end}$`).test(one));
}

const standsIn = (name: string, path: string): boolean =>
  found(path).some((file) => new RegExp(`\\b${name}\\b`).test(readFileSync(file, 'utf8')));

/** What a page mentions that does not exist. */
function missingIn(page: string, text: string): string[] {
  const paths = [...text.matchAll(PATH)].map(([, path]) => path!).filter((path) => found(path).length === 0);
  const names = [...text.matchAll(NAME_IN_FILE)]
    .filter(([, name, path]) => found(path!).length > 0 && !standsIn(name!, path!))
    .map(([, name, path]) => `${name!} in ${path!}`);
  const links = [...text.matchAll(LINK)]
    .map(([, target]) => target!)
    .filter((target) => !existsSync(join(dirname(page), target)));
  return [...paths, ...names, ...links];
}

test.each(PAGES)('%s mentions only what exists', (page) => {
  expect(missingIn(page, readFileSync(page, 'utf8'))).toEqual([]);
});

test('a name of something that does not exist is found', () => {
  const text =
    '`src/ledger/entry.ts`, `sync/certify.ts`, `run.ts`, `run/stages/*-stage.ts` and `EXIT` in `src/ledger/ending.ts` are, ' +
    'as is [this](docs/views.md#x); `src/ledger/entries.ts`, `run/*-stage.ts`, `no-such.ts`, `NONE` in `ending.ts` and ' +
    '[that](docs/view.md) are not.';
  expect(missingIn('README.md', text)).toEqual([
    'src/ledger/entries.ts',
    'run/*-stage.ts',
    'no-such.ts',
    'NONE in ending.ts',
    'docs/view.md',
  ]);
});

test('the README names every folder at the top and every room, the architecture every folder of src', () => {
  const folders = readdirSync('src', { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ parentPath, name }) => `${parentPath}/${name}`);
  const rooms = folders.filter((path) => path.split('/').length === 2);
  const isNamed = (page: string, path: string): boolean => readFileSync(page, 'utf8').includes(`\`${path}\``);
  expect([...FOLDERS, ...rooms].filter((path) => !isNamed('README.md', path))).toEqual([]);
  expect(folders.filter((path) => !isNamed('docs/architecture.md', path))).toEqual([]);
});
