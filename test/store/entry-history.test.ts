/**
 * What is stored under one entry number: each merchant, each content with its times, unreadable entries, breaks
 * next to it.
 */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import {
  adjacentBreaks,
  ENTRIES_FOUND_MAX,
  findEntries,
  unreadableOfNumber,
} from '../../src/store/entry-history.ts';
import {
  certified,
  DAY,
  entries,
  entry,
  NOW,
  onBothDatabases,
  unreadable,
  storeAndJudge,
} from './support.ts';

const NUMBER = 'B000002';
const laterBy = (hours: number) => new Date(NOW.getTime() + hours * 3_600_000);

onBothDatabases((store) => {
  const hold = async (
    merchantNo: string,
    held: readonly LedgerEntry[],
    now = NOW,
    wrecks = [] as string[],
  ) => {
    const { db, lease, runId } = store();
    const raws = wrecks.map((raw) => ({ ...unreadable(raw), batchNo: NUMBER }));
    await storeAndJudge(db, lease, {
      merchantNo,
      window: DAY,
      reading: certified(held, raws),
      runId,
      now,
    });
  };
  const find = (...merchants: string[]) =>
    findEntries(store().db, NUMBER, merchants.length === 0 ? null : merchants);

  describe('an entry searched by its number', () => {
    it('is shown with each content, when it was seen, and the run that changed it', async () => {
      const changed = entry(2, { transactionType: 'CHANGED' });
      const again = entry(2, { transactionType: 'AGAIN' });
      await hold('M1', entries(1, 2, 3));
      await hold('M1', [entry(1), changed, entry(3)], laterBy(1));
      await hold('M1', [entry(1), again, entry(3)], laterBy(2));
      const { runId } = store();
      expect(await find()).toEqual([
        {
          merchantNo: 'M1',
          contents: [
            { version: 1, entry: entry(2), seenAt: NOW, runId: null },
            { version: 2, entry: changed, seenAt: laterBy(1), runId },
            { version: 3, entry: again, seenAt: laterBy(2), runId },
          ],
          vanishedAt: null,
          absentSince: null,
        },
      ]);
    });

    it('is found for every merchant that has it, vanished or not, or only for the merchant named', async () => {
      for (const merchantNo of ['M1', 'M2', 'M3']) await hold(merchantNo, entries(1, 2, 3, 4, 5));
      await hold('M3', entries(1, 3, 4, 5), laterBy(1));
      await hold('M4', entries(1, 3));
      expect((await find()).map(({ merchantNo, vanishedAt }) => [merchantNo, vanishedAt])).toEqual([
        ['M1', null],
        ['M2', null],
        ['M3', laterBy(1)],
      ]);
      expect((await find('M2')).map(({ merchantNo }) => merchantNo)).toEqual(['M2']);
      expect(await find('M4')).toEqual([]);
      expect(await findEntries(store().db, 'b000002', null)).toEqual([]);
    });

    it('that a reading missed and that is not yet believed to be gone shows since when', async () => {
      await hold('M1', entries(2));
      await hold('M1', [], laterBy(1));
      expect(await find()).toMatchObject([{ vanishedAt: null, absentSince: laterBy(1) }]);
    });

    it('is shown for a limited number of merchants', async () => {
      await sql`
        INSERT INTO ledger_entry
          (merchant_no, batch_no, currency, transaction_type, credit, balance, booked_at, booked_ms, first_seen_at)
        SELECT 'N' || n, ${NUMBER}, 'USD', '1', 1, 1, '2026-03-09 00:00:20', ${entry(2).bookedMs}, ${NOW}
        FROM generate_series(1, ${ENTRIES_FOUND_MAX + 5}) n`.execute(store().db);
      expect(await find()).toHaveLength(ENTRIES_FOUND_MAX);
    });

    it('is found among unreadable entries, only for the merchant named if there is one', async () => {
      await hold('M1', entries(1), NOW, ['{"a":1}', '{"a":2}']);
      await hold('M2', entries(1), NOW, ['{"a":3}']);
      const raws = async (merchants: string[] | null = null) =>
        (await unreadableOfNumber(store().db, NUMBER, merchants)).map(({ raw }) => raw);
      expect((await raws()).sort()).toEqual(['{"a":1}', '{"a":2}', '{"a":3}']);
      expect(await raws(['M2'])).toEqual(['{"a":3}']);
    });

    it('has the breaks of its merchant that name it', async () => {
      const { db } = store();
      const found = {
        currency: 'USD',
        day: '2026-03-09',
        expected_balance: '1',
        found_balance: '2',
        missing_net: '1',
        hint: 'missing',
        begin_ms: 1,
        end_ms: 2,
        found_at: NOW,
      };
      const add = (merchant_no: string, after: string | null, before: string, hinted: string | null) =>
        db
          .insertInto('continuity_break')
          .values({
            ...found,
            merchant_no,
            after_batch_no: after,
            before_batch_no: before,
            hint_batch_no: hinted,
          })
          .execute();
      await add('M1', null, NUMBER, null);
      await add('M1', NUMBER, 'B000003', null);
      await add('M1', 'B000008', 'B000009', NUMBER);
      await add('M1', 'B000008', 'B000009', null);
      await add('M2', NUMBER, 'B000003', null);
      const rows = await adjacentBreaks(
        db,
        { merchantNo: 'M1', contents: [], vanishedAt: null, absentSince: null },
        NUMBER,
      );
      expect(rows.map((row) => [row.after_batch_no, row.before_batch_no])).toEqual([
        ['B000008', 'B000009'],
        [NUMBER, 'B000003'],
        [null, NUMBER],
      ]);
    });
  });
});
