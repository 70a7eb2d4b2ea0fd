/** What was published is read ahead for some merchants in one statement, each of them once. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import { ManifestPrefetch } from '../../src/statements/compare-files.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { freshDatabase } from '../support/database.ts';
import { startFaultyWire, type FaultyWire } from '../support/faulty-wire.ts';

const FROM = '2026-03-01';
const TO = '2026-03-08';
const DAYS = { from: FROM, to: TO };
const merchants = Array.from({ length: 40 }, (_, nth) => `M${String(nth).padStart(2, '0')}`);

let direct: Database;
let wire: FaultyWire;
let database: Database;
beforeAll(async () => {
  const fresh = await freshDatabase();
  direct = fresh;
  await fresh.db
    .insertInto('statement')
    .values(
      merchants.flatMap((merchant_no) =>
        [FROM, TO, addDays(TO, 1)].map((day) => ({
          ...{ merchant_no, currency: 'USD', day, revision: 1, sha256: 'a', byte_count: 1, row_count: 0 },
          ...{ object_key: `${merchant_no}/${day}.csv`, columns: 'entry', opening: '0.10', closing: '0' },
          ...{ credit_total: '0', credit_count: 0, debit_total: '0', debit_count: 0, break_count: 0 },
          ...{ verdict: 'continuous', published_at: new Date(0) },
        })),
      ),
    )
    .execute();
  await fresh.db
    .insertInto('artifact')
    .values({
      ...{ merchant_no: 'M01', day: FROM, object_key: `M01/${FROM}.csv`, kind: 'file', sha256: 'a' },
      ...{ stored_sha256: 'a', stored_bytes: 1, etag: 'e' },
    })
    .execute();
  wire = await startFaultyWire(fresh.url);
  database = await openDatabase({ databaseUrl: wire.url, dataDir: '' });
});
beforeEach(() => void wire.takeStatements());
afterAll(async () => {
  await database.close();
  await wire.close();
  await direct.close();
});

const asked = (): number => wire.takeStatements().filter((text) => /FROM artifact/.test(text)).length;
const aheadOf = (numbers = merchants, days = DAYS): ManifestPrefetch =>
  new ManifestPrefetch(
    database.db,
    numbers.map((merchantNo) => [merchantNo, days]),
  );
const daysIn = (published: Awaited<ReturnType<ManifestPrefetch['take']>>) =>
  published?.statements.map(({ merchant_no, day }) => `${merchant_no} ${day}`);

test('of those whose turn comes next, in one statement; those at the same moment share it', async () => {
  const ahead = aheadOf();
  const [second, first] = await Promise.all([ahead.take('M01', DAYS), ahead.take('M00', DAYS)]);
  expect(daysIn(first)).toEqual([`M00 ${FROM}`, `M00 ${TO}`]);
  expect(daysIn(second)).toEqual([`M01 ${FROM}`, `M01 ${TO}`]);
  expect(second!.statements[0]).toMatchObject({ opening: '0.10', published_at: new Date(0) });
  expect([first!.stored.size, [...second!.stored.keys()]]).toEqual([0, [`M01/${FROM}.csv`]]);
  for (const merchantNo of merchants.slice(2, 32)) await ahead.take(merchantNo, DAYS);
  expect(asked()).toBe(1);
  for (const merchantNo of merchants.slice(32)) await ahead.take(merchantNo, DAYS);
  expect(asked()).toBe(1);
});

test('only once for each merchant, as it may have written since', async () => {
  const ahead = aheadOf();
  expect(await ahead.take('M00', DAYS)).not.toBeNull();
  expect(await ahead.take('M00', DAYS)).toBeNull();
  ahead.forget('M01');
  expect(await ahead.take('M01', DAYS)).toBeNull();
});

test('only the days asked for, and none beside those that are read ahead', async () => {
  const ahead = aheadOf();
  expect(daysIn(await ahead.take('M00', { from: FROM, to: addDays(TO, -1) }))).toEqual([`M00 ${FROM}`]);
  expect(await ahead.take('M01', { from: FROM, to: addDays(TO, 1) })).toBeNull();
  expect(await ahead.take('M02', { from: addDays(FROM, -1), to: TO })).toBeNull();
  const months = { from: FROM, to: addDays(FROM, 31) };
  expect(await aheadOf(merchants, months).take('M00', months)).toBeNull();
});

test('after a statement that failed, the others ask anew', async () => {
  const ahead = aheadOf();
  const rename = (from: string, to: string) => direct.db.schema.alterTable(from).renameTo(to).execute();
  await rename('artifact', 'away');
  const failing = ahead.take('M00', DAYS);
  ahead.forget('M02');
  await expect(failing).rejects.toThrow('artifact');
  await rename('away', 'artifact');
  expect(daysIn(await ahead.take('M01', DAYS))).toEqual([`M01 ${FROM}`, `M01 ${TO}`]);
});
