/** docs/security.md: a row for each section of the ASVS, and under each claim something that is there. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const page = readFileSync('docs/security.md', 'utf8');

/** How many sections each chapter of the ASVS 4.0.3 has, from V1 on. */
const SECTIONS = [14, 10, 7, 3, 5, 4, 4, 3, 2, 3, 1, 6, 4, 5];

const rows = page
  .split('\n')
  .map((line) => /^\| (\d+\.\d+) [^|]+ \| (\S+) \| (.+) \|$/.exec(line))
  .filter((row) => row !== null)
  .map(([, section, met, how]) => ({ section: section!, met: met!, how: how! }));

test('each section has its row, in order', () => {
  const sections = SECTIONS.flatMap((count, at) =>
    Array.from({ length: count }, (_, nth) => `${at + 1}.${nth + 1}`),
  );
  expect(rows.map(({ section }) => section)).toEqual(sections);
});

test('each row says whether it is met: by what, or what is missing', () => {
  expect(rows.filter(({ met }) => !['yes', 'partly', 'no', 'n/a'].includes(met))).toEqual([]);
  expect(rows.filter(({ met, how }) => met === 'yes' && !/`[\w.-]+\/[\w./-]+`/.test(how))).toEqual([]);
  expect(rows.filter(({ met, how }) => ['partly', 'no'].includes(met) && how.length < 50)).toEqual([]);
});

test('the files that it names are there', () => {
  const named = rows.flatMap(({ section, how }) =>
    [...how.matchAll(/`([\w.-]+\/[\w./-]+)`/g)].map(([, path]) => ({ section, path: path! })),
  );
  expect(named.length).toBeGreaterThan(60);
  // A path below src may be cut at its front, where only one file ends with it.
  const tree = readdirSync('src', { recursive: true, encoding: 'utf8' });
  const isThere = (path: string): boolean =>
    existsSync(path) || tree.filter((one) => one.endsWith(`/${path}`)).length === 1;
  expect(named.filter(({ path }) => !isThere(path))).toEqual([]);
});
