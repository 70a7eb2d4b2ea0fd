/**
 * Each option can be taken away by its folder and its lines in the list: the night runs in what is left, and its types, its layers
 * and the quick tests of the core hold. These take a minute, so they are made without any option and without one, which the
 * commit says; `DAYBOOK_TEST_WITHOUT=all` or a name makes them without each, or without that one.
 *
 * @module-tag long
 */
import { execFile, execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { copyWithout, readTree } from '../../scripts/without-option.ts';
import { OPTIONS } from '../../src/options/all.ts';
import { readScenario } from '../../src/options/sandbox/scenario.ts';
import { createSandbox } from '../../src/options/sandbox/server.ts';
import { freshDatabaseUrl } from '../support/database.ts';

const TIME_MS = 180_000;
const BIN = fileURLToPath(new URL('../../node_modules/.bin', import.meta.url));
const DAY = '2026-03-20';

let scratch: string;
let folder: string;
const tree = readTree();
let night: Readonly<Record<string, string>>;
const sandbox = createSandbox(
  readScenario(fileURLToPath(new URL('../../config/sandbox.yaml', import.meta.url))),
);

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

/** Runs a program in the copy; its output. Rejects with the output of one that fails. */
async function inCopy(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const PATH = `${BIN}:${process.env['PATH'] ?? ''}`;
  const { stdout } = await promisify(execFile)(command, args, {
    cwd: folder,
    env: { PATH, ...env },
    maxBuffer: 64e6,
  });
  return stdout;
}

/** What asks for an option, and what is said where that is gone. */
const REFUSED: Readonly<
  Record<
    string,
    readonly { readonly args: readonly string[]; readonly env?: NodeJS.ProcessEnv; readonly says: RegExp }[]
  >
> = {
  formats: [
    {
      args: ['status'],
      env: { DAYBOOK_STATEMENT_FORMATS: 'csv,xlsx' },
      says: /DAYBOOK_STATEMENT_FORMATS must be a list of csv \(it is 'csv,xlsx'\)/,
    },
    { args: ['statements', 'get', '--format', 'pdf'], says: /Allowed choices are csv, spreadsheet/ },
  ],
  signing: [
    {
      args: ['status'],
      env: { DAYBOOK_SIGNING_KEY: 'a key' },
      says: /DAYBOOK_SIGNING_KEY asks for signatures, which this copy of daybook was made without/,
    },
    { args: ['verify', '--public-key', 'a key', '.'], says: /signatures cannot be checked/ },
    { args: ['statements', 'keygen'], says: /unknown command 'keygen'/ },
  ],
  queue: [
    {
      args: ['status'],
      env: { DAYBOOK_WORKERS: 'queue', DATABASE_URL: 'postgres://127.0.0.1/books' },
      says: /DAYBOOK_WORKERS asks for the queue of workers, which this copy of daybook was made without/,
    },
  ],
  alerts: [
    {
      args: ['status'],
      env: { DAYBOOK_PING_URL: 'https://ping.example/1' },
      says: /DAYBOOK_PING_URL names a receiver of alerts, and nothing would reach it/,
    },
  ],
  mail: [
    {
      args: ['status'],
      env: {
        DAYBOOK_STATEMENT_MAIL:
          '[{"name":"Anna","to":"anna@company.example","every":"day","from":"2026-03-01"}]',
        DAYBOOK_ALERT_MAIL_FROM: 'daybook@company.example',
        DAYBOOK_SMTP_URL: 'smtp://127.0.0.1',
      },
      says: /DAYBOOK_STATEMENT_MAIL asks for statements by mail, and this copy of daybook was made without them/,
    },
  ],
  embedded: [{ args: ['status'], says: /DATABASE_URL/ }],
};

/** A day read, proven and published, and what `status` says of it. */
async function nightRuns(): Promise<void> {
  const DAYBOOK_DATA_DIR = join(scratch, `data-${randomUUID()}`);
  const env = { ...night, DAYBOOK_DATA_DIR, DATABASE_URL: await freshDatabaseUrl() };
  const run = JSON.parse(
    await inCopy('node', ['src/cli/main.ts', 'run', '--from', DAY, '--to', DAY, '--json'], env),
  ) as { readonly exitCode: number };
  expect(run.exitCode).toBe(0);
  const listed = JSON.parse(
    await inCopy('node', ['src/cli/main.ts', 'statements', 'list', '--json'], env),
  ) as {
    readonly day: string;
    readonly currency: string;
  }[];
  expect(listed.map(({ day, currency }) => `${day} ${currency}`).sort()).toEqual([
    `${DAY} HKD`,
    `${DAY} JPY`,
  ]);
}

/** The pages of documentation are those of the complete product. */
const QUICK = ['run', '--exclude', 'test/docs/**'];

async function holds(): Promise<void> {
  await inCopy('tsc', ['--noEmit', '--incremental', '--tsBuildInfoFile', '../types.json']);
  expect(await inCopy('node', ['scripts/imports.ts'])).toMatch(/^0 wrong imports/);
  expect(await inCopy('vitest', QUICK, { DAYBOOK_TEST_QUICK: '1' })).toMatch(/Tests.* passed/);
}

const NAMES = OPTIONS.map(({ name }) => name);
const asked = process.env['DAYBOOK_TEST_WITHOUT'];
const isComplete = (name: string): boolean =>
  asked === undefined ? name === NAMES[commitNumber() % NAMES.length] : asked === 'all' || asked === name;

/** The commit's hash as a number; 0 outside of a repository. */
function commitNumber(): number {
  try {
    return Number.parseInt(execFileSync('git', ['rev-parse', '--short=7', 'HEAD'], { encoding: 'utf8' }), 16);
  } catch {
    return 0;
  }
}

test.each(NAMES)('without %s', { timeout: TIME_MS }, async (name) => {
  await rm(folder, { recursive: true, force: true });
  expect(copyWithout(tree, [name], folder).gone).toContain(name);
  // No file that is left reaches one that is gone.
  await nightRuns();
  for (const { args, env, says } of REFUSED[name] ?? [])
    await expect(inCopy('node', ['src/cli/main.ts', ...args], { ...night, ...env })).rejects.toThrow(says);
  if (isComplete(name)) await holds();
});

test('without any', { timeout: TIME_MS }, async () => {
  await rm(folder, { recursive: true, force: true });
  expect([...copyWithout(tree, NAMES, folder).gone].sort()).toEqual([...NAMES].sort());
  await holds();
  expect(await inCopy('node', ['src/cli/main.ts', '--help'])).not.toContain('sandbox');
  await nightRuns();
});
