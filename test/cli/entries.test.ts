/** `entries find`: shows the versions, statement, line and revision of an entry, by its number alone. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TrueEntry } from '../../src/plugins/sandbox/server.ts';
import { MERCHANT, openStage, OTHER, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from './daybook.ts';

const { merchantNo } = MERCHANT;
const DAY = '2026-03-03';
const place = { merchant: merchantNo, currency: 'USD', day: DAY };

let stage: Stage;
let env: Env;
let amended: TrueEntry;
let vanished: TrueEntry;
let wreck: string;
beforeAll(async () => {
  const planted = [
    { what: 'malformed', ...place, nth: 8 },
    { what: 'missing', ...place, nth: 14 },
  ] as const;
  stage = await openStage({
    scenario: scenario({
      entriesPerDay: 20,
      planted: [...planted],
      merchants: [
        { ...MERCHANT, currencies: ['USD'] },
        { ...OTHER, currencies: ['USD'] },
      ],
    }),
  });
  const ofDay = () => stage.sandbox.entriesOf(merchantNo).filter(({ busiDate }) => busiDate.startsWith(DAY));
  [amended, vanished] = [ofDay()[2]!, ofDay()[4]!];
  await stage.run();
  stage.sandbox.amend(merchantNo, amended.batchNo, { busiType: 'CHANGED' });
  stage.sandbox.takeOut(merchantNo, vanished.batchNo);
  stage.setNow('2026-03-06T03:30:00+08:00');
  await stage.run();
  env = envOf(stage);
  const { raw } = await stage.app.database.db
    .selectFrom('quarantined_entry')
    .select('raw')
    .executeTakeFirstOrThrow();
  wreck = (JSON.parse(raw) as { batchNo: string }).batchNo;
}, 120_000);
afterAll(() => stage.close());

const find = (...args: string[]) => daybook(['entries', 'find', ...args], env);
const keyOf = (revision: number) =>
  `merchant=${merchantNo}/date=${DAY}/${merchantNo}_USD_${DAY}.r${revision}.csv`;
const pathOf = (revision: number) => join(stage.app.settings.dataDir, 'statements', keyOf(revision));
const lineIn = async (revision: number, batchNo: string): Promise<number> =>
  (await readFile(pathOf(revision), 'utf8')).split('\r\n').findIndex((line) => line.startsWith(batchNo)) + 1;

it('an amended entry: its contents and their times, its present line and its earlier one', async () => {
  const { code, stdout } = await find(amended.batchNo);
  const line = await lineIn(2, amended.batchNo);
  const before = await lineIn(1, amended.batchNo);
  const file = `${merchantNo}_USD_${DAY}`;
  expect({ code, lines: stdout.split('\n').slice(1) }).toEqual({
    code: 0,
    lines: [
      `  booked at ${amended.busiDate}, transaction type CHANGED`,
      '  version 1, 2026-03-06 01:30:00: first seen',
      `  version 2, 2026-03-06 03:30:00 (run 2): transaction type ${amended.busiType} → CHANGED`,
      `  line ${line} of ${file}.r2.csv (revision 2, the current one)`,
      `  was line ${before} of ${file}.r1.csv (revision 1, superseded 2026-03-06 03:30:00)`,
      '',
      'Times are in Asia/Shanghai.',
      '',
    ],
  });
  expect(stdout).toMatch(
    new RegExp(
      `^entry ${amended.batchNo} of merchant ${merchantNo}: (credit|debit) [\\d,.]+ USD, balance -?\\d{1,3}(,\\d{3})*\\.\\d{2} USD\n`,
    ),
  );
});

it('a vanished entry: since when, that it is no longer in the statement, and the break beside it', async () => {
  const { code, stdout } = await find(vanished.batchNo, '--merchant', merchantNo);
  expect(code).toBe(0);
  expect(stdout).toContain('no longer shown by the platform since 2026-03-06 03:30:00');
  expect(stdout).toContain(
    `not in ${merchantNo}_USD_${DAY}.r2.csv (revision 2, the current one, published 2026-03-06 03:30:00)\n`,
  );
  expect(stdout).toContain(`was line ${await lineIn(1, vanished.batchNo)} of `);
});

it('an entry beside a break shows the break', async () => {
  const row = await stage.app.database.db
    .selectFrom('continuity_break')
    .selectAll()
    .where('status', '=', 'open')
    .orderBy('id')
    .executeTakeFirstOrThrow();
  expect((await find(row.before_batch_no)).stdout).toContain(
    `break ${row.id} (open) lies right before it: \`daybook breaks show ${row.id}\` explains it`,
  );
  expect((await find(row.after_batch_no!)).stdout).toContain(`break ${row.id} (open) lies right after it`);
});

it('an unreadable entry is found by its number', async () => {
  const { code, stdout } = await find(wreck);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    new RegExp(
      `^unreadable entry 1 of merchant ${merchantNo} has the number ${wreck}: .+\n` +
        '  seen first 2026-03-06 01:30:00, and still sent\n {2}`daybook quarantine` shows it as received\n',
    ),
  );
});

it('--json has every version and place, with times in UTC', async () => {
  const { stdout } = await find(amended.batchNo, '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    batchNo: amended.batchNo,
    isCut: false,
    quarantined: [],
    entries: [
      {
        merchantNo,
        vanishedAt: null,
        contents: [
          { version: 1, seenAt: '2026-03-05T17:30:00.000Z', entry: { transactionType: amended.busiType } },
          { version: 2, seenAt: '2026-03-05T19:30:00.000Z', entry: { transactionType: 'CHANGED' } },
        ],
        places: [
          {
            day: DAY,
            currency: 'USD',
            revision: 2,
            isCurrent: true,
            objectKey: keyOf(2),
            supersededAt: null,
            found: { line: await lineIn(2, amended.batchNo), cells: { transaction_type: 'CHANGED' } },
          },
          {
            revision: 1,
            isCurrent: false,
            supersededAt: '2026-03-05T19:30:00.000Z',
            found: { cells: { transaction_type: amended.busiType } },
          },
        ],
      },
    ],
  });
});

it('a number that two merchants have is shown for both', async () => {
  await sql`
    INSERT INTO ledger_entry
    SELECT (jsonb_populate_record(e, jsonb_build_object('merchant_no', ${OTHER.merchantNo}::text))).*
    FROM ledger_entry e WHERE merchant_no = ${merchantNo} AND batch_no = ${amended.batchNo}`.execute(
    stage.app.database.db,
  );
  const { code, stdout } = await find(amended.batchNo);
  expect(code).toBe(0);
  expect(stdout.match(/^entry .* of merchant \S+:/gm)).toHaveLength(2);
  expect(stdout).toContain(`no statement of USD ${DAY} is published yet`);
});

it('an unreadable store ends with 4, and the rest is shown', async () => {
  const [bytes, older] = [await readFile(pathOf(2)), await readFile(pathOf(1))];
  await writeFile(pathOf(2), 'altered');
  await rm(pathOf(1));
  const { code, stdout } = await find(amended.batchNo, '--merchant', merchantNo);
  await writeFile(pathOf(2), bytes);
  await writeFile(pathOf(1), older);
  expect(code).toBe(4);
  expect(stdout).toContain('version 2');
  expect(stdout).toContain('.r2.csv does not hold the bytes that were published');
  expect(stdout).toContain('.r1.csv is missing; it was published');
});

it.each([
  [
    ['59102'],
    '`daybook run --from DAY --to DAY` reads it; what came without a readable number is in `daybook quarantine',
  ],
  [
    ['59102', '--merchant', 'M9'],
    'no entry 59102 of merchant M9 is stored, and no unreadable one has that number',
  ],
  [[''], 'the number is empty'],
  [
    ['59102', '--merchant', 'x '],
    '--merchant x  is no merchant number: it must be 1 to 32 printable characters',
  ],
])('%j is reported, with what to try', async (args, said) => {
  const { code, stderr } = await find(...args);
  expect(code).toBe(2);
  expect(stderr).toContain(said);
});
