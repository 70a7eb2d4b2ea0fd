/** A month is closed by command: refused while days are open, frozen once they are not, and never changed in silence. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { daysFromTo } from '../../src/ledger/business-day.ts';
import { keyPairOf, readPublicKey } from '../../src/signing.ts';
import { closeMonth } from '../../src/months/close.ts';
import { CSV } from '../../src/statements/formats/csv.ts';
import { monthCsv, monthOf } from '../../src/months/month.ts';
import { merchantMonth } from '../../src/months/month-files.ts';
import { adjustmentsOf, adjustmentsOfEach, listCloses } from '../../src/months/stored.ts';
import { verifyPaths } from '../../src/verify/verify.ts';
import { STATEMENT_FORMATS } from '../../src/statements/formats/all.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from '../cli/daybook.ts';

const { merchantNo } = MERCHANT;
const PAIR = keyPairOf(Buffer.alloc(32, 3), Buffer.alloc(8, 3));
const MONTH = '2026-02';
const RANGE = { from: '2026-02-26', to: '2026-03-02' };
const NEVER_READ = daysFromTo('2026-02-01', '2026-02-25');
const KEY = `merchant=${merchantNo}/close=${MONTH}/${merchantNo}_${MONTH}`;

let stage: Stage;
let env: Env;
let folder: string;
beforeAll(async () => {
  const now = '2026-03-03T01:30:00+08:00';
  stage = await openStage({ scenario: scenario({ ...RANGE, entriesPerDay: 8, now }) });
  env = { ...envOf(stage), DAYBOOK_SIGNING_KEY: PAIR.secretKey };
  folder = join(stage.app.settings.dataDir, 'statements');
});
afterAll(() => stage.close());

let missingNo = '';
/** An entry in the midst of a day, which the platform shows only later. */
const missing = (): string => {
  const day = stage.sandbox
    .entriesOf(merchantNo)
    .filter(({ currency, busiDate }) => currency === 'USD' && busiDate.startsWith('2026-02-27'));
  missingNo = day[Math.floor(day.length / 2)]!.batchNo;
  return missingNo;
};
const night = () => daybook(['run', '--from', RANGE.from, '--to', RANGE.to, '--json'], env);
const close = (...flags: string[]) =>
  daybook(['close', MONTH, '--merchant', merchantNo, '--by', 'Ada', ...flags], env);
const parsed = ({ stdout }: { readonly stdout: string }): unknown => JSON.parse(stdout);
interface Closed {
  readonly result: string;
  readonly openDays?: readonly { readonly currency: string; readonly day: string; readonly cause: string }[];
  readonly close: { readonly number: number; readonly sha256: string; readonly statements: number };
  readonly adjustments: readonly object[];
}
const verified = () =>
  verifyPaths([join(folder, `merchant=${merchantNo}`)], STATEMENT_FORMATS, [readPublicKey(PAIR.publicKey)!]);

describe('close', () => {
  it('says that there is nothing to freeze where nothing was published', async () => {
    const ended = await close();
    expect(ended).toMatchObject({ code: 3 });
    expect(ended.stdout).toContain(
      `${MONTH} of ${merchantNo} is not closed: no statement of it is published`,
    );
  });

  it('refuses while days are open, and names them with what to do', async () => {
    stage.sandbox.takeOut(merchantNo, missing());
    const some = await daybook(['run', '--from', '2026-02-26', '--to', '2026-02-27'], env);
    expect(some.code).toBe(3);
    const ended = await close('--json');
    expect(ended.code).toBe(3);
    const [{ result, openDays }] = parsed(ended) as [Closed];
    expect(result).toBe('open');
    expect(openDays!.filter(({ cause }) => cause !== 'broken')).toEqual(
      ['KWD', 'USD'].flatMap((currency) =>
        [...NEVER_READ, '2026-02-28'].map((day) => ({
          currency,
          day,
          cause: 'uncertified',
          why: 'the day was not read completely',
          todo: `\`daybook run --from ${day} --to ${day} --merchant ${merchantNo}\``,
          who: 'command line',
        })),
      ),
    );
    const reported = await close();
    expect(reported.stdout).toContain('53 account days (2 accounts) are open');
    expect(reported.stdout).toContain('KWD 2026-02-01 to 2026-02-25, 2026-02-28: not read completely');
    expect(parsed(await daybook(['close', '--list', '--json'], env))).toEqual({
      closes: [],
      adjustments: [],
      preparations: [],
    });
  });

  it('refuses a month whose first days were never read, and takes them once they are proven empty', async () => {
    expect((await night()).code).toBe(3);
    const [{ openDays }] = parsed(await close('--json')) as [Closed];
    expect(openDays!.filter(({ cause }) => cause !== 'broken').map(({ day, cause }) => [day, cause])).toEqual(
      [...NEVER_READ, ...NEVER_READ].map((day) => [day, 'uncertified']),
    );
    await daybook(['run', '--from', NEVER_READ[0]!, '--to', NEVER_READ.at(-1)!], env);
  });

  it('refuses a day with an open break until a person resolved it', async () => {
    const ended = await close('--json');
    expect(ended.code).toBe(3);
    const [{ openDays }] = parsed(ended) as [Closed];
    expect(openDays).toMatchObject([{ currency: 'USD', day: '2026-02-27', cause: 'broken' }]);
    stage.sandbox.putBack(merchantNo, missingNo);
    await night();
  });

  it('freezes the list, once', async () => {
    const [first, second] = [await close('--note', 'reviewed', '--json'), await close('--json')];
    expect([first.code, second.code]).toEqual([0, 0]);
    const [[one], [again]] = [parsed(first) as [Closed], parsed(second) as [Closed]];
    expect(one).toMatchObject({ result: 'closed', close: { number: 1, statements: 6 }, adjustments: [] });
    expect(again).toMatchObject({ result: 'already', close: { ...one.close } });
    const file = JSON.parse(await readFile(join(folder, `${KEY}.close1.json`), 'utf8')) as object;
    expect(file).toMatchObject({ number: 1, by: 'Ada', note: 'reviewed', previous: null, openDays: [] });
    const audit = parsed(await daybook(['audit', '--json'], env)) as readonly { command: string }[];
    expect(audit.filter(({ command }) => command === 'close')).toMatchObject([
      { by: 'Ada', subject: `${merchantNo} ${MONTH}`, note: 'reviewed' },
    ]);
  });

  it('writes its file again where the store lost it', async () => {
    const path = join(folder, `${KEY}.close1.json`);
    const before = await readFile(path, 'utf8');
    await rm(path);
    expect((await close()).code).toBe(0);
    expect(await readFile(path, 'utf8')).toBe(before);
  });

  it('has its file and signature written again by publish --repair, where they are missing or altered', async () => {
    const path = join(folder, `${KEY}.close1.json`);
    const [text, signature] = [await readFile(path, 'utf8'), await readFile(`${path}.minisig`, 'utf8')];
    await writeFile(path, text.replace('reviewed', 'looked at'));
    await rm(`${path}.minisig`);
    const ended = await daybook(['publish', '--repair', '--json'], env);
    expect(ended.code).toBe(0);
    expect((parsed(ended) as { notes: readonly string[] }).notes).toEqual([
      expect.stringContaining(
        `lie there again as published: ${KEY}.close1.json.minisig (missing), ${KEY}.close1.json (altered)`,
      ),
    ]);
    expect([await readFile(path, 'utf8'), await readFile(`${path}.minisig`, 'utf8')]).toEqual([
      text,
      signature,
    ]);
    const again = parsed(await daybook(['publish', '--repair', '--json'], env));
    expect((again as { notes: readonly string[] }).notes).toEqual([]);
  });

  it('is checked by verify: its signature, its hashes, the file itself', async () => {
    const report = await verified();
    expect(report.problems).toEqual([]);
    expect(report.closes).toMatchObject([
      { month: MONTH, number: 1, statements: 6, compared: 6, adjusted: [] },
    ]);
    const copy = await mkdtemp(join(tmpdir(), 'daybook-close-'));
    await cp(folder, copy, { recursive: true });
    const path = join(copy, `${KEY}.close1.json`);
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replace(/"sha256": "[0-9a-f]{4}/, '"sha256": "0000'));
    const altered = await verifyPaths([copy], STATEMENT_FORMATS, [readPublicKey(PAIR.publicKey)!]);
    await rm(copy, { recursive: true });
    expect(altered.problems.map(({ problem }) => problem)).toEqual([
      'it is wrongly signed: the manifest or its signature was changed',
      expect.stringMatching(/^KWD 2026-02-26: the close froze revision 1 with SHA-256 0000/),
    ]);
  });

  it('a later revision is an adjustment: of the run’s notes, status, the list, the month’s files and verify', async () => {
    const entry = stage.sandbox
      .entriesOf(merchantNo)
      .find(({ currency, busiDate }) => currency === 'USD' && busiDate.startsWith('2026-02-28'))!;
    stage.sandbox.amend(merchantNo, entry.batchNo, { busiType: 'CHANGED' });
    const run = parsed(await night()) as { notes: readonly string[] };
    expect(run.notes).toContainEqual(`1 of these adjusts a closed month: ${merchantNo} ${MONTH} (close 1)`);

    const revisedDay = { currency: 'USD', day: '2026-02-28', frozenRevision: 1, revision: 2 };
    const [status] = parsed(await daybook(['status', '--json'], env)) as readonly { adjustments: object[] }[];
    expect(status!.adjustments).toMatchObject([revisedDay]);
    expect((await daybook(['status'], env)).stdout).toContain(
      `adjusts close 1 of ${MONTH}: ${merchantNo} USD 2026-02-28 from revision 1 to 2`,
    );
    const list = parsed(await daybook(['close', '--list', '--json'], env)) as { adjustments: object[] };
    expect(list.adjustments).toMatchObject([revisedDay]);
    expect((await verified()).closes).toMatchObject([{ adjusted: [revisedDay] }]);

    const { database, objects } = stage.app;
    const month = monthOf(MONTH)!;
    const { accounts, files } = await merchantMonth(
      { db: database.db, objects, format: CSV, now: stage.app.now },
      merchantNo,
      month,
      null,
    );
    expect(monthCsv(month, accounts)).toMatch(/^SBX-M-1,USD,.*,1,2026-02-28,0,0\.00\r$/m);
    expect(files.map(({ key }) => key).filter((key) => key.includes('close'))).toEqual([
      `${KEY}.close1.json`,
      `${KEY}.close1.json.minisig`,
    ]);
  });

  it('is adjusted by a next close that names the one before', async () => {
    const [one] = parsed(await close('--json')) as [Closed];
    expect(one).toMatchObject({ result: 'closed', close: { number: 2 } });
    expect(one.adjustments).toMatchObject([{ day: '2026-02-28', frozenRevision: 1, revision: 2, number: 1 }]);
    const { closes, adjustments } = parsed(await daybook(['close', '--list', MONTH, '--json'], env)) as {
      closes: { sha256: string }[];
      adjustments: object[];
    };
    expect(adjustments).toEqual([]);
    const file = JSON.parse(await readFile(join(folder, `${KEY}.close2.json`), 'utf8')) as object;
    expect(file).toMatchObject({ previous: { number: 1, sha256: closes[0]!.sha256 } });
    const report = await verified();
    expect(report.problems).toEqual([]);
    expect(report.closes.map(({ number, adjusted }) => [number, adjusted])).toEqual([
      [1, []],
      [2, []],
    ]);
  });

  it('is made despite open days where somebody says why', async () => {
    const march = (...flags: string[]) =>
      daybook(['close', '2026-03', '--merchant', merchantNo, ...flags], env);
    const refused = await march();
    expect(refused.code).toBe(3);
    expect(refused.stdout).toContain('not over');
    const ended = await march('--despite-open-days', 'the company is sold on the 3rd', '--json');
    expect(ended.code).toBe(0);
    expect(parsed(ended)).toMatchObject([{ result: 'closed', close: { openDays: 58, statements: 4 } }]);
    const file = await readFile(
      join(folder, `merchant=${merchantNo}/close=2026-03/${merchantNo}_2026-03.close1.json`),
      'utf8',
    );
    expect(JSON.parse(file)).toMatchObject({ despite: 'the company is sold on the 3rd' });

    const now = '2026-03-04T01:30:00+08:00';
    stage.setNow(now);
    const later = { ...env, DAYBOOK_NOW: now };
    const run = await daybook(['run', '--from', '2026-03-03', '--to', '2026-03-03', '--json'], later);
    expect([run.code, (parsed(run) as { notes: readonly string[] }).notes]).toEqual([
      0,
      expect.arrayContaining([
        `2 days that were open when their month was closed are published now and not in the close: ${merchantNo} 2026-03 (close 1)`,
      ]),
    ]);
    const [status] = parsed(await daybook(['status', '--json'], later)) as readonly {
      adjustments: object[];
    }[];
    expect(status!.adjustments).toMatchObject(
      ['KWD', 'USD'].map((currency) => ({ currency, day: '2026-03-03', frozenRevision: null, revision: 1 })),
    );
  });

  it('an account first seen after a close is an adjustment of it, in the list and in status', async () => {
    const { db } = stage.app.database;
    const of = { month: MONTH, merchants: [merchantNo] };
    expect(await adjustmentsOf(db, of)).toEqual([]);
    const first = await db
      .selectFrom('statement')
      .selectAll()
      .where('currency', '=', 'USD')
      .where('day', '=', '2026-02-26')
      .where('revision', '=', 1)
      .executeTakeFirstOrThrow();
    const day = await db
      .selectFrom('account_day')
      .selectAll()
      .where('currency', '=', 'USD')
      .where('day', '=', '2026-02-26')
      .executeTakeFirstOrThrow();
    await db
      .insertInto('statement')
      .values({ ...first, currency: 'XTS', object_key: `${first.object_key}.XTS` })
      .execute();
    await db
      .insertInto('account_day')
      .values({ ...day, currency: 'XTS' })
      .execute();
    const seen = { currency: 'XTS', day: '2026-02-26', frozenRevision: null, revision: 1, number: 2 };
    const listed = await adjustmentsOf(db, of);
    expect(listed).toMatchObject([seen]);
    const { [0]: reported } = [...(await adjustmentsOfEach(db, [merchantNo])).values()];
    expect(reported!.filter(({ month }) => month === MONTH)).toEqual(listed);
    expect((await daybook(['status'], env)).stdout).toContain(
      `adjusts close 2 of ${MONTH}: ${merchantNo} XTS 2026-02-26 was not published, is revision 1`,
    );
    await db.deleteFrom('statement').where('currency', '=', 'XTS').execute();
    await db.deleteFrom('account_day').where('currency', '=', 'XTS').execute();
  });

  it('of two at the same time, one makes the close and the other finds it', async () => {
    const { database, objects, now, settings } = stage.app;
    const options = {
      ...{ db: database.db, objects, now, signingKey: null },
      zone: settings.platform.timeZone,
    };
    const auditEvent = { by: 'Ada', command: 'close', subject: 'twice' };
    const month = monthOf('2026-03')!;
    const results = await Promise.all(
      [1, 2].map(() => closeMonth({ merchantNo, month, despite: 'a test', auditEvent }, options)),
    );
    expect(results.map(({ kind }) => kind).sort()).toEqual(['already', 'closed']);
    const closes = await listCloses(database.db, { merchants: [merchantNo], month: '2026-03' });
    expect(closes.map(({ number }) => number)).toEqual([1, 2]);
  });

  it.each([
    [['close'], 'say which month'],
    [['close', '2026-13', '--merchant', 'M'], '2026-13 is no month'],
    [['close', MONTH], 'say whose month it is with --merchant NO'],
    [['close', MONTH, '--merchant', 'M', '--despite-open-days', ' '], '--despite-open-days is empty'],
    [['close', '--list', '--note', 'x'], '--list closes nothing'],
  ])('%j is told', async (args, said) => {
    const { code, stderr } = await daybook(args, env);
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
  });
});
