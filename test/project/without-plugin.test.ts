/**
 * A plugin is gone with its lines in `src/plugins.ts`: in a copy without it the types hold, the night runs, and what asks for it is refused
 * with a sentence. Without any plugin, the quick tests of the core hold as well.
 *
 * @module-tag long
 */
import { execFile, execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PLUGINS } from '../../src/plugins.ts';
import { readScenario } from '../../src/plugins/sandbox/scenario.ts';
import { createSandbox } from '../../src/plugins/sandbox/server.ts';
import { freshDatabaseUrl } from '../support/database.ts';
import { quickTests } from '../support/quick-tests.ts';

const TIME_MS = 180_000;
const TOP = fileURLToPath(new URL('../..', import.meta.url));
const BIN = join(TOP, 'node_modules/.bin');
const DAY = '2026-03-20';
const NAMES = PLUGINS.map(({ name }) => name);
/** The tests of the core that need neither a server nor a plugin. */
const OF_CORE = quickTests(TOP, /\/src\/plugins\//).filter((file) =>
  /^test\/(ledger|platform|sync|statements|months|run)\//.test(file),
);

let scratch: string;
let folder: string;
let night: Readonly<Record<string, string>>;
const sandbox = createSandbox(readScenario(join(TOP, 'config/sandbox.yaml')));

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'daybook-without-'));
  folder = join(scratch, 'copy');
  const { url } = await sandbox.listen({ port: 0 });
  night = {
    PLATFORM_BASE_URL: url,
    PLATFORM_TIME_ZONE: 'Asia/Shanghai',
    PLATFORM_MERCHANT_NO: 'SANDBOX-10002',
    PLATFORM_TOKEN: 'made-up-token-of-10002',
    DAYBOOK_NOW: '2026-04-01T02:00:00Z',
  };
});
afterAll(async () => {
  await sandbox.close();
  await rm(scratch, { recursive: true, force: true });
});

/** These plugins, and those that need one of them. */
function goneWith(names: readonly string[]): readonly string[] {
  const more = PLUGINS.filter(
    ({ name, needs = [] }) => !names.includes(name) && needs.some((one) => names.includes(one)),
  ).map(({ name }) => name);
  return more.length === 0 ? names : goneWith([...names, ...more]);
}

/** `plugins.ts` without the two lines of each of these. */
function listWithout(text: string, gone: readonly string[]): string {
  const imported = [...text.matchAll(/^import \{ (\w+) \} from '\.\/plugins\/([^/]+)\/plugin\.ts';$/gm)];
  const values = new Map(imported.map(([, value, name]) => [name!, value!]));
  const lines = gone.flatMap((name) => [
    `import { ${values.get(name)!} } from './plugins/${name}/plugin.ts';`,
    `  ${values.get(name)!},`,
  ]);
  return text
    .split('\n')
    .filter((line) => !lines.some((one) => line === one || line.startsWith(`${one} //`)))
    .join('\n');
}

/** Makes the copy anew, without these plugins and their folders. */
function copyWithout(names: readonly string[]): void {
  const gone = goneWith(names);
  rmSync(folder, { recursive: true, force: true });
  const files = execFileSync(
    'git',
    ['ls-files', 'src', 'jobs', 'sql', 'config', 'test', 'scripts', '*.json', '*.ts'],
    {
      cwd: TOP,
      encoding: 'utf8',
    },
  );
  for (const file of files.trim().split('\n')) {
    const isGone = gone.some((name) => file.startsWith(`src/plugins/${name}/`));
    const isOtherTest = file.endsWith('.test.ts') && !OF_CORE.includes(file);
    if (isGone || isOtherTest || !existsSync(join(TOP, file))) continue;
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    cpSync(join(TOP, file), join(folder, file));
  }
  symlinkSync(join(TOP, 'node_modules'), join(folder, 'node_modules'));
  const list = join(folder, 'src/plugins.ts');
  writeFileSync(list, listWithout(readFileSync(list, 'utf8'), gone));
  const tsconfig = { extends: './tsconfig.json', include: ['src', 'jobs'] };
  writeFileSync(join(folder, 'program.json'), JSON.stringify(tsconfig));
}

/** Runs a program in the copy; its output. Rejects with the output of one that fails. */
async function inCopy(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const PATH = `${BIN}:${process.env['PATH'] ?? ''}`;
  const asked = { cwd: folder, env: { PATH, ...env }, maxBuffer: 64e6 };
  return promisify(execFile)(command, args, asked).then(
    ({ stdout }) => stdout,
    (error: unknown) => {
      const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
      throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}\n${stderr}`);
    },
  );
}

interface Refusal {
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly says: RegExp;
}

/** What asks for a plugin, and what is said where that is gone. */
const REFUSED: Readonly<Record<string, readonly Refusal[]>> = {
  formats: [
    {
      args: ['status'],
      env: { DAYBOOK_STATEMENT_FORMATS: 'csv' },
      says: /DAYBOOK_STATEMENT_FORMATS is no setting/,
    },
    { args: ['statements', 'get', '--format', 'pdf'], says: /Allowed choices are csv, spreadsheet/ },
  ],
  queue: [
    {
      args: ['status'],
      env: { DAYBOOK_WORKERS: 'queue', DATABASE_URL: 'postgres://127.0.0.1/books' },
      says: /DAYBOOK_WORKERS is no setting/,
    },
  ],
  alerts: [
    {
      args: ['status'],
      env: { DAYBOOK_PING_URL: 'https://ping.example/1' },
      says: /DAYBOOK_PING_URL is no setting/,
    },
  ],
  embedded: [{ args: ['status'], says: /DATABASE_URL/ }],
};

/** A day read, proven and published, and what is listed of it. */
async function nightRuns(): Promise<void> {
  const DAYBOOK_DATA_DIR = join(scratch, `data-${randomUUID()}`);
  const env = { ...night, DAYBOOK_DATA_DIR, DATABASE_URL: await freshDatabaseUrl() };
  const daybook = async (...args: string[]): Promise<unknown> =>
    JSON.parse(await inCopy('node', ['src/main.ts', ...args, '--json'], env));
  expect(await daybook('run', '--from', DAY, '--to', DAY)).toMatchObject({ exitCode: 0 });
  const listed = (await daybook('statements', 'list')) as {
    readonly day: string;
    readonly currency: string;
  }[];
  const days = listed.map(({ day, currency }) => `${day} ${currency}`);
  expect(days.sort()).toEqual([`${DAY} HKD`, `${DAY} JPY`]);
}

const typesHold = (): Promise<string> =>
  inCopy('tsc', ['-p', 'program.json', '--incremental', '--tsBuildInfoFile', join(scratch, 'types.json')]);

test.each(NAMES)('without %s', { timeout: TIME_MS }, async (name) => {
  copyWithout([name]);
  await typesHold();
  await nightRuns();
  for (const { args, env, says } of REFUSED[name] ?? [])
    await expect(inCopy('node', ['src/main.ts', ...args], { ...night, ...env })).rejects.toThrow(says);
});

test('without any', { timeout: TIME_MS }, async () => {
  copyWithout(NAMES);
  expect(readFileSync(join(folder, 'src/plugins.ts'), 'utf8')).not.toContain('./plugins/');
  await typesHold();
  await nightRuns();
  expect(await inCopy('node', ['src/main.ts', '--help'])).not.toContain('sandbox');
  expect(OF_CORE.length).toBeGreaterThan(20);
  expect(await inCopy('vitest', ['run', ...OF_CORE], { DAYBOOK_TEST_QUICK: '1' })).toMatch(/Tests.* passed/);
});
