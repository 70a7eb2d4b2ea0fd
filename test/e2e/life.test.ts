/**
 * A life of many merchants on real parts, as docs/operations.md and docs/reference promise it: four workers as processes, tokens that
 * are renewed, an upgrade without a stop, and a copy of the database next to the living one. Files are compared with CSV made
 * here from what the platform shows.
 *
 * @module-tag long
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { afterEach, expect, inject, test, vi } from 'vitest';
import { daybook, envOf, startDaybook, type Ended, type Env, type Started } from '../cli/daybook.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import { emptyDatabase, type ServerDatabase } from '../support/database.ts';
import { adminOf, copyDatabase } from '../support/postgres-server.ts';
import { startReceiver, type Receiver } from '../support/receivers.ts';
import { exactDecimal, openStage, scenario, type Stage } from '../support/stage.ts';

/** A hundred, so that the tests stay short; a thousand by hand, in about four minutes: DAYBOOK_TEST_MERCHANTS=1000. */
const MERCHANTS = Number(process.env['DAYBOOK_TEST_MERCHANTS'] ?? 100);
const WORKERS = 4;
const TOP = fileURLToPath(new URL('../../', import.meta.url));
const numbers = Array.from({ length: MERCHANTS }, (_, at) => `L-${String(at).padStart(5, '0')}`);
const tokenOf = (no: string, nth = 1): string => `made-up-${nth}-${no}`;
const [POISONED, THROTTLED, REFUSED] = [numbers[3]!, numbers[7]!, numbers[11]!];
const DAYS = ['2026-03-02', '2026-03-03', '2026-03-04', '2026-03-05'];
const night = (day: string, time = '01:30'): string => `2026-03-0${Number(day.at(-1)) + 1}T${time}:00+08:00`;

let stage: Stage;
let hook: Receiver;
let database: ServerDatabase;
const started = new Set<Started>();
afterEach(async () => {
  for (const { child } of started) child.kill('SIGKILL');
  await database.close();
  await hook.close();
  await stage.close();
});

const start = (args: readonly string[], env: Env, top = TOP): Started => {
  const one = top === TOP ? startDaybook(args, env) : startProgram(top, args, env);
  started.add(one);
  void one.ended.then(() => started.delete(one));
  return one;
};

/** A command of another version of the program. */
function startProgram(top: string, args: readonly string[], env: Env): Started {
  const child = spawn(process.execPath, [join(top, 'src/main.ts'), ...args], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject).on('close', (code) => resolve({ code, stdout, stderr }));
  });
  return { child, ended, reported: () => stderr };
}

/** This program with other migrations, in a folder of its own. */
async function programWith(name: string, changeSql: (folder: string) => Promise<unknown>): Promise<string> {
  const top = join(stage.app.settings.dataDir, name);
  await mkdir(top);
  for (const part of ['src', 'jobs', 'config', 'sql', 'package.json'])
    await cp(join(TOP, part), join(top, part), { recursive: true });
  await symlink(join(TOP, 'node_modules'), join(top, 'node_modules'));
  await changeSql(join(top, 'sql'));
  return top;
}

const until = (holds: () => unknown, timeout = 240_000): Promise<void> =>
  vi.waitFor(async () => expect(await holds()).toBeTruthy(), { timeout, interval: 50 });

const stop = async (one: Started): Promise<void> => {
  one.child.kill('SIGTERM');
  const { code, stderr } = await one.ended;
  expect(code, stderr).toBe(0);
};

const rows = async <Row>(query: ReturnType<typeof sql<Row>>) => (await query.execute(database.db)).rows;
const scalar = async (query: ReturnType<typeof sql<{ value: number }>>) => (await rows(query))[0]!.value;
const openRuns = () =>
  scalar(sql<{ value: number }>`SELECT count(*) AS value FROM run WHERE exit_code IS NULL`);
/** How the last run ended. */
async function expectLastExit(code: number): Promise<void> {
  await until(async () => (await openRuns()) === 0);
  const [last] = await rows(
    sql<{ exit: number; notes: unknown }>`
      SELECT exit_code AS exit, figures->'notes' AS notes FROM run WHERE request IS NOT NULL ORDER BY id DESC LIMIT 1`,
  );
  expect(last!.exit, JSON.stringify(last!.notes)).toBe(code);
}

/** The schedule puts what is due at that time on the queue, and is stopped. */
async function putOnQueue(env: Env): Promise<void> {
  const schedule = start(['schedule'], env);
  await until(() => schedule.reported().includes('job is on the queue'));
  await stop(schedule);
}

async function startWorker(env: Env, top = TOP): Promise<Started> {
  const worker = start(['worker', '--at-once', '4'], env, top);
  await until(() => worker.reported().includes('worker began'));
  return worker;
}

const startWorkers = (env: Env): Promise<Started[]> =>
  Promise.all(Array.from({ length: WORKERS }, () => startWorker(env)));

async function expectNothingLeft(): Promise<void> {
  const left = await rows(sql`
    SELECT (SELECT count(*) FROM request WHERE state = 'waiting') + (SELECT count(*) FROM run_merchant WHERE exit_code IS NULL) AS tasks,
      (SELECT count(*) FROM lease WHERE expires_at > now()) AS leases,
      (SELECT count(*) FROM run WHERE exit_code IS NULL) AS runs,
      (SELECT count(*) FROM daybook_queue.job WHERE name IN ('night', 'dead') AND state <= 'active') AS jobs`);
  expect(left).toEqual([{ tasks: 0, leases: 0, runs: 0, jobs: 0 }]);
}

/** The statement of an account's day, from what the platform shows and from docs/reference/files.md. */
function csvOf(merchantNo: string, currency: string, day: string): string {
  const lines = stage.sandbox
    .entriesOf(merchantNo)
    .filter((entry) => entry.currency === currency && entry.busiDate.startsWith(day))
    .map((entry) => {
      const amount = (wire: string | null) => (wire === null ? '' : exactDecimal(wire, currency));
      const { batchNo, busiDate, busiType, inAmount, outAmount, vailAmount } = entry;
      return [batchNo, busiDate, currency, busiType, amount(inAmount), amount(outAmount), amount(vailAmount)];
    });
  const head = 'batch_no,booked_at,currency,transaction_type,credit,debit,balance';
  return [head, ...lines.map((cells) => cells.join(','))].map((line) => `${line}\r\n`).join('');
}

/** Each of these merchants has these days, once, with the CSV computed here; there is no other; `verify` is green. */
async function expectFiles(merchants: readonly string[], days: readonly string[], env: Env): Promise<void> {
  const folder = join(stage.app.settings.dataDir, 'statements');
  const found = (await readdir(folder, { recursive: true })).filter((name) => /_USD_.*\.csv$/.test(name));
  const expected = merchants.flatMap((no) =>
    days.map((day) => `merchant=${no}/date=${day}/${no}_USD_${day}.r1.csv`),
  );
  expect(found.toSorted()).toEqual(expected.toSorted());
  const wrong: string[] = [];
  for (const name of expected) {
    const [, no, day] = /([^/]+)_USD_(.*)\.r1\.csv$/.exec(name)!;
    if ((await readFile(join(folder, name), 'utf8')) !== csvOf(no!, 'USD', day!)) wrong.push(name);
  }
  expect(wrong).toEqual([]);
  const verify = await daybook(['verify', folder], env);
  expect(verify.code, verify.stdout).toBe(0);
}

/** What receivers got since the last time is this, each message once. */
async function expectAlerts(seen: Set<string>, expected: readonly string[]): Promise<void> {
  const fresh = () => hook.documents().filter(({ id }) => !seen.has(id as string));
  await until(() => fresh().length >= expected.length, 60_000);
  const said = ({ kind, status, merchantCount }: Record<string, unknown>) =>
    [kind, status, merchantCount].join(' ');
  expect(fresh().map(said).sort()).toEqual(expected);
  for (const { id } of fresh()) seen.add(id as string);
}

async function importTokens(
  nth: number,
  env: Env,
  wrong: readonly string[] = [],
): Promise<Record<string, unknown>> {
  const path = join(stage.app.settings.dataDir, 'merchants.csv');
  const lines = numbers.map((no) => `${no},${wrong.includes(no) ? 'not-the-token' : tokenOf(no, nth)}`);
  await writeFile(path, `merchantNo,token\n${lines.join('\n')}\n`, { mode: 0o600 });
  const { code, stdout, stderr } = await daybook(['merchants', 'import', path, '--json'], env);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Record<string, unknown>;
}

async function openLife(): Promise<(iso: string, url?: string) => Env> {
  stage = await openStage({
    scenario: scenario({
      from: DAYS[0]!,
      to: '2026-03-06',
      entriesPerDay: 3,
      now: night(DAYS[1]!),
      merchants: numbers.map((no) => ({ merchantNo: no, token: tokenOf(no), currencies: ['USD'] })),
    }),
  });
  hook = await startReceiver();
  database = await emptyDatabase();
  const key = `k1:${randomBytes(32).toString('base64')}`;
  return (iso, url = database.url) => {
    stage.setNow(iso);
    return {
      ...envOf(stage),
      ...{ PLATFORM_MERCHANT_NO: '', PLATFORM_TOKEN: '', DATABASE_URL: url, DAYBOOK_NOW: iso },
      ...{ DAYBOOK_WORKERS: 'queue', DAYBOOK_SECRET_KEYS: key, DAYBOOK_SCHEDULE_RESWEEP: '30 1 * * *' },
      ...{
        DAYBOOK_ALERT_URL: hook.url,
        DAYBOOK_ALERT_SECRET: 'a secret of the receiver',
        DATABASE_POOL_SIZE: '4',
      },
    };
  };
}

/** What a server says of each entry of the merchant whose page on its disk is damaged. */
const poison = (merchantNo: string) =>
  sql`
    CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'invalid page in block 7' USING ERRCODE = 'XX001'; END $$;
    CREATE TRIGGER poison BEFORE INSERT ON ledger_entry FOR EACH ROW
      WHEN (NEW.merchant_no = ${sql.lit(merchantNo)}) EXECUTE FUNCTION poison()`.execute(database.db);

/** Jobs that wait to be tried again are tried now. */
const hurry = () =>
  sql`UPDATE daybook_queue.job SET start_after = now() WHERE state = 'retry'`.execute(database.db);

test('a life of many merchants: nights with trouble, new tokens, an upgrade without a stop, and a copy of the database', async () => {
  const envAt = await openLife();
  const seen = new Set<string>();
  const first = envAt(night(DAYS[1]!));
  expect((await daybook(['migrate'], first)).code).toBe(0);
  expect(await importTokens(1, first, [REFUSED])).toMatchObject({ added: numbers, refused: [] });

  // The first night: one merchant’s rows fail each worker, one is throttled, one has a token that is refused.
  await poison(POISONED);
  stage.sandbox.setHostility({ http429Every: 1, onlyMerchant: THROTTLED });
  await putOnQueue(first);
  let running = await startWorkers(first);
  await until(async () => {
    await hurry();
    return (await openRuns()) === 0;
  });
  await expectLastExit(4);
  const well = numbers.filter((no) => ![POISONED, THROTTLED, REFUSED].includes(no));
  await expectFiles(well, DAYS.slice(0, 2), first);
  await expectAlerts(seen, ['failed-night firing 3', 'key-problem firing 1']);
  const listed = await daybook(['jobs', 'list', '--json'], first);
  expect(listed.stdout).toContain(POISONED);

  // The causes are gone: the job is sent back, and the next try of the night does the others.
  await sql`DROP TRIGGER poison ON ledger_entry`.execute(database.db);
  stage.sandbox.setHostility({});
  expect(await importTokens(1, first)).toMatchObject({ changed: [REFUSED] });
  expect((await daybook(['jobs', 'redrive'], first)).code).toBe(0);
  await until(async () => (await openRuns()) === 0);
  const later = envAt(night(DAYS[1]!, '01:45'));
  await putOnQueue(later);
  await expectLastExit(0);
  for (const one of running) await stop(one);
  await expectNothingLeft();
  await expectFiles(numbers, DAYS.slice(0, 2), later);
  await expectAlerts(seen, ['recovered resolved 0']);
  const keys = (kind: string) =>
    hook
      .documents()
      .filter((one) => one['kind'] === kind)
      .map((one) => one['dedup_key']);
  expect(keys('recovered')).toEqual(keys('failed-night'));

  // All tokens are renewed, and a later version takes over while the second night is at work.
  const copy = await copyOf(database.url);
  const second = envAt(night(DAYS[2]!));
  for (const no of numbers) stage.sandbox.renewToken(no, tokenOf(no, 2));
  expect(await importTokens(2, second)).toMatchObject({ changed: numbers, added: [], unchanged: [] });
  const last = (await readdir(join(TOP, 'sql')))
    .filter((name) => /^\d{4}/.test(name))
    .sort()
    .at(-1)!;
  const newer = await programWith('newer', (folder) =>
    writeFile(
      join(folder, '9001_adds.sql'),
      `-- runs with: ${last.slice(0, 4)}\nCREATE TABLE later (id integer);\n`,
    ),
  );
  const older = await programWith('older', (folder) => rm(join(folder, last)));
  await putOnQueue(second);
  running = await startWorkers(second);
  expect((await start(['migrate'], second, newer).ended).code).toBe(0);
  const refused = await start(['worker'], second, older).ended;
  expect(refused.code, refused.stderr).toBe(2);
  expect(refused.stdout + refused.stderr).toContain('the database is newer than this program (9001 > ');
  for (const [at, one] of running.entries()) {
    await stop(one);
    running[at] = await startWorker(second, newer);
  }
  await expectLastExit(0);
  for (const one of running) await stop(one);
  await expectNothingLeft();
  await expectFiles(numbers, DAYS.slice(0, 3), second);
  // The worker that was refused says so, once, until the night has ended well.
  await expectAlerts(seen, ['failed-night firing 0', 'recovered resolved 0']);
  expect(keys('recovered')).toEqual(keys('failed-night'));
  await sql`DROP TABLE later; DELETE FROM kysely_migration WHERE name LIKE '9001%'`.execute(database.db);

  // The copy of before is refused, until it takes the store over: then the living one is.
  const third = envAt(night(DAYS[3]!));
  const fromCopy = envAt(night(DAYS[3]!), copy);
  const early = await daybook(['run'], fromCopy);
  expect(early.code, early.stderr).toBe(2);
  expect(early.stdout + early.stderr).toContain('daybook statements adopt');
  await expectFiles(numbers, DAYS.slice(0, 3), third);
  const adopted = await daybook(['statements', 'adopt'], fromCopy);
  expect(adopted.code, adopted.stderr).toBe(0);
  const living = await daybook(['run'], third);
  expect(living.code, living.stderr).toBe(2);
  expect((await daybook(['merchants', 'list', '--json'], fromCopy)).stdout).toContain(numbers[0]);
  await importTokens(2, fromCopy);
  await database.close();
  database = await reopened(copy);
  await putOnQueue(fromCopy);
  running = await startWorkers(fromCopy);
  await expectLastExit(0);
  for (const one of running) await stop(one);
  await expectNothingLeft();
  await expectFiles(numbers, DAYS, fromCopy);
}, 900_000);

const reopened = async (url: string): Promise<ServerDatabase> => {
  return { ...(await openDatabase({ databaseUrl: url, dataDir: '', connectionsMax: 3 })), url };
};

/** A copy of a database, as a backup has it. The server copies one that no one is connected to. */
async function copyOf(url: string): Promise<string> {
  const name = new URL(url).pathname.slice(1);
  await adminOf(inject('postgresUrl')).query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
  );
  return copyDatabase(inject('postgresUrl'), name);
}
