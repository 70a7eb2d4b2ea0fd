/**
 * Licences and known weaknesses of the packages that the program uses.
 *
 * @module-tag long
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as streamText } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { licenceProblems } from '../../scripts/licences.ts';
import { lockedPackages, runtimePaths, type LockedPackage } from '../../scripts/runtime-lock.ts';
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

test("no script of the project has the name of one of npm's hooks, so an install runs nothing of it", () => {
  const hooks = [
    'preinstall',
    'install',
    'postinstall',
    'preprepare',
    'prepare',
    'postprepare',
    'prepublish',
    'dependencies',
  ];
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  expect(Object.keys(scripts)).toContain('prepack');
  expect(Object.keys(scripts).filter((name) => hooks.includes(name))).toEqual([]);
});

/** What a registry says of a package's weaknesses, when it is asked about many. */
const advisory = (name: string, severity: string) => ({
  ...{
    id: severity.length,
    url: `https://advisories.example/${severity}`,
    title: 'made up',
    severity,
    vulnerable_versions: '*',
  },
  ...{ name, cwe: [], cvss: { score: 0, vectorString: null } },
});
const ofKnownWeak = { minimist: [advisory('minimist', 'critical')] };

/** What `npm run audit` prints and ends with, with a registry that answers every question so. */
async function audited(
  answer: { readonly status?: number; readonly type?: string; readonly body: string } | 'dead',
  flags: readonly string[] = [],
): Promise<readonly [exitCode: number | null, text: string]> {
  const registry = createServer(({ method, url }, response) => {
    const { status = 200, type = 'application/json', body } = answer as Exclude<typeof answer, 'dead'>;
    const name = decodeURIComponent(url!.slice(1));
    const packument = JSON.stringify({
      name,
      'dist-tags': {},
      versions: { '0.0.8': { name, version: '0.0.8' } },
    });
    response.writeHead(method === 'GET' ? 200 : status, { 'content-type': type });
    response.end(method === 'GET' ? packument : body);
  }).listen(0, '127.0.0.1');
  await once(registry, 'listening');
  const { port } = registry.address() as AddressInfo;
  if (answer === 'dead') registry.close();
  try {
    const child = spawn(process.execPath, ['scripts/audit.ts', ...flags], {
      env: { ...process.env, npm_config_registry: `http://127.0.0.1:${port}`, npm_config_cache: cache },
    });
    const [text, [code]] = await Promise.all([
      streamText(child.stdout),
      once(child, 'close') as Promise<[number | null]>,
    ]);
    return [code, text.trim()];
  } finally {
    registry.close();
  }
}

let cache: string;
beforeAll(async () => (cache = await mkdtemp(join(tmpdir(), 'daybook-npm-'))));
afterAll(() => rm(cache, { recursive: true, force: true }));

describe('an audit', () => {
  const ofKysely = (severity: string) =>
    JSON.stringify({ ...ofKnownWeak, kysely: [advisory('kysely', severity)] });

  test.each<[string, Parameters<typeof audited>[0], readonly [number, string]]>([
    [
      'without weaknesses passes',
      { body: JSON.stringify(ofKnownWeak) },
      [0, '0 known weaknesses, 0 of them grave'],
    ],
    ['with a small one passes', { body: ofKysely('low') }, [0, '1 known weaknesses, 0 of them grave']],
    [
      'with a grave one fails',
      { body: ofKysely('high') },
      [1, '1 known weaknesses, 1 of them grave: see `npm audit`'],
    ],
  ])('%s', async (_, answer, expected) => {
    expect(await audited(answer)).toEqual(expected);
  });

  test.each<[string, Parameters<typeof audited>[0]]>([
    ['is dead', 'dead'],
    ['answers with a page', { type: 'text/html', body: '<h1>Welcome</h1>' }],
    ['answers with a fault', { status: 500, body: '{}' }],
    ['answers with an empty list', { body: '[]' }],
    ['answers with an empty object', { body: '{}' }],
    ['answers with nothing', { body: '' }],
    ['answers with null', { body: 'null' }],
    ['has no audits', { status: 405, body: '' }],
  ])('fails where the registry %s, and says that nothing was checked', async (what, answer) => {
    const [code, text] = await audited(answer);
    expect([code, text]).toEqual([1, expect.stringMatching(/^not checked: /)]);
    // Only of a registry that says so itself it can be wanted otherwise.
    const [accepted] = await audited(answer, ['--registry-without-audits-passes']);
    expect(accepted).toBe(what === 'has no audits' ? 0 : 1);
  });

  test('asks about a weak package that daybook does not have', () => {
    expect([...runtimePaths(lockedPackages())].filter((path) => path.endsWith('/minimist'))).toEqual([]);
  });
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
