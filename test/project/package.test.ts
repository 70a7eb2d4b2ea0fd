/**
 * The package as an outsider gets it: packed from a copy of the checkout, installed into an empty folder, run and imported
 * there. The examples of docs/library.md are part of it.
 *
 * @module-tag long
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sbom } from '../../scripts/sbom.ts';

const TOP = fileURLToPath(new URL('../..', import.meta.url));
/** What a build needs of the checkout, without what is made by it. */
const SOURCES = [
  ...[
    'src',
    'jobs',
    'sql',
    'config',
    'deploy',
    'bin',
    'docs',
    'scripts',
    'package.json',
    'package-lock.json',
    '.npmrc',
  ],
  ...['tsconfig.json', 'tsconfig.build.json', '.prettierrc.json', 'README.md', 'CHANGELOG.md', 'LICENSE'],
];
const OWN_FILES = ['deploy/settings.env', 'deploy/secrets/secret_keys', 'deploy/kubernetes/settings.env'];
const TIME_MS = 300_000;
/** This environment without settings of daybook's. */
const ENV = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('DAYBOOK_'))),
  PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
};

interface Manifest {
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const run = async (cwd: string, command: string, ...args: readonly string[]): Promise<string> =>
  (await promisify(execFile)(command, args, { cwd, env: ENV, maxBuffer: 64e6 })).stdout;

let scratch: string;
/** The folder of somebody who installed it. */
let place: string;
let installed: string;
let manifest: Manifest;
/** What lies next to it as it is installed, and what it says there without a package that its settings need. */
let bare: readonly string[];
let refused: readonly { readonly code: number; readonly stderr: string }[];
let tarball: { readonly files: readonly { readonly path: string }[] };

/** How a command ends that asks for the database. */
const refusal = (env: NodeJS.ProcessEnv): Promise<{ readonly code: number; readonly stderr: string }> =>
  promisify(execFile)('npx', ['--no-install', 'daybook', 'runs'], {
    cwd: place,
    env: { ...ENV, ...env },
  }).then(
    () => expect.fail('the command went through'),
    (error: unknown) => {
      const { code, stderr } = error as { readonly code: number; readonly stderr: string };
      return { code, stderr };
    },
  );

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'daybook-package-'));
  const [copy, packed] = [join(scratch, 'checkout'), join(scratch, 'packed')];
  place = join(scratch, 'place');
  installed = join(place, 'node_modules/@daybook/daybook');
  for (const path of SOURCES) await cp(join(TOP, path), join(copy, path), { recursive: true });
  // What operators of a checkout have there.
  for (const own of OWN_FILES) {
    await mkdir(dirname(join(copy, own)), { recursive: true });
    await writeFile(join(copy, own), 'a secret');
  }
  await symlink(join(TOP, 'node_modules'), join(copy, 'node_modules'));
  manifest = JSON.parse(await readFile(join(copy, 'package.json'), 'utf8')) as Manifest;
  await writeFile(join(scratch, '.npmrc'), '');
  for (const folder of [packed, place]) await cp(join(scratch, '.npmrc'), join(folder, '.npmrc'));
  [tarball] = JSON.parse(
    await run(copy, 'npm', 'pack', '--silent', '--json', '--pack-destination', packed),
  ) as [typeof tarball];
  await writeFile(join(place, 'package.json'), '{ "private": true, "type": "module" }');
  const [file] = (await readdir(packed)).filter((name) => name.endsWith('.tgz'));
  const install = (name: string) =>
    run(place, 'npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', name);
  await install(join(packed, file!));
  bare = await readdir(join(place, 'node_modules'));
  refused = await Promise.all([
    refusal({}),
    refusal({ DATABASE_URL: 'postgres://db.example/books', DAYBOOK_STATEMENT_FORMATS: 'csv,pdf' }),
  ]);
  await install(`@electric-sql/pglite@${manifest.peerDependencies['@electric-sql/pglite']!}`);
  await run(place, 'npx', '--no-install', 'daybook', 'demo');
}, TIME_MS);
afterAll(() => rm(scratch, { recursive: true, force: true }));

test('it holds the built program and what that reads, and nothing of its making', () => {
  const paths = tarball.files.map(({ path }) => path);
  const tops = new Set(paths.map((path) => path.split('/')[0]));
  expect([...tops].sort()).toEqual(
    [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'bin',
      'config',
      'deploy',
      'dist',
      'docs',
      'package.json',
      'sql',
      'src',
    ].sort(),
  );
  // Of the source what is read as it is: style sheet and icon of the pages.
  expect(paths.filter((path) => path.startsWith('src/')).sort()).toEqual([
    'src/plugins/pages/access/common-passwords.txt',
    'src/plugins/pages/html/assets/copy.js',
    'src/plugins/pages/html/assets/icon.svg',
    'src/plugins/pages/html/assets/pages.css',
  ]);
  expect(
    paths.filter((path) => /(?<!\.d)\.ts$|\.test\.|(^|\/)(test|bench|scripts|decisions)\//.test(path)),
  ).toEqual([]);
  expect(paths).toEqual(
    expect.arrayContaining([
      ...['dist/src/main.js', 'dist/verify.mjs', 'dist/sbom.cdx.json', 'docs/library.md', 'docs/runbook.md'],
      ...['deploy/compose.yaml', 'deploy/logins.sql', 'deploy/systemd/daybook-schedule.service'],
      ...[
        'deploy/kubernetes/kustomization.yaml',
        'deploy/prometheus/rules.yaml',
        'deploy/grafana/daybook.json',
      ],
      ...['sql/0004_ledger.sql', 'sql/roles/job.sql', 'config/daybook.example.yaml', 'config/sandbox.yaml'],
      ...Object.values(manifest.exports).map((path) => path.slice(2)),
    ]),
  );
});

test('settings and secrets of whoever packed it are not in it, and what its pages link to of deploy is', async () => {
  const paths = tarball.files.map(({ path }) => path);
  expect(OWN_FILES.filter((own) => paths.includes(own))).toEqual([]);
  const pages = paths.filter((path) => /^(README|docs\/.*)\.md$/.test(path));
  const texts = await Promise.all(pages.map((path) => readFile(join(installed, path), 'utf8')));
  const named = new Set(
    texts.join('\n').match(/\bdeploy\/[\w./@-]*\.(?:yaml|json|sql|service|example\.env)\b/g),
  );
  expect(named.size).toBeGreaterThan(8);
  expect([...named].filter((path) => !paths.includes(path))).toEqual([]);
});

test('its modules are joined: each source is in one file, below its name', async () => {
  const built = tarball.files.map(({ path }) => path).filter((path) => path.endsWith('.js'));
  const texts = await Promise.all(built.map((path) => readFile(join(installed, path), 'utf8')));
  const sources = texts.flatMap((text) => text.match(/^\/\/ -{10} src\/.*$/gm) ?? []);
  expect(sources.length).toBeGreaterThan(300);
  expect(new Set(sources).size).toBe(sources.length);
  expect(built.length).toBeLessThan(sources.length / 2);
});

test('the list of packages in it is that of `npm run sbom`', async () => {
  const listed = (text: string) =>
    (JSON.parse(text) as { components: { name: string; version: string }[] }).components;
  const inPackage = await readFile(join(installed, 'dist/sbom.cdx.json'), 'utf8');
  expect(listed(inPackage)).toEqual(listed(sbom()));
});

test('installed, the command runs: its version, its migrations, and verify of what the demo published', async () => {
  const daybook = (...args: readonly string[]) => run(place, 'npx', '--no-install', 'daybook', ...args);
  expect(await daybook('--version')).toBe(`${manifest.version}\n`);
  const [checked] = (await daybook('verify', '.daybook/demo/statements')).split('\n');
  expect(checked).toBe('70 files of 21 manifests checked: all unchanged since publication');
  const alone = await run(
    place,
    process.execPath,
    join(installed, 'dist/verify.mjs'),
    '.daybook/demo/statements',
  );
  expect(alone.split('\n')[0]).toBe(checked);
  expect(JSON.parse(await daybook('runs', '--json', '--config', '.daybook/demo.yaml'))).toHaveLength(1);
});

test('installed, it has no package that only some settings need; who asks for one is told how to install it', () => {
  const { peerDependencies } = manifest;
  const tops = Object.keys(peerDependencies).filter((name) => !name.startsWith('@opentelemetry/'));
  expect(tops.filter((name) => bare.includes(name.split('/')[0]!))).toEqual([]);
  const install = (name: string) => `npm install ${name}@${peerDependencies[name]!}`;
  expect(refused).toEqual([
    { code: 2, stderr: expect.stringContaining(install('@electric-sql/pglite')) as string },
    { code: 2, stderr: expect.stringContaining(install('pdfkit')) as string },
  ]);
});

test('a Node that is too old gets a sentence, not a stack', async () => {
  const old = join(scratch, 'old');
  await cp(join(installed, 'bin'), join(old, 'bin'), { recursive: true });
  await writeFile(join(old, 'package.json'), '{ "type": "module", "engines": { "node": ">=99.1.0" } }');
  await expect(run(old, process.execPath, 'bin/daybook.js', '--version')).rejects.toMatchObject({
    code: 2,
    stderr:
      `daybook: this is Node ${process.versions.node} (${process.execPath}), and daybook needs 99.1.0 or newer. ` +
      'Install that from https://nodejs.org, or beside daybook: npm install node@24\n',
  });
});

test('each export can be imported, and nothing else', async () => {
  const names = Object.keys(manifest.exports).filter((name) => name !== './package.json');
  expect(names).toEqual(['.', './ledger', './statements', './verify']);
  const script = names
    .map(
      (name) =>
        `console.log(Object.keys(await import('@daybook/daybook${name.slice(1)}')).sort().join(' '));`,
    )
    .join('\n');
  const reported = (await run(place, process.execPath, '--input-type=module', '--eval', script))
    .trim()
    .split('\n');
  const [all, ...parts] = reported.map((line) => line.split(' '));
  expect(all).toEqual(parts.flat().sort());
  expect(parts.at(-1)).toEqual(['NothingToVerify', 'readPublicKey', 'verifyPaths']);
  const inner = "import '@daybook/daybook/dist/src/run/run.js';";
  await expect(run(place, process.execPath, '--input-type=module', '--eval', inner)).rejects.toMatchObject({
    stderr: expect.stringContaining('ERR_PACKAGE_PATH_NOT_EXPORTED') as string,
  });
});

test(
  'the examples of docs/library.md are right: TypeScript takes them, and they print what stands there',
  async () => {
    const page = await readFile(join(TOP, 'docs/library.md'), 'utf8');
    const block = (kind: string, name: string): string =>
      new RegExp(`<!-- ${kind}: ${name} -->\\s+\`\`\`(?:ts)?\\n([^]*?)\`\`\``).exec(page)![1]!;
    const names = [...page.matchAll(/<!-- example: (\w+) -->/g)].map(([, name]) => name!);
    expect(names).toEqual(['statements', 'ledger']);
    for (const name of names) await writeFile(join(place, `${name}.ts`), block('example', name));
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
    const types = ['--typeRoots', join(TOP, 'node_modules/@types')];
    const files = names.map((name) => `${name}.ts`);
    await run(
      place,
      process.execPath,
      join(TOP, 'node_modules/typescript/bin/tsc'),
      ...options,
      ...types,
      ...files,
    );
    for (const name of names) {
      expect(await run(place, process.execPath, `${name}.ts`)).toBe(block('prints', name));
    }
  },
  TIME_MS,
);
