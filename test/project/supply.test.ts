/**
 * Licences and known weaknesses of the packages that the program uses.
 *
 * @module-tag long
 */
import { expect, test } from 'vitest';
import { auditVerdict } from '../../scripts/audit.ts';
import { licenceProblems } from '../../scripts/licences.ts';
import { lockedPackages, type LockedPackage } from '../../scripts/runtime-lock.ts';
import { sbom } from '../../scripts/sbom.ts';

test('every package of the lock file has an allowed licence', () => {
  const packages = lockedPackages();
  expect(Object.keys(packages).length).toBeGreaterThan(100);
  expect(licenceProblems(packages)).toEqual([]);
});

test('a restrictive or missing licence is reported with its package', () => {
  const packages = {
    '': {
      version: '0.1.0',
      dependencies: { fine: '1.0.0', choice: '1.0.0', both: '1.0.0', a: '1.0.0', silent: '3.0.0' },
      peerDependencies: { peer: '1.0.0' },
    },
    'node_modules/a': { version: '1.0.0', license: 'MIT', dependencies: { copyleft: '2.0.0' } },
    'node_modules/peer': { version: '1.0.0', license: 'MPL-2.0' },
    'node_modules/fine': { version: '1.0.0', license: 'MIT' },
    'node_modules/choice': { version: '1.0.0', license: '(GPL-3.0 OR MIT)' },
    'node_modules/both': { version: '1.0.0', license: 'MIT AND GPL-3.0' },
    'node_modules/tool': { version: '1.0.0', license: 'MPL-2.0' },
    'node_modules/a/node_modules/copyleft': { version: '2.0.0', license: 'MPL-2.0' },
    'node_modules/silent': { version: '3.0.0' },
  };
  expect(licenceProblems(packages)).toEqual([
    'peer 1.0.0 is under MPL-2.0, which is not allowed: replace it, or decide and list it.',
    'both 1.0.0 is under MIT AND GPL-3.0, which is not allowed: replace it, or decide and list it.',
    'copyleft 2.0.0 is under MPL-2.0, which is not allowed: replace it, or decide and list it.',
    'silent 3.0.0 states no licence: read its files, then list or replace it.',
  ]);
});

test('an audit fails only for grave weaknesses, and without an answer says that nothing was checked', () => {
  const counted = (found: object) => JSON.stringify({ metadata: { vulnerabilities: found } });
  expect(auditVerdict(counted({ low: 2, high: 0, critical: 0, total: 2 }))).toEqual({
    kind: 'clean',
    text: '2 known weaknesses, 0 of them grave',
  });
  expect(auditVerdict(counted({ high: 1, critical: 1, total: 2 }))).toEqual({
    kind: 'weak',
    text: '2 known weaknesses, 2 of them grave: see `npm audit`',
  });
  expect(auditVerdict('{"message":"405 Method Not Allowed"}')).toEqual({
    kind: 'not-checked',
    text: 'not checked: 405 Method Not Allowed',
  });
  expect(auditVerdict('')).toMatchObject({ kind: 'not-checked' });
});

test('the list of packages has those installed with daybook and those that some settings need, and none for development', () => {
  const { components } = JSON.parse(sbom()) as { components: { name: string; version: string }[] };
  const listed = new Map(components.map(({ name, version }) => [name, version]));
  const packages: Readonly<Record<string, LockedPackage>> = lockedPackages();
  const { dependencies, peerDependencies } = packages['']!;
  for (const [name, version] of Object.entries({ ...dependencies, ...peerDependencies }))
    expect([name, listed.get(name)]).toEqual([name, version]);
  for (const below of ['fontkit', '@smithy/core', 'pg-protocol']) expect(listed.has(below), below).toBe(true);
  for (const tool of ['vitest', 'typescript', 'playwright-core']) expect(listed.has(tool), tool).toBe(false);
  expect(components.length).toBeGreaterThan(150);
});
