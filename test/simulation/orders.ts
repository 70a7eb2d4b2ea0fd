/**
 * Plays the commands themselves, in any order and each in a process: nights, runs, backfills, reconciles, adoptions into an empty
 * database, and kills by the system. After each command the laws hold, or its exit code says that something differs.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { sql, type Kysely } from 'kysely';
import { EXIT } from '../../src/ledger/ending.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { verifyPaths } from '../../src/verify/verify.ts';
import { unbalanced, wrongSums } from '../support/balance-law.ts';
import { emptyTables } from '../support/database.ts';
import { acceptAllHeld } from '../support/held.ts';
import { PLAIN_ZONE, plainMs, startPlainPlatform, type PlainPlatform } from '../support/plain-platform.ts';
import { differencesFromLaw } from '../support/positive-law.ts';
import { copyDatabase } from '../support/postgres-server.ts';
import { createPlainBooks, FIRST_DAY, lineCases, type Line, type PlainBooks } from './plain-books.ts';
import type { Oracle } from './oracle.ts';
import { readPublished } from './published.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const DAYS = 20;
/** What is absent is held at first; a person accepts it, and the next run is calm. */
const CALM_RUNS = 3;
const MERCHANT_NO = 'M-ORDERS';
const FOLDERS = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const RUNNER = fileURLToPath(new URL('../support/command-runner.ts', import.meta.url));

type Act =
  | { readonly what: 'night' | 'adopt' }
  | { readonly what: 'run' | 'backfill' | 'reconcile'; readonly from: number; readonly days: number };

/** When the process is killed: at a call of the platform, or once so many files more are in the store. */
type Kill = { readonly atCall: number } | { readonly atFile: number };

interface Step {
  /** Which entry moves to which day, or what is booked; null for neither. */
  readonly change: { readonly pick: number; readonly day: number } | { readonly line: Line } | null;
  readonly act: Act;
  readonly kill: Kill | null;
}

export interface OrderCase {
  readonly lines: readonly Line[];
  /** Which entry the platform hides until the calm at the end; null for none. */
  readonly hidden: number | null;
  readonly steps: readonly Step[];
}

const days = fc.nat(DAYS - 1);
const lines = lineCases(DAYS);
const orderCases: fc.Arbitrary<OrderCase> = fc.record({
  lines: fc.array(lines, { minLength: 2, maxLength: 10 }),
  hidden: fc.option(fc.nat(9), { freq: 2 }),
  steps: fc.array(
    fc.record<Step>({
      change: fc.oneof(
        { weight: 3, arbitrary: fc.constant(null) },
        { weight: 1, arbitrary: fc.record({ pick: fc.nat(20), day: days }) },
        { weight: 1, arbitrary: fc.record({ line: lines }) },
      ),
      act: fc.oneof(
        { weight: 3, arbitrary: fc.constant<Act>({ what: 'night' }) },
        {
          weight: 6,
          arbitrary: fc
            .record({
              what: fc.constantFrom(
                'run' as const,
                'run' as const,
                'backfill' as const,
                'reconcile' as const,
              ),
              from: days,
              to: days,
            })
            .map(({ what, from, to }) => ({
              ...{ what, from: Math.min(from, to), days: Math.abs(from - to) + 1 },
            })),
        },
        { weight: 1, arbitrary: fc.constant<Act>({ what: 'adopt' }) },
      ),
      kill: fc.oneof(
        { weight: 3, arbitrary: fc.constant(null) },
        { weight: 1, arbitrary: fc.record({ atCall: fc.nat(4) }) },
        { weight: 1, arbitrary: fc.record({ atFile: fc.integer({ min: 1, max: 12 }) }) },
      ),
    }),
    { minLength: 2, maxLength: 6 },
  ),
});

interface Ended {
  /** Null where the process was killed. */
  readonly code: number | null;
  readonly said: string;
}

/** Runs command lines in a process that is kept for the next one, until it is killed. */
function createCommands() {
  let kept: ChildProcess | null = null;
  const run = (args: readonly string[], env: Record<string, string>, onStart: (end: () => void) => void) =>
    new Promise<Ended>((resolve) => {
      const child = (kept ??= fork(RUNNER, {
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
        env: { PATH: process.env['PATH'] },
      }));
      const mark = '\nEND OF COMMAND ';
      const heard = { stdout: '', stderr: '' };
      const settle = (code: number | null): void => {
        child.removeAllListeners('close');
        child.stdout!.removeAllListeners('data');
        child.stderr!.removeAllListeners('data');
        if (code === null) kept = null;
        resolve({ code, said: `${heard.stdout}${heard.stderr}`.replaceAll(mark, '').slice(-600) });
      };
      for (const stream of ['stdout', 'stderr'] as const)
        child[stream]!.setEncoding('utf8').on('data', (text: string) => {
          heard[stream] += text;
          const [, code] = heard.stdout.split(mark);
          if (code?.endsWith('\n') === true && heard.stderr.includes(mark)) settle(Number(code));
        });
      child.on('close', () => settle(null));
      child.send({ args, env, cwd: undefined, mark, coverage: null });
      onStart(() => child.kill('SIGKILL'));
    });
  return { run, close: () => void kept?.kill() };
}

interface Stage {
  readonly db: Kysely<DB>;
  readonly url: string;
  readonly platform: PlainPlatform;
  readonly books: PlainBooks;
  readonly commands: ReturnType<typeof createCommands>;
  readonly home: string;
  readonly folder: string;
  nowMs: number;
  /** False between an empty database and its adoption: until then publishing refuses what it does not know. */
  isAdopted: boolean;
}

const dayText = (nth: number): string =>
  new Date(Date.parse(FIRST_DAY) + nth * DAY_MS).toISOString().slice(0, 10);
const beginOf = (day: string): number => plainMs(`${day} 00:00:00`);

const envOf = ({ platform, url, home, folder, nowMs }: Stage): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  PLATFORM_BASE_URL: platform.url,
  PLATFORM_TIME_ZONE: PLAIN_ZONE,
  PLATFORM_MERCHANT_NO: MERCHANT_NO,
  PLATFORM_TOKEN: 'made-up',
  PLATFORM_RETRIES_MAX: '0',
  DATABASE_URL: url,
  DATABASE_POOL_SIZE: '2',
  DAYBOOK_DATA_DIR: home,
  STATEMENTS_URL: pathToFileURL(folder).href,
  DAYBOOK_RESWEEP_DAYS: '2',
  DAYBOOK_NOW: new Date(nowMs).toISOString(),
});

function argsOf(act: Act): string[] {
  if (!('from' in act)) return act.what === 'night' ? ['run'] : ['statements', 'adopt', '--by', 'simulation'];
  const range = ['--from', dayText(act.from), '--to', dayText(act.from + act.days - 1)];
  return [act.what, ...range, ...(act.what === 'backfill' ? ['--now'] : [])];
}

/** Plans the kill, which may come too late. */
function plan({ platform, folder }: Stage, kill: Kill | null, end: () => void): () => void {
  if (kill === null) return () => undefined;
  if ('atCall' in kill) {
    const from = platform.calls.length;
    platform.alter = (honest, { nth }) => {
      if (nth === from + kill.atCall) end();
      return honest;
    };
    return () => void (platform.alter = (honest) => honest);
  }
  let first: number | null = null;
  const timer = setInterval(() => {
    void readdir(folder, { recursive: true }).then(
      (found) => {
        first ??= found.length;
        if (found.length >= first + kill.atFile) end();
      },
      () => (first ??= 0),
    );
  }, 3);
  return () => clearInterval(timer);
}

async function command(stage: Stage, act: Act, kill: Kill | null): Promise<Ended> {
  let cancel: () => void = () => undefined;
  const ended = await stage.commands.run(
    argsOf(act),
    envOf(stage),
    (end) => (cancel = plan(stage, kill, end)),
  );
  cancel();
  await sql`UPDATE lease SET expires_at = '1970-01-01'`.execute(stage.db);
  return ended;
}

async function play(stage: Stage, { change, act, kill }: Step): Promise<string[]> {
  const { db, books } = stage;
  if (change !== null) books.change(change);
  stage.nowMs += act.what === 'night' ? DAY_MS : 2 * HOUR_MS;
  if (act.what === 'adopt') {
    await emptyTables(db);
    stage.isAdopted = false;
  }
  const ended = await command(stage, act, kill);
  if (act.what === 'adopt') stage.isAdopted = ended.code === EXIT.done;
  const findings = await unbalanced({ db, merchantNo: MERCHANT_NO });
  if (ended.code === null && kill !== null) return findings;
  return [...findings, ...(await wrongEnd(stage, act, ended))];
}

/** What the exit code does not tell. */
async function wrongEnd(stage: Stage, act: Act, { code, said }: Ended): Promise<string[]> {
  const codes: readonly (number | null)[] = [EXIT.done, EXIT.needsPerson, EXIT.incomplete];
  if (act.what !== 'adopt' && stage.isAdopted && !codes.includes(code))
    return [`a command ended with a code that is none of a run: ${code}, ${said}`];
  if (code !== EXIT.done || act.what === 'adopt') return [];
  const { figures, statements } = await differencesOf(stage);
  const isPublished = act.what !== 'reconcile';
  const differing = [...figures, ...(isPublished ? [...statements, ...(await wrongFiles(stage))] : [])];
  return differing.map((one) => `a command ended with 0, but something differs: ${one}`);
}

const differencesOf = ({ db, folder, nowMs }: Stage) =>
  differencesFromLaw({ db, folder, merchantNo: MERCHANT_NO, nowMs, beginOf });

async function wrongFiles({ db, folder }: Stage): Promise<string[]> {
  const { statements } = await readPublished(folder, MERCHANT_NO);
  const { problems } = statements.size === 0 ? { problems: [] } : await verifyPaths([folder]);
  return [
    ...(await wrongSums({ db, merchantNo: MERCHANT_NO, folder })),
    ...problems.map(({ problem }) => `verify is not green: ${problem}`),
  ];
}

/** Runs over all days while nothing goes wrong and nothing is hidden. */
async function calm(stage: Stage): Promise<string[]> {
  stage.books.show();
  if (!stage.isAdopted) await command(stage, { what: 'adopt' }, null);
  const through = Math.floor((stage.nowMs - beginOf(FIRST_DAY)) / DAY_MS);
  let last: Ended | null = null;
  for (let run = 0; run < CALM_RUNS; run += 1) {
    stage.nowMs += 2 * HOUR_MS;
    last = await command(stage, { what: 'run', from: 0, days: through }, null);
    await acceptAllHeld(stage.db, new Date(stage.nowMs));
  }
  const { figures, statements } = await differencesOf(stage);
  const findings = [...figures, ...statements, ...(await wrongFiles(stage))];
  findings.push(...(await unbalanced({ db: stage.db, merchantNo: MERCHANT_NO })));
  if (last!.code !== EXIT.done)
    findings.push(`the last calm run does not end with 0: ${last!.code}, ${last!.said}`);
  const { rows } = await sql<{ batch_no: string }>`
    SELECT batch_no FROM ledger_entry WHERE vanished_at IS NULL ORDER BY batch_no`.execute(stage.db);
  const stored = rows.map(({ batch_no: batchNo }) => batchNo).join();
  const shown = stage.books
    .entries()
    .map(({ batchNo }) => batchNo)
    .sort()
    .join();
  if (stored !== shown) findings.push(`the stored entries are not the platform's: ${stored}, not ${shown}`);
  return findings.map((one) => `at the end: ${one}`);
}

/** Needs a PostgreSQL server with the migrated template. */
export async function orderOracle(serverUrl: string): Promise<Oracle<OrderCase>> {
  const url = await copyDatabase(serverUrl);
  const database = await openDatabase({ databaseUrl: url, dataDir: '', connectionsMax: 2 });
  const platform = await startPlainPlatform();
  const commands = createCommands();
  const check = async (drawn: OrderCase): Promise<readonly string[]> => {
    await emptyTables(database.db);
    const home = await mkdtemp(join(FOLDERS, 'daybook-orders-'));
    const books = createPlainBooks(drawn.lines, drawn.hidden);
    const nowMs = beginOf(dayText(DAYS)) + 1.5 * HOUR_MS;
    const folder = join(home, 'statements');
    const stage: Stage = {
      db: database.db,
      url,
      platform,
      books,
      commands,
      home,
      folder,
      nowMs,
      isAdopted: true,
    };
    platform.entriesOf = () => books.entries().filter(({ atMs }) => atMs <= stage.nowMs);
    const broken: string[] = [];
    try {
      for (const [at, step] of drawn.steps.entries())
        broken.push(...(await play(stage, step)).map((one) => `step ${at} (${step.act.what}): ${one}`));
      return [...broken, ...(await calm(stage))];
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  };
  const close = async (): Promise<void> => {
    commands.close();
    await platform.close();
    await database.close();
  };
  return { kind: 'orders', cases: orderCases, check, close };
}
