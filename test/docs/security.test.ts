/** docs/security.md claims nothing without a file or a test that holds it up. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const rows = [
  ...readFileSync('docs/security.md', 'utf8').matchAll(/^\| (\d+\.\d+) [^|]*\| (\S+) +\| (.*) \|$/gm),
].map(([, section, met, how]) => ({ section: section!, met: met!, how: how! }));
const pathsIn = (how: string): string[] =>
  [...how.matchAll(/`([\w./@-]+)`/g)].map(([, name]) => name!).filter((name) => /[./]/.test(name));

test('every section says whether it is met', () => {
  expect(rows.length).toBeGreaterThan(60);
  expect(rows.filter(({ met }) => !['yes', 'partly', 'no', 'n/a'].includes(met))).toEqual([]);
});

test('what is met names a file or a test that there is', () => {
  const bare = rows.filter(({ met, how }) => met === 'yes' && !pathsIn(how).some((path) => existsSync(path)));
  expect(bare.map(({ section }) => section)).toEqual([]);
});
