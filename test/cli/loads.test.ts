/** What a command loads: its own code and packages, and no other's. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStage, scenario, type Stage } from '../support/stage.ts';
import { envOf, type Env } from './daybook.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 10 }) });
});
afterAll(() => stage.close());

/** Writes the files that were loaded to stderr as the process ends. */
const LISTED = `
  import { registerHooks } from 'node:module';
  const loaded = [];
  registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
  process.on('exit', () => process.stderr.write('LOADED' + JSON.stringify(loaded)));`;

interface Loaded {
  /** Names of packages. */
  readonly packages: ReadonlySet<string>;
  /** Folders of plugins of which more is loaded than comes with the list. */
  readonly plugins: ReadonlySet<string>;
  readonly ownCount: number;
}

async function urlsLoaded(file: string, args: readonly string[], env: Env): Promise<string[]> {
  const listed = `--import=data:text/javascript,${encodeURIComponent(LISTED)}`;
  const { stderr } = await promisify(execFile)(process.execPath, [listed, file, ...args], {
    env: { PATH: process.env['PATH'], ...env },
    maxBuffer: 64e6,
  });
  return JSON.parse(stderr.slice(stderr.indexOf('LOADED') + 'LOADED'.length)) as string[];
}

/** What the list of plugins loads. */
let withList: ReadonlySet<string>;
beforeAll(async () => {
  withList = new Set(await urlsLoaded('src/main.ts', ['--version'], {}));
});

/** What plugins declare as settings, which every command that reads settings loads. */
const DECLARED = /\/(?:settings|mail\/recipients|access\/credentials)\.ts$/;

async function loadedBy(args: readonly string[], env: Env): Promise<Loaded> {
  const urls = await urlsLoaded('src/main.ts', args, env);
  const own = urls.filter((url) => !url.includes('/node_modules/') && /\/(?:src|jobs)\//.test(url));
  return {
    packages: new Set(
      urls.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.slice(1) ?? []),
    ),
    plugins: new Set(
      own
        .filter((url) => !withList.has(url) && !DECLARED.test(url))
        .flatMap((url) => /\/src\/plugins\/([^/]+)\//.exec(url)?.slice(1) ?? []),
    ),
    ownCount: own.filter((url) => !url.includes('/src/plugins/')).length,
  };
}

/** What only some commands or settings need. */
const HEAVY = [
  'fastify',
  'pdfkit',
  '@aws-sdk/client-s3',
  'pg-boss',
  'nodemailer',
  'prom-client',
  'openid-client',
];
const heavyOf = ({ packages }: Loaded): string[] => HEAVY.filter((name) => packages.has(name));

test('--help loads commander, the list of commands, and the code of none', async () => {
  const loaded = await loadedBy(['--help'], {});
  expect([...loaded.packages]).toEqual(['commander']);
  expect([...loaded.plugins]).toEqual([]);
  expect(loaded.ownCount).toBeLessThan(30);
});

test('status loads of the plugins what own books lack, and nothing that calls, serves or writes', async () => {
  const loaded = await loadedBy(['status'], envOf(stage));
  expect(heavyOf(loaded)).toEqual([]);
  expect(['undici', 'yaml', '@electric-sql/pglite'].filter((name) => loaded.packages.has(name))).toEqual([]);
  expect([...loaded.plugins]).toEqual(['books']);
});

test('a night over a folder and a server loads no plugin', async () => {
  const loaded = await loadedBy(['run'], envOf(stage));
  expect(heavyOf(loaded)).toEqual([]);
  expect(loaded.packages.has('undici')).toBe(true);
  expect([...loaded.plugins]).toEqual([]);
});
