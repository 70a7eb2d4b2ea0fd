/** The page of packages has each of package.json, with its version, and no other. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { REASONS } from '../../scripts/dependencies/reasons.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const { dependencies, peerDependencies } = JSON.parse(read('package.json')) as Record<
  'dependencies' | 'peerDependencies',
  Readonly<Record<string, string>>
>;
const packages = [
  ...Object.entries(dependencies),
  ...Object.entries(peerDependencies).map(([name, version]) => [name, `${version}, optional`] as const),
];

test('every package has a reason, and no reason is left of one that is gone', () => {
  const reasoned = Object.values(REASONS).flatMap((reasons) => Object.keys(reasons));
  expect(reasoned.sort()).toEqual(packages.map(([name]) => name).sort());
});

test('the page has every package with its version (`npm run reference:dependencies` writes it)', () => {
  const rows = read('docs/dependencies.md')
    .split('\n')
    .flatMap((line) => {
      const [, name, version] = /^\| `([^`]+)` +\| ([^|]+?) +\|/.exec(line) ?? [];
      return name === undefined ? [] : [`${name} ${version!}`];
    });
  expect(rows.sort()).toEqual(packages.map(([name, version]) => `${name} ${version}`).sort());
});
