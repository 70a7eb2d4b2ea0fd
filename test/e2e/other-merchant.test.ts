/** Whatever the platform answers for one merchant, the night of the other merchant has the same result as alone. */
import { sql } from 'kysely';
import { afterEach, describe, expect, test } from 'vitest';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import { gatewayTo, spoiling, type Conduct } from '../support/gateway.ts';
import {
  DAYS,
  MERCHANT,
  openStage,
  OTHER,
  publishedIn,
  scenario,
  storedOf,
  truthOf,
  type Stage,
} from '../support/stage.ts';

const stages: Stage[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.close();
});

const merchants = [MERCHANT, OTHER].map((merchant) => ({ ...merchant, currencies: ['USD'] }));
const openNight = async (days = DAYS): Promise<Stage> => {
  const stage = await openStage({ scenario: scenario({ merchants, to: days.at(-1)! }) });
  stages.push(stage);
  return stage;
};

/** Replaces the first value of a field in a reply by other JSON. */
const withFirst =
  (field: string, json: string) =>
  (reply: string): string =>
    reply.replace(new RegExp(`("${field}":\\s*)("[^"]*"|[^,}\\]]+)`), (_, name: string) => name + json);
/** Replaces the first entry of a reply's list by other JSON. */
const withEntry =
  (json: string) =>
  (reply: string): string =>
    reply.replace(/("list":\s*\[)(\{[^}]*\})?/, (_, begin: string, entry?: string) =>
      entry === undefined ? begin : begin + json,
    );
const failing =
  (text: string, status = 500): Conduct =>
  ({ response }) =>
    void response.writeHead(status).end(text);

/** As many as it takes to have a day after another. */
const [FIRST, SECOND] = DAYS as [string, string];

const REPLIES: readonly (readonly [string, Conduct])[] = [
  ['an entry of 1970', spoiling(withFirst('busiDate', '"1970-01-01 00:00:00"'))],
  ['an entry of 2001, a second too early', spoiling(withFirst('busiDate', '"2001-09-09 09:46:39"'))],
  ['an entry of 9999', spoiling(withFirst('busiDate', '"9999-12-31 23:59:59"'))],
  ['an entry of 2286', spoiling(withFirst('busiDate', '"2286-11-21 01:46:39"'))],
  ['a total of 15 digits', spoiling(withFirst('total', '999999999999999'))],
  ['a total of 99 digits', spoiling(withFirst('total', '9'.repeat(99)))],
  ['a total below zero', spoiling(withFirst('total', '-1'))],
  ['an amount of 59 digits', spoiling(withFirst('vailAmount', '9'.repeat(59)))],
  ['an amount of 58 decimals', spoiling(withFirst('vailAmount', `0.${'3'.repeat(58)}`))],
  ['an amount of 1e58', spoiling(withFirst('vailAmount', '1e58'))],
  ['an amount of 1e999999', spoiling(withFirst('vailAmount', '1e999999'))],
  ['a NUL in batchNo', spoiling(withFirst('batchNo', '"B\\u0000"'))],
  ['a NUL in busiType', spoiling(withFirst('busiType', '"T\\u0000"'))],
  ['a NUL in a field nobody knows', spoiling(withEntry('{"note":"a\\u0000b"}'))],
  ['half a character in batchNo', spoiling(withFirst('batchNo', '"B\\ud83d"'))],
  ['half a character in busiType', spoiling(withFirst('busiType', '"\\ude00"'))],
  ['half a character in busiDate', spoiling(withFirst('busiDate', '"2026-03-02 12:00:0\\ud83d"'))],
  ['an entry that is text', spoiling(withEntry('"\\u0000\\ud83d"'))],
  ['an entry that is __proto__', spoiling(withEntry('{"__proto__":{"batchNo":"B1"},"constructor":7}'))],
  ['an entry of a thousand brackets', spoiling(withEntry('['.repeat(1_000) + ']'.repeat(1_000)))],
  ['a million brackets', spoiling(() => '['.repeat(1_000_000) + ']'.repeat(1_000_000))],
  [
    'a list of a million entries',
    spoiling(() => `{"pageNum":1,"pageSize":100,"total":1,"list":[${'1,'.repeat(1_000_000)}1]}`),
  ],
  ['an error that is cut inside a character', failing(`${'x'.repeat(119)}\u{1f600}`)],
  ['an error that is cut inside a character, by one more', failing(`${'x'.repeat(118)}\u{1f600}\u{1f600}`)],
  ['an error with NUL', failing('down\u0000', 418)],
  ['an error document with NUL and half a character', spoiling(() => '{"msg":"\\u0000\\ud83d"}')],
];

describe('one merchant’s platform', () => {
  test.each(REPLIES)(
    'answers with %s: the other’s night is complete, and the report is stored',
    // A false total costs thousands of calls before the reader gives up.
    { timeout: 240_000, tags: ['long'] },
    async (_, conduct) => {
      const stage = await openNight([FIRST, SECOND]);
      const { reader } = await gatewayTo(stage, { [OTHER.merchantNo]: conduct });
      const both = { merchants: [MERCHANT, OTHER], range: { from: FIRST, to: SECOND } };
      const report = await stage.run(both, { reader: reader() });
      expect([3, 4]).toContain(report.exitCode);
      for (const note of report.notes)
        expect(note).toMatch(
          /^(SBX-M-2|\d+ (unreadable (entry|entries) in quarantine|(entry|entries) (no longer shown|amended) by the platform|new breaks?))\b/,
        );
      expect(publishedIn({ ...report, publish: ofFine(report.publish) })).toEqual(
        [FIRST, SECOND].map((day) => `USD ${day} r1`),
      );
      expect(await storedOf(stage)).toEqual(truthOf(stage));
      const { db } = stage.app.database;
      expect(await db.selectFrom('run').select(['exit_code', 'figures']).execute()).toEqual([
        { exit_code: report.exitCode, figures: expect.objectContaining({ notes: report.notes }) },
      ]);

      // Once the platform behaves well, the next night completes everything.
      await stage.run(both);
      expect(await storedOf(stage, OTHER.merchantNo)).toEqual(truthOf(stage, OTHER.merchantNo));
    },
  );
});

const ofFine = (publish: Awaited<ReturnType<Stage['run']>>['publish']) =>
  publish && {
    ...publish,
    published: publish.published.filter(({ account }) => account.merchantNo === MERCHANT.merchantNo),
  };

describe('a fault in the rows of one merchant', () => {
  const both = { merchants: [MERCHANT, OTHER] };
  /** Expects that the first merchant has everything after a run in which the other failed. */
  const expectWhole = async (stage: Stage, report: Awaited<ReturnType<Stage['run']>>) => {
    expect(await storedOf(stage)).toEqual(truthOf(stage));
    expect(publishedIn({ ...report, publish: ofFine(report.publish) })).toEqual(
      DAYS.map((day) => `USD ${day} r1`),
    );
    const { db } = stage.app.database;
    expect(await db.selectFrom('run').select('exit_code').orderBy('id', 'desc').executeTakeFirst()).toEqual({
      exit_code: report.exitCode,
    });
  };

  test('stored amounts of 60 digits: later runs use them with all digits', async () => {
    const stage = await openNight();
    const { db } = stage.app.database;
    await stage.run({ ...both, command: 'sync' });
    const [first, second] = await db
      .selectFrom('ledger_entry')
      .selectAll()
      .where('merchant_no', '=', OTHER.merchantNo)
      .orderBy('booked_ms')
      .limit(2)
      .execute();
    const set = (batchNo: string, balance: string) =>
      db.updateTable('ledger_entry').set({ balance }).where('batch_no', '=', batchNo).execute();
    await set(first!.batch_no, `${'9'.repeat(59)}.00`);
    await set(second!.batch_no, `-0.${'7'.repeat(58)}`);
    await stage.run({ ...both, command: 'reconcile' });
    const report = await stage.run({ ...both, command: 'publish' });
    expect(report.exitCode).toBe(3);
    await expectWhole(stage, report);
    expect(report.publish!.published).toHaveLength(2 * DAYS.length);
    const breaks = await db.selectFrom('continuity_break').select('found_balance').orderBy('id').execute();
    expect(Math.max(...breaks.map(({ found_balance: found }) => found.length))).toBeGreaterThan(60);

    // Once they are read again, the platform's own figures replace them.
    expect((await stage.run(both)).exitCode).toBe(3);
    expect(await storedOf(stage, OTHER.merchantNo)).toEqual(truthOf(stage, OTHER.merchantNo));
    expect((await stage.run(both)).exitCode).toBe(0);
  });

  test('a row that cannot be reconciled: reported as a fault, and the others are published', async () => {
    const stage = await openNight();
    const { db } = stage.app.database;
    await stage.run({ ...both, command: 'sync' });
    // The row's day is not that of its instant, as if it had been read in another time zone.
    await sql`UPDATE ledger_entry SET booked_at = booked_at + interval '1 day'
      WHERE merchant_no = ${OTHER.merchantNo} AND booked_at::date = ${DAYS[1]!}::date`.execute(db);
    for (const command of ['reconcile', 'publish'] as const) {
      const report = await stage.run({ ...both, command });
      if (command === 'publish') await expectWhole(stage, report);
      else
        expect(report).toMatchObject({
          exitCode: 70,
          notes: [
            expect.stringMatching(/^SBX-M-2: reconcile failed: .*another day/),
            expect.stringContaining('4 days proven without figures'),
          ],
        });
    }
  });

  test('a fault while its ledger is read: the others are read, reconciled and published', async () => {
    const stage = await openNight();
    const { reader } = stage.app;
    const faulty: LedgerReader = {
      page: (query, signal) => {
        if (query.merchant.merchantNo === OTHER.merchantNo) throw new TypeError('made up');
        return reader.page(query, signal);
      },
    };
    const report = await stage.run(both, { reader: faulty });
    expect(report).toMatchObject({
      exitCode: 70,
      notes: ['SBX-M-2: internal error, please report it: TypeError: made up'],
    });
    await expectWhole(stage, report);
  });

  test('a row that the database refuses concerns only its merchant; a database in trouble concerns all', async () => {
    for (const [code, message] of [
      ['22003', 'integer out of range'],
      ['53100', 'could not extend file'],
    ] as const) {
      const stage = await openNight();
      await sql`
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS ${sql.lit(
          `BEGIN RAISE EXCEPTION '${message}' USING ERRCODE = '${code}'; END`,
        )}`.execute(stage.app.database.db);
      await sql`CREATE TRIGGER refuse BEFORE INSERT ON certificate FOR EACH ROW
        WHEN (NEW.merchant_no = ${sql.lit(OTHER.merchantNo)}) EXECUTE FUNCTION refuse()`.execute(
        stage.app.database.db,
      );
      const report = await stage.run(both);
      if (code === '53100') {
        expect([report.exitCode, report.notes[0]]).toEqual([4, expect.stringContaining(message)]);
        // The other merchant may be done by then.
        const published = report.publish?.published.map(({ account }) => account.merchantNo) ?? [];
        expect(published).not.toContain(OTHER.merchantNo);
      } else {
        expect([report.exitCode, report.notes[0]]).toEqual([
          70,
          expect.stringMatching(/^SBX-M-2: .*out of range/),
        ]);
        await expectWhole(stage, report);
      }
    }
  });

  test('answers that do not prove the zone concern only their merchant; the others prove it themselves', async () => {
    const stage = await openNight();
    const { reader } = await gatewayTo(stage, {
      // Pages have the entry, but a query for its batchNo does not find it.
      [OTHER.merchantNo]: async ({ body, response, pass }) => {
        const isProbe = 'batchNo' in (JSON.parse(body) as object);
        response.end(isProbe ? '{"pageNum":1,"pageSize":100,"total":0,"list":[]}' : await pass());
      },
    });
    const report = await stage.run({ merchants: [OTHER, MERCHANT] }, { reader: reader() });
    // Its own proof fails. But if the other merchant's proof comes first, it serves both.
    expect([0, 4]).toContain(report.exitCode);
    for (const note of report.notes) {
      expect(note).toMatch(/^SBX-M-2: PLATFORM_TIME_ZONE .* could not be proven/);
    }
    await expectWhole(stage, report);
  });
});
