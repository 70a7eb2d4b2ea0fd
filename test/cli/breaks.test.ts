/** A break as a case on the command line: show, take, comment, resolve, reopen. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MERCHANT, OTHER, openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from './daybook.ts';

const { merchantNo } = MERCHANT;
let stage: Stage;
let env: Env;
/** The ids of two breaks: one without further information, one explained by an entry in quarantine. */
let [missing, quarantined] = ['', ''];
let [gone, wreck] = ['', ''];

beforeAll(async () => {
  stage = await openStage({
    scenario: scenario({
      entriesPerDay: 60,
      planted: [{ what: 'malformed', merchant: merchantNo, currency: 'USD', day: '2026-03-04', nth: 4 }],
    }),
  });
  const ofDay = (day: string) =>
    stage.sandbox
      .entriesOf(merchantNo)
      .filter(({ currency, busiDate }) => currency === 'USD' && busiDate.startsWith(day));
  gone = ofDay('2026-03-02')[30]!.batchNo;
  stage.sandbox.takeOut(merchantNo, gone);
  await stage.run();
  env = { ...envOf(stage), STATEMENTS_URL: stage.app.settings.statementsUrl };
  const rows = await stage.app.database.db
    .selectFrom('continuity_break')
    .selectAll()
    .orderBy('day')
    .execute();
  expect(rows).toHaveLength(2);
  [missing, quarantined] = rows.map(({ id }) => String(id)) as [string, string];
  const { batch_no } = await stage.app.database.db
    .selectFrom('quarantined_entry')
    .select('batch_no')
    .executeTakeFirstOrThrow();
  wreck = batch_no!;
}, 300_000);
afterAll(() => stage.close());

const reported = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await daybook(['breaks', ...args], env);
  expect(code, stderr).toBe(0);
  return stdout;
};
const shown = async (id: string, ...flags: readonly string[]) =>
  JSON.parse(await reported('show', id, '--json', ...flags)) as {
    break: { state: string; taken_by: string | null; status: string; note: string | null };
    rows: { entry: { batchNo: string }; isHere: boolean }[];
    quarantined: { batchNo: string; explains: boolean }[];
    certificates: unknown[];
    history: { what: string; by: string | null; note: string | null }[];
    platform: { total: number; notStored: { batchNo: string }[] } | null;
    platformNotAsked: string | null;
    message: string | null;
  };
const brief = async () =>
  (
    JSON.parse(await reported('list', '--all', '--json')) as {
      id: number;
      state: string;
      taken_by: string | null;
    }[]
  ).map(({ id, state, taken_by: by }) => [String(id), state, by]);

test('shows ten rows as the statement has them, the certificates, the platform’s answer and a message', async () => {
  const found = await shown(missing);
  expect(found.rows.map(({ isHere }) => isHere)).toEqual([
    ...[false, false, false, false, false],
    ...[true, false, false, false, false],
  ]);
  const statement = await daybook(
    ['statements', 'get', '--merchant', merchantNo, '--currency', 'USD', '--day', '2026-03-02', '--stdout'],
    env,
  );
  const order = statement.stdout.split('\r\n').map((row) => row.split(',')[0]);
  const own = found.rows.map(({ entry }) => entry.batchNo);
  expect(order.slice(order.indexOf(own[0])).slice(0, own.length)).toEqual(own);
  expect(found.certificates).not.toEqual([]);
  expect(found.platform).toMatchObject({ total: 2, notStored: [] });
  expect(found.quarantined).toEqual([]);
  expect(found.message).toContain(`Our reference: break ${missing}`);
  expect(JSON.stringify(found)).not.toContain(MERCHANT.token);
  const text = await reported('show', missing);
  expect(text).toMatch(new RegExp(`^break ${missing}: ${merchantNo} USD 2026-03-02, open\n`));
  expect(text).toMatch(/^> +\S+ +2026-03-02 /m);
  expect(text).toContain('the platform now: 2 entries in that period, as stored');
  expect(text).toContain('Times are in Asia/Shanghai.');
}, 300_000);

test('shows what the platform has meanwhile, and how to read it', async () => {
  stage.sandbox.putBack(merchantNo, gone);
  try {
    expect((await shown(missing)).platform).toMatchObject({ total: 3, notStored: [{ batchNo: gone }] });
    expect(await reported('show', missing)).toContain(
      `-> \`daybook run --from 2026-03-02 --to 2026-03-02 --merchant ${merchantNo}\` reads and stores it`,
    );
  } finally {
    stage.sandbox.takeOut(merchantNo, gone);
  }
}, 300_000);

test('an entry in quarantine explains its break, so nothing is said to be missing', async () => {
  const found = await shown(quarantined, '--offline');
  expect(found.quarantined).toMatchObject([{ batchNo: wreck, explains: true }]);
  const text = await reported('show', quarantined, '--offline');
  expect(text).toContain(`this one, ${wreck}, explains it`);
  expect(text).toContain(`Quarantined entry ${wreck} explains it`);
  expect(text).not.toMatch(/missing|more \(--json\)/);
  expect(await reported()).toContain(`Quarantined entry ${wreck} explains it`);
}, 300_000);

test('without the platform, or if it does not answer, show says so and shows the rest', async () => {
  expect(await shown(missing, '--offline')).toMatchObject({
    platform: null,
    platformNotAsked: 'not asked (--offline)',
  });
  const bare = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('PLATFORM_')));
  const without = await daybook(['breaks', 'show', missing], bare);
  expect(without.stdout, without.stderr).toContain(
    'not asked: PLATFORM_BASE_URL and PLATFORM_TIME_ZONE are not both set',
  );
  const away = { ...env, PLATFORM_BASE_URL: 'http://127.0.0.1:9' };
  const asked = await daybook(['breaks', 'show', missing], away);
  expect(asked.code, asked.stderr).toBe(0);
  expect(asked.stdout).toMatch(/the platform now: .*127\.0\.0\.1:9/);
  const unknown = await daybook(['breaks', 'show', missing], { ...env, PLATFORM_MERCHANT_NO: 'M-ELSE' });
  expect(unknown.stdout).toMatch(
    new RegExp(`the platform now: merchant ${merchantNo} is unknown or disabled`),
  );
  expect(asked.stdout + unknown.stdout + without.stdout).not.toContain(MERCHANT.token);
}, 300_000);

test('an unknown break, a wrong number and a missing note are refused', async () => {
  const refused = async (...args: readonly string[]) => (await daybook(['breaks', ...args], env)).stderr;
  expect(await refused('show', '999')).toMatch(
    /no break has the number 999; `daybook breaks --all` lists them/,
  );
  expect(await refused('take', '999')).toMatch(
    /no open break has the number 999; `daybook breaks` lists them/,
  );
  expect(await refused('comment', 'x', '--note', 'n')).toMatch(/x is no break’s number/);
  expect(await refused('resolve', missing, '--note', ' ')).toMatch(
    /--note is empty; say the reason for the difference/,
  );
}, 300_000);

test('take, comment, resolve and reopen record who, when and why', async () => {
  await reported('take', missing, '--by', 'Ada');
  expect(await brief()).toEqual([
    [missing, 'taken', 'Ada'],
    [quarantined, 'open', null],
  ]);
  expect(await reported()).toContain(`break ${missing}, assigned to Ada: ${merchantNo} USD 2026-03-02`);
  await reported('comment', missing, '--by', 'Bob', '--note', 'asked the platform');
  expect((await daybook(['run', '--from', '2026-03-05', '--to', '2026-03-05'], env)).code).toBe(3);
  const resolved = await reported('resolve', missing, '--by', 'Ada', '--note', 'fee, case 4711');
  expect(resolved).toContain(
    'the next run or `daybook publish` publishes this in the manifest and summary of its day',
  );
  expect((await daybook(['breaks', 'resolve', missing, '--note', 'again'], env)).code).toBe(2);
  expect((await daybook(['breaks', 'take', missing], env)).code).toBe(2);
  expect((await shown(missing, '--offline')).message).toBeNull();
  await reported('resolve', quarantined, '--by', 'Ada', '--note', 'it is the wreck');
  expect(await reported()).toBe('no open break\n');
  await reported('reopen', missing, '--by', 'Cleo', '--note', 'was no fee');
  expect((await daybook(['breaks', 'reopen', missing], env)).code).toBe(2);
  const { break: row, history } = await shown(missing, '--offline');
  expect(row).toMatchObject({ state: 'open', status: 'open', taken_by: null, note: null });
  expect(history.map(({ what, by, note }) => [what, by, note])).toEqual([
    ['found', null, null],
    ['taken', 'Ada', null],
    ['commented', 'Bob', 'asked the platform'],
    ['resolved', 'Ada', 'fee, case 4711'],
    ['reopened', 'Cleo', 'was no fee'],
  ]);
  const auditEvents = JSON.parse((await daybook(['audit', '--json'], env)).stdout) as {
    command: string;
    by: string;
  }[];
  expect(
    auditEvents.filter(({ command }) => command.startsWith('breaks')).map(({ command, by }) => [command, by]),
  ).toEqual([
    ['breaks reopen', 'Cleo'],
    ['breaks resolve', 'Ada'],
    ['breaks resolve', 'Ada'],
    ['breaks comment', 'Bob'],
    ['breaks take', 'Ada'],
  ]);
}, 300_000);

test('a break is given to somebody else with a due date, which the list and the case show', async () => {
  const named = {
    ...{ ...env, DAYBOOK_ACCESS_PROXY_HEADER: 'x-user', DAYBOOK_ACCESS_PROXIES: '["10.0.0.1"]' },
    DAYBOOK_ACCESS_ROLES: JSON.stringify({
      ...{ Ada: 'operator', Vera: 'viewer' },
      Bob: { role: 'operator', merchants: ['M-ELSE'] },
    }),
  };
  const refused = async (args: readonly string[], of = env): Promise<string> => {
    const { code, stderr } = await daybook(['breaks', 'take', missing, ...args], of);
    expect(code, stderr).toBe(2);
    return stderr;
  };
  expect(await refused(['--due', '2026-02-01'])).toContain(
    '--due 2026-02-01 is over; name 2026-03-06 or a later day.',
  );
  expect(await refused(['--due', '2026-02-30'])).toContain("'2026-02-30' is not a day of the calendar");
  expect(await refused(['--to', ' '])).toContain('--to is empty; name the person, or leave it out.');
  expect(await refused(['--to', 'Ada,Bob'])).toContain('--to Ada,Bob is no operator of merchant');
  for (const name of ['Vera', 'Bob', 'Grace'])
    expect(await refused(['--to', name], named)).toContain(
      `--to ${name} is no operator of merchant ${merchantNo}; DAYBOOK_ACCESS_ROLES names Ada.`,
    );
  expect(await brief()).toContainEqual([missing, 'open', null]);
  expect(await reported('take', missing, '--to', 'Grace', '--due', '2026-12-01', '--by', 'Ada')).toContain(
    `break ${missing} is assigned to Grace; it stays open`,
  );
  expect(await brief()).toContainEqual([missing, 'taken', 'Grace']);
  expect(await reported()).toContain(`break ${missing}, assigned to Grace, due 2026-12-01: ${merchantNo}`);
  const text = await reported('show', missing, '--offline');
  expect(text).toContain('assigned to Grace, due 2026-12-01\n');
  expect(text).toContain('taken to Grace by Ada, due 2026-12-01');
  expect((await shown(missing, '--offline')).break).toMatchObject({
    taken_by: 'Grace',
    due_on: '2026-12-01',
  });
  const later = { ...env, DAYBOOK_NOW: '2026-12-02T12:00:00Z' };
  expect((await daybook(['breaks'], later)).stdout).toContain(
    'assigned to Grace, due 2026-12-01 (overdue): ',
  );
}, 300_000);

test('a healed break is described in the past tense, and its number is closed for good', async () => {
  stage.sandbox.putBack(merchantNo, gone);
  await stage.run();
  expect(await reported('--all')).toMatch(
    new RegExp(`^break ${missing}: ${merchantNo} \\w+ \\S+, between .*\\n  .* was unexplained`, 'm'),
  );
  const text = await reported('show', missing, '--offline');
  expect(text).toMatch(/was unexplained between these two entries; the balance carries forward there now\./);
  expect(text).not.toMatch(/is missing|most likely/i);
  expect(text).not.toContain('message to the platform');
  expect(text).toMatch(/  healed$/m);
  expect((await daybook(['breaks', 'reopen', missing], env)).code).toBe(2);
  await reported('comment', missing, '--note', 'came late');
}, 300_000);

test('shows only breaks of the merchants asked for', async () => {
  expect(await reported('--all', '--merchant', OTHER.merchantNo)).toBe('no break\n');
  for (const flags of [
    ['list', '--all', '--merchant', OTHER.merchantNo, '--merchant', merchantNo],
    ['--all', '--merchant', merchantNo],
  ])
    expect(await reported(...flags), flags.join(' ')).toMatch(/^2 breaks/);
  expect(await reported('list', '--all', '--merchant', OTHER.merchantNo)).toBe('no break\n');
}, 300_000);
