import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { arrayLiteral, rowOf } from '../../src/store/engine/database.ts';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { markEventsReported } from '../../src/store/events.ts';
import { keepNotices, noticeEvent, unreportedNotices } from '../../src/store/notices.ts';
import { noteChained } from '../../src/store/certificates.ts';
import {
  merchantWith,
  sharedEntries,
  noteCompared,
  accountDaysOf,
  uncomparedDays,
} from '../../src/store/shared-entries.ts';
import { writeTransaction } from '../../src/store/engine/write-transaction.ts';
import {
  certified,
  DAY,
  DAY_BEGIN_MS,
  entries,
  entry,
  NOW,
  onBothDatabases,
  storeAndJudge,
} from './support.ts';

const ONE = 'M1';
const TWO = 'M2';
const THREE = 'M3';

onBothDatabases((store) => {
  const hold = async (merchantNo: string, held: readonly LedgerEntry[], now = NOW): Promise<void> => {
    const { db, lease, runId } = store();
    await storeAndJudge(db, lease, {
      merchantNo,
      window: DAY,
      reading: certified(held),
      runId,
      now,
    });
  };
  const found = async (...merchants: string[]) =>
    sharedEntries(store().db, accountDaysOf(await uncomparedDays(store().db, merchants)), 'UTC');
  const notice = (merchantNo: string, otherMerchantNo: string, ...batchNos: string[]) => ({
    kind: 'shared',
    merchantNo,
    otherMerchantNo,
    currency: 'USD',
    day: '2026-03-09',
    figures: { count: batchNos.length, batchNos: batchNos.slice(0, 3) },
  });

  /** As it is found where neither merchant has figures. */
  const foundOf = (merchantNo: string, otherMerchantNo: string, ...batchNos: string[]) => ({
    ...notice(merchantNo, otherMerchantNo, ...batchNos),
    doubted: [merchantNo, otherMerchantNo],
  });

  describe('entries that two merchants have', () => {
    test('are found from either merchant, counted, and the first three are named', async () => {
      await hold(ONE, entries(1, 2, 3, 4, 5));
      await hold(TWO, entries(2, 3, 4, 5, 6));
      const all = [foundOf(ONE, TWO, 'B000002', 'B000003', 'B000004', 'B000005')];
      expect(await found(ONE, TWO)).toEqual(all);
      expect(await found(TWO)).toEqual(all);
    });

    test('are reported for each pair of three merchants', async () => {
      for (const merchantNo of [ONE, TWO, THREE]) await hold(merchantNo, entries(7));
      const pairs = await found(THREE);
      expect(pairs).toEqual(
        expect.arrayContaining([foundOf(ONE, THREE, 'B000007'), foundOf(TWO, THREE, 'B000007')]),
      );
      expect(pairs).toHaveLength(2);
    });

    test('must have the same number, balance and second', async () => {
      await hold(ONE, entries(1, 2, 3));
      const others = [
        // The other side of a transfer between the two merchants.
        entry(1, { credit: null, debit: '1.00', balance: '70.00' }),
        entry(2, { balance: '1002.01' }),
        entry(3, { bookedMs: DAY_BEGIN_MS + 31_000, bookedAt: '2026-03-09 00:00:31' }),
        entry(4),
      ];
      await hold(TWO, others);
      expect(await found(ONE, TWO)).toEqual([]);
    });

    test('no longer count once one merchant no longer has them', async () => {
      await hold(ONE, entries(1));
      await hold(TWO, entries(1, 2));
      await hold(TWO, entries(2), new Date(NOW.getTime() + 1));
      expect(await found(ONE, TWO)).toEqual([]);
    });

    test('are only searched on days that changed', async () => {
      const { db } = store();
      await hold(ONE, entries(1));
      await hold(TWO, entries(1));
      await db.updateTable('certificate').set({ compared: true }).execute();
      expect(await found(ONE, TWO)).toEqual([]);
    });

    test('are searched entry by entry, however many merchants there are', async () => {
      const { db } = store();
      await hold(ONE, entries(1, 2, 3));
      const others = Array.from({ length: 200 }, (_, nth) => `N${String(nth).padStart(3, '0')}`);
      await sql`
        INSERT INTO ledger_entry (merchant_no, batch_no, currency, transaction_type, credit, balance, booked_at, booked_ms, first_seen_at)
        SELECT other, batch_no || other, currency, transaction_type, credit, balance, booked_at, booked_ms, first_seen_at
        FROM ledger_entry, unnest(${arrayLiteral(others)}::text[]) AS other`.execute(db);
      const scans = await db.transaction().execute(async (trx) => {
        const made = async () =>
          (
            await rowOf(trx)<{ count: number }>`
              SELECT seq_scan + idx_scan AS count FROM pg_stat_xact_user_tables WHERE relname = 'ledger_entry'`
          ).count;
        const before = await made();
        await sharedEntries(trx, accountDaysOf(await uncomparedDays(trx, [ONE])), 'UTC');
        return (await made()) - before;
      });
      expect(scans).toBeLessThan(20);
    });

    test('are searched until the days are compared, though they have their figures by then', async () => {
      const { db, lease } = store();
      const made = (merchantNo: string) =>
        writeTransaction(db, lease, (trx) => noteChained(trx, merchantNo, ['2026-03-09']));
      await hold(ONE, entries(1));
      await hold(TWO, entries(1));
      await made(ONE);
      await made(TWO);
      expect(await found(ONE)).toEqual([foundOf(ONE, TWO, 'B000001')]);
      const compared = await uncomparedDays(db, [ONE, TWO]);
      await hold(TWO, entries(1, 2), new Date(NOW.getTime() + 1));
      await made(TWO);
      await writeTransaction(db, lease, (trx) => noteCompared(trx, compared));
      expect(await found(ONE)).toEqual([]);
      expect(await uncomparedDays(db, [ONE, TWO])).toMatchObject([{ merchantNo: TWO, day: '2026-03-09' }]);
    });
  });

  test('are recognized when they come for another merchant', async () => {
    await hold(TWO, entries(1, 2));
    const { db } = store();
    expect(await merchantWith(db, ONE, entries(9, 2))).toEqual({ merchantNo: TWO, batchNo: 'B000002' });
    expect(await merchantWith(db, ONE, [entry(2, { credit: '2.01' })])).toBeNull();
    expect(await merchantWith(db, TWO, entries(2))).toBeNull();
  });

  test('are reported once, by either merchant’s run, and again if there are more', async () => {
    const { db, lease, runId } = store();
    const keep = (...batchNos: string[]) =>
      writeTransaction(db, lease, (trx) =>
        keepNotices(trx, [notice(ONE, TWO, ...batchNos) as never], { runId, now: NOW }),
      );
    const unreported = async (merchantNo: string) => (await unreportedNotices(db, [merchantNo])).length;
    await keep('B1', 'B2');
    expect([await unreported(ONE), await unreported(TWO), await unreported(THREE)]).toEqual([1, 1, 0]);
    const reported = await unreportedNotices(db, [TWO]);
    await writeTransaction(db, lease, (trx) => markEventsReported(trx, reported.map(noticeEvent), NOW));
    await keep('B1', 'B2');
    expect(await unreported(ONE)).toBe(0);
    await keep('B1', 'B2', 'B3');
    expect(await unreported(ONE)).toBe(1);
  });
});
