/** Migration 0058 puts summaries, manifests, what was read back, and frozen statements elsewhere: every row, and whole. */
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { dayPrefix, manifestKey } from '../../src/verify/names.ts';
import { signatureKey, summaryKey, statementKey } from '../../src/statements/keys.ts';
import { migrate } from '../../src/store/engine/migrations.ts';
import { listCloses } from '../../src/months/stored.ts';
import { summariesOfDay } from '../../src/store/statements/statements.ts';
import { manifestOfDay, publishedDays } from '../../src/store/statements/stored-files.ts';
import { databaseBefore } from '../support/database.ts';
import { insertRows } from './rows-before.ts';

const AT = new Date('2026-03-06T01:30:00Z');
const DAY = '2026-03-05';
/** Their folders need encoding in every way that there is. */
const MERCHANTS = ['M1', '..dots.', 'a b/c%d', '商户~1', "it's(*)!"];

const statement = (merchant_no: string) => ({
  ...{ merchant_no, currency: 'USD', day: DAY, revision: 1, sha256: 's', byte_count: 7, row_count: 0 },
  ...{ object_key: statementKey({ merchantNo: merchant_no, currency: 'USD' }, DAY, 1), opening: '0' },
  ...{ credit_total: '0', credit_count: 0, debit_total: '0', debit_count: 0, closing: '0' },
  ...{ verdict: 'continuous', break_count: 0, published_at: AT },
});
const summary = (merchant_no: string, revision: number, content: string | null) => ({
  ...{ merchant_no, day: DAY, revision, sha256: `y${revision}`, content, published_at: AT },
  object_key: summaryKey(merchant_no, DAY, revision),
});
const manifest = (merchant_no: string) => ({
  ...{ merchant_no, day: DAY, revision: 3, epoch: 5, sha256: 'm', byte_count: 11, content: '{}' },
  ...{ place: 2, signature: 'signed' },
});
const stored = (merchantNo: string) => [
  {
    object_key: statementKey({ merchantNo, currency: 'USD' }, DAY, 1),
    sha256: 's',
    byte_count: 7,
    etag: 'e1',
  },
  { object_key: `${dayPrefix(merchantNo, DAY)}other.xlsx`, sha256: 'o', byte_count: 8, etag: null },
  { object_key: summaryKey(merchantNo, DAY, 2), sha256: 'y2', byte_count: 9, etag: 'e2' },
  { object_key: manifestKey(merchantNo, DAY), sha256: 'an earlier one', byte_count: 10, etag: 'e3' },
  { object_key: signatureKey(merchantNo, DAY), sha256: 'g', byte_count: 12, etag: 'e4' },
];

const byKey = (a: { readonly object_key: string }, b: { readonly object_key: string }): number =>
  a.object_key < b.object_key ? -1 : 1;

test('every row of the tables before is there, with each of its values', async () => {
  const { db } = await databaseBefore('0058');
  await insertRows(db, 'statement', [
    ...MERCHANTS.map(statement),
    { ...statement('M1'), currency: 'KWD', revision: 1, object_key: 'k1' },
    { ...statement('M1'), currency: 'KWD', revision: 2, object_key: 'k2' },
  ]);
  await insertRows(
    db,
    'statement_summary',
    MERCHANTS.flatMap((one) => [summary(one, 1, null), summary(one, 2, 'text')]),
  );
  await insertRows(db, 'statement_manifest', MERCHANTS.map(manifest));
  await insertRows(db, 'stored_object', MERCHANTS.flatMap(stored));
  await sql`INSERT INTO audit_event (at, by_whom, command, subject) VALUES (${AT}, 'Ada', 'close', 'M1'), (${AT}, 'Bob', 'close', 'M1')`.execute(
    db,
  );
  const closed = { merchant_no: 'M1', month: '2026-03-01', open_days: 0, content: 'file', sha256: 'c' };
  await insertRows(db, 'month_close', [
    { ...closed, number: 1, audit_event_id: 1, object_key: 'close1' },
    { ...closed, number: 2, audit_event_id: 2, object_key: 'close2' },
  ]);
  await insertRows(db, 'month_close_statement', [
    {
      merchant_no: 'M1',
      month: '2026-03-01',
      number: 1,
      currency: 'KWD',
      day: DAY,
      revision: 2,
      sha256: 's',
    },
    {
      merchant_no: 'M1',
      month: '2026-03-01',
      number: 1,
      currency: 'USD',
      day: DAY,
      revision: 1,
      sha256: 's',
    },
  ]);

  await migrate(db);
  for (const merchantNo of MERCHANTS) {
    expect(await summariesOfDay(db, merchantNo, DAY)).toEqual([
      summary(merchantNo, 1, null),
      summary(merchantNo, 2, 'text'),
    ]);
    const row = { ...manifest(merchantNo), object_key: manifestKey(merchantNo, DAY) };
    expect(await manifestOfDay(db, merchantNo, DAY)).toEqual(row);
    const found = (await publishedDays(db, [{ merchantNo, fromDay: DAY, toDay: DAY }])).get(merchantNo)!;
    expect(found.summaries).toEqual([summary(merchantNo, 1, null), summary(merchantNo, 2, 'text')]);
    expect(found.manifests).toEqual([row]);
    expect([...found.stored.values()].sort(byKey)).toEqual(
      stored(merchantNo)
        .map((one) => ({ merchant_no: merchantNo, day: DAY, ...one }))
        .sort(byKey),
    );
  }
  const { rows } = await sql`SELECT number, frozen FROM month_close ORDER BY number`.execute(db);
  expect(rows).toEqual([
    { number: 1, frozen: { KWD: { [DAY]: 2 }, USD: { [DAY]: 1 } } },
    { number: 2, frozen: {} },
  ]);
  expect((await listCloses(db, { merchants: ['M1'] })).map((one) => one.statements)).toEqual([2, 0]);
});
