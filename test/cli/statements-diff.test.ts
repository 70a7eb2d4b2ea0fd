/** `statements diff`: the rows in which two published revisions of a day differ, and why. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addAmounts } from '../../src/ledger/money.ts';
import { listStatements, type StatementRow } from '../../src/store/statements/statements.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from './daybook.ts';

const { merchantNo } = MERCHANT;
const DAY = '2026-03-03';
let stage: Stage;
let env: Env;
/** Three entries: one comes late, one is amended, one vanishes. */
let late: string;
let amended: string;
let gone: string;

beforeAll(async () => {
  const place = { merchant: merchantNo, currency: 'USD', day: DAY, nth: 20 };
  const planted = [{ what: 'late' as const, ...place, appears: '2026-03-06T12:00:00+08:00' }];
  stage = await openStage({ scenario: scenario({ entriesPerDay: 60, planted }) });
  const visible = () => stage.sandbox.entriesOf(merchantNo);
  await stage.run();
  const stored = await stage.app.database.db.selectFrom('ledger_entry').select('batch_no').execute();
  const known = new Set(stored.map(({ batch_no }) => batch_no));
  stage.setNow('2026-03-07T01:30:00+08:00');
  late = visible().find(({ batchNo }) => !known.has(batchNo))!.batchNo;
  const others = visible().filter(
    ({ currency, busiDate, batchNo }) => currency === 'USD' && busiDate.startsWith(DAY) && batchNo !== late,
  );
  amended = others[3]!.batchNo;
  gone = others[40]!.batchNo;
  stage.sandbox.amend(merchantNo, amended, { busiType: 'CORRECTED' });
  await stage.run();
  stage.setNow('2026-03-08T01:30:00+08:00');
  stage.sandbox.takeOut(merchantNo, gone);
  await stage.run();
  env = envOf(stage);
}, 120_000);
afterAll(() => stage.close());

const diff = (...flags: string[]) => daybook(['statements', 'diff', DAY, ...flags], env);
const published = async (): Promise<StatementRow[]> =>
  (
    await listStatements(stage.app.database.db, {
      merchants: null,
      currencies: ['USD'],
      fromDay: DAY,
      toDay: DAY,
    })
  ).filter(({ day }) => day === DAY);
interface Document {
  readonly day: string;
  readonly accounts: readonly {
    readonly merchantNo: string;
    readonly currency: string;
    readonly before: { readonly revision: number; readonly row_count: number };
    readonly after: { readonly revision: number; readonly row_count: number };
    readonly rows: readonly {
      readonly change: string;
      readonly batchNo: string;
      readonly changed: readonly string[];
      readonly before: Record<string, string> | null;
      readonly after: Record<string, string> | null;
      readonly cause: Record<string, unknown>;
      readonly heals: readonly number[];
    }[];
    readonly problem: string | null;
  }[];
}
const documentOf = (stdout: string) => JSON.parse(stdout) as Document;

describe('statements diff', () => {
  it('compares the last revision with the one before: the row that is gone, and since when', async () => {
    const { code, stdout } = await diff();
    expect(code).toBe(0);
    const [, was, is] = await published();
    expect(stdout).toContain(
      `${merchantNo} USD ${DAY}: revision 2 to 3\n` + `why: 1 entry no longer held by the platform (${gone})`,
    );
    expect(stdout).toContain('0 entries added, 1 removed, 0 changed\n');
    expect(stdout).toMatch(
      new RegExp(
        `\n  removed ${gone}: ${DAY} \\d\\d:\\d\\d:\\d\\d, [A-Z_]+\n    (credit|debit) [\\d.]+, balance [\\d.]+\n` +
          '    vanished on the platform, missing since 2026-03-08 01:30:00\n',
      ),
    );
    expect(stdout).toMatch(/\npublished +2026-03-07 01:30 +2026-03-08 01:30\n/);
    expect(stdout).toMatch(new RegExp(`\nclosing +${was!.closing} +${is!.closing}`));
    expect(stdout).toMatch(/\nbreaks +0 +1 +\+1\n/);
    expect(stdout).toContain('1 account without these revisions\n');
    expect(stdout).toMatch(/Times are in Asia\/Shanghai\.\n$/);
  });

  it('fits a terminal of 80 columns', async () => {
    const { stdout } = await diff('--revisions', '1..2');
    const table = stdout.split('\n').filter((line) => !line.startsWith('why'));
    expect(table.filter(({ length }) => length > 80)).toEqual([]);
  });

  it('for given revisions shows each differing row before and after, with the cause', async () => {
    const { code, stdout } = await diff(
      '--merchant',
      merchantNo,
      '--currency',
      'USD',
      '--revisions',
      '1..2',
      '--json',
    );
    expect(code).toBe(0);
    const { day, accounts } = documentOf(stdout);
    expect(day).toBe(DAY);
    expect(accounts).toMatchObject([
      { merchantNo, currency: 'USD', before: { revision: 1 }, after: { revision: 2 }, problem: null },
    ]);
    const rows = new Map(accounts[0]!.rows.map((row) => [row.batchNo, row]));
    expect([...rows.keys()].sort()).toEqual([late, amended].sort());
    expect(rows.get(late)).toMatchObject({
      change: 'came',
      before: null,
      cause: { kind: 'late', since: '2026-03-06T17:30:00.000Z' },
      heals: [1],
    });
    expect(rows.get(amended)).toMatchObject({
      change: 'changed',
      changed: ['transaction_type'],
      after: { transaction_type: 'CORRECTED' },
      cause: { kind: 'amended', version: 2, since: '2026-03-06T17:30:00.000Z' },
    });
    const { stdout: text } = await diff('--revisions', '1..2');
    expect(text).toContain('late entry, first seen 2026-03-07 01:30:00; heals break 1\n');
    expect(text).toMatch(
      new RegExp(`  changed ${amended}: .*, CORRECTED\n    transaction type [A-Z_]+ → CORRECTED\n`),
    );
    expect(text).toContain('amended by the platform: version 2, seen 2026-03-07 01:30:00\n');
  });

  it('its rows turn the content of one file into that of the other', async () => {
    const { stdout } = await diff('--revisions', '1..3', '--json');
    const { rows, before, after } = documentOf(stdout).accounts[0]!;
    const came = rows.filter(({ change }) => change === 'came').length;
    const went = rows.filter(({ change }) => change === 'went').length;
    expect(before.row_count + came - went).toBe(after.row_count);
    const [was, , is] = await published();
    const net = rows.reduce((sum, { change, before: old, after: now }) => {
      const cells = (now ?? old)!;
      const own = cells['credit'] === '' ? `-${cells['debit']!}` : cells['credit']!;
      const turned = own.startsWith('-') ? own.slice(1) : `-${own}`;
      return change === 'changed' ? sum : addAmounts(sum, change === 'came' ? own : turned);
    }, '0');
    const netOf = ({ credit_total, debit_total }: StatementRow) =>
      addAmounts(credit_total, `-${debit_total}`);
    expect(addAmounts(netOf(was!), net)).toBe(netOf(is!));
  });

  it('the list of all revisions says below the table why each replaced the one before, with the entries', async () => {
    const { stdout } = await daybook(['statements', 'list', '--all', '--from', DAY, '--to', DAY], env);
    expect(stdout).toContain(
      `\nwhy they replaced the one before:\n${merchantNo} USD ${DAY} r2: 1 late entry (${late}), ` +
        `1 entry amended (${amended}), 1 break healed\n` +
        `${merchantNo} USD ${DAY} r3: 1 entry no longer held by the platform (${gone})`,
    );
  });

  it('for a day that was published once it says so', async () => {
    const { code, stdout } = await daybook(['statements', 'diff', '2026-03-02'], env);
    expect([code, stdout]).toEqual([
      0,
      'no statement of 2026-03-02 was replaced: there is one revision of each\n',
    ]);
    const json = await daybook(['statements', 'diff', '2026-03-02', '--json'], env);
    expect(JSON.parse(json.stdout)).toEqual({ day: '2026-03-02', accounts: [] });
  });

  it('a missing or altered file is reported with what to do, and ends with 4', async () => {
    const [, row] = await published();
    const path = join(stage.app.settings.dataDir, 'statements', row!.object_key);
    const bytes = await stage.app.objects.get(row!.object_key);
    const kept: Uint8Array[] = [];
    for await (const part of bytes!) kept.push(part);
    try {
      await rm(path);
      const missing = await diff();
      expect(missing.code).toBe(4);
      expect(missing.stdout).toContain(`${row!.object_key} is missing; it was published.`);
      expect(missing.stdout).toContain('`daybook publish --repair` writes it again if it can');
      expect(missing.stdout).toMatch(/\nclosing +/);
      await writeFile(path, 'altered,bytes\r\n');
      const altered = await diff('--json');
      expect(altered.code).toBe(4);
      expect(documentOf(altered.stdout).accounts[0]!.problem).toContain(
        'does not hold the bytes that were published',
      );
    } finally {
      await writeFile(path, Buffer.concat(kept));
    }
  });

  it.each([
    [
      ['--revisions', '2..1'],
      '--revisions 2..1 is no pair of revisions; write the earlier one first, like 1..3.',
    ],
    [['--revisions', '1'], '--revisions 1 is no pair of revisions'],
    [
      ['--revisions', '1..9'],
      `no statement of ${DAY} has both revision 1 and 9; the newest one is revision 3.`,
    ],
    [['--merchant', 'NOBODY'], `nothing was published of ${DAY} for what is asked`],
  ])('%j is reported', async (flags, said) => {
    const { code, stderr } = await diff(...flags);
    expect(code).toBe(2);
    expect(stderr).toContain(said);
  });
});
