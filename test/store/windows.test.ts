import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { LeaseLost, releaseLeases } from '../../src/store/engine/lease.ts';
import { finishRun, runById, startRun } from '../../src/store/runs.ts';
import { SECOND_READING_AFTER_MS } from '../../src/store/absent-entries.ts';
import {
  certifiedWindows,
  daysNotChained,
  noteChained,
  uncertifiedOfEach,
} from '../../src/store/certificates.ts';
import { holdStored, judgeReading, storeWindow as storeReading } from '../../src/store/windows.ts';
import { storeWindow } from '../support/store-window.ts';
import type { WindowToStore } from '../../src/store/compare-with-stored.ts';
import { acceptAllHeld } from '../support/held.ts';
import {
  DAY,
  DAY_BEGIN_MS,
  MERCHANT,
  NOW,
  certified,
  entries,
  entry,
  footprints,
  onBothDatabases,
  storeAndJudge,
  unreadable,
  uncertified,
} from './support.ts';

const UNCHANGED = {
  inserted: 0,
  amended: 0,
  vanished: 0,
  returned: 0,
  quarantined: 0,
  unchanged: 0,
};
const NOTHING = { ...UNCHANGED, absent: 0 };
const JUDGED = { ...UNCHANGED, doubt: null };
/** The time of a later run, late enough to confirm what an earlier one missed. */
/** A run before the one of the absences. */
const EARLIER = new Date(NOW.getTime() - SECOND_READING_AFTER_MS);
const LATER = new Date(NOW.getTime() + SECOND_READING_AFTER_MS);

onBothDatabases((store) => {
  const toStore = (change: Partial<WindowToStore>): WindowToStore => ({
    merchantNo: MERCHANT,
    window: DAY,
    reading: certified([]),
    runId: store().runId,
    now: NOW,
    ...change,
  });
  const keep = (change: Partial<WindowToStore>) => storeWindow(store().db, store().lease, toStore(change));
  const keepAndJudge = (change: Partial<WindowToStore>) =>
    storeAndJudge(store().db, store().lease, toStore(change));
  const settled = (change: { runId: number; now: Date; namelessCount: number }) =>
    judgeReading(store().db, store().lease, [
      { merchantNo: MERCHANT, planned: DAY, currency: null, ...change },
    ]);
  const nextRun = () =>
    startRun(store().db, { command: 'sync', holder: 'test:1:-', fromDay: null, toDay: null, now: NOW });
  const changedDays = async () => {
    const days = (await daysNotChained(store().db, MERCHANT)).map(({ day }) => day);
    await store()
      .db.transaction()
      .execute((trx) => noteChained(trx, MERCHANT, days));
    return days;
  };
  const failedSpans = async () => (await uncertifiedOfEach(store().db, [MERCHANT], DAY)).get(MERCHANT) ?? [];
  const held = (batchNo: string) =>
    store()
      .db.selectFrom('ledger_entry')
      .selectAll()
      .where('batch_no', '=', batchNo)
      .executeTakeFirstOrThrow();

  it('a failed reading with an impossible total is stored, with its figures in the problem', async () => {
    for (const total of [2 ** 31, 999_999_999_999_999, 1e21]) {
      const problem = `page 1 of ${total} entries held 1 where 100 were due`;
      await keep({ reading: { ...uncertified(entries(1), problem), total } });
      expect(await failedSpans()).toEqual([{ ...DAY, problem }]);
    }
  });

  it('the end of a run is recorded, whatever text its sentences contain', async () => {
    const { db, runId } = store();
    const notes = ['half \ud83d', '\ude00 half', 'NUL \0', 'whole \u{1f600}'];
    await finishRun(db, runId, { exitCode: 4, figures: { notes }, now: NOW });
    expect((await runById(db, runId))?.figures).toEqual({
      notes: ['half \ufffd', '\ufffd half', 'NUL \ufffd', 'whole \u{1f600}'],
    });
  });

  describe('entries', () => {
    it('are stored digit for digit, and their day is marked as changed', async () => {
      const odd = entry(7, {
        batchNo: 'B"\\,{}\' NULL',
        transactionType: 'ü\n,"',
        credit: null,
        debit: '0.10000',
        balance: '-12345678901234567890.123456789',
        currency: 'JPY',
      });
      expect(await keep({ reading: certified([entry(1), odd]) })).toEqual({ ...NOTHING, inserted: 2 });
      expect(await held(odd.batchNo)).toEqual({
        merchant_no: MERCHANT,
        batch_no: odd.batchNo,
        currency: 'JPY',
        transaction_type: 'ü\n,"',
        credit: null,
        debit: '0.10000',
        balance: '-12345678901234567890.123456789',
        booked_at: '2026-03-09 00:01:10',
        booked_ms: DAY_BEGIN_MS + 70_000,
        first_seen_at: NOW,
        version: 1,
        vanished_at: null,
      });
      expect(await changedDays()).toEqual(['2026-03-09']);
    });

    it('read again with the same content leave every row untouched, dead rows and locks included', async () => {
      const reading = certified(entries(1, 2, 3), [unreadable('{"x":1}')]);
      await keep({ reading });
      const before = await footprints(store().db);
      expect(await keep({ reading, now: new Date(NOW.getTime() + 1000) })).toEqual({
        ...NOTHING,
        unchanged: 3,
      });
      expect(await footprints(store().db)).toEqual(before);
    });

    it('that differ keep their old content, and mark both their old and their new day as changed', async () => {
      await keep({ reading: certified(entries(1, 2)) });
      await changedDays();
      const moved = entry(2, {
        currency: 'EUR',
        credit: null,
        debit: '9.99',
        balance: '1.00',
        transactionType: '2',
        bookedAt: '2026-03-08 10:00:00',
        bookedMs: DAY_BEGIN_MS - 50_400_000,
      });
      expect(await keep({ reading: uncertified([moved, entry(3)]) })).toEqual({
        ...NOTHING,
        inserted: 1,
        amended: 1,
      });
      expect(await held(moved.batchNo)).toMatchObject({
        currency: 'EUR',
        credit: null,
        debit: '9.99',
        version: 2,
        first_seen_at: NOW,
      });
      expect(await store().db.selectFrom('ledger_entry_version').selectAll().execute()).toEqual([
        {
          merchant_no: MERCHANT,
          batch_no: moved.batchNo,
          version: 1,
          currency: 'USD',
          transaction_type: '1001',
          credit: '2.00',
          debit: null,
          balance: '1002.00',
          booked_at: '2026-03-09 00:00:20',
          booked_ms: DAY_BEGIN_MS + 20_000,
          superseded_at: NOW,
          run_id: store().runId,
        },
      ]);
      expect(await changedDays()).toEqual(['2026-03-08', '2026-03-09']);
    });

    it.each(['transactionType', 'credit', 'balance', 'bookedAt', 'bookedMs', 'currency'] as const)(
      'that differ only by %s count as amended',
      async (field) => {
        await keep({ reading: certified(entries(1)) });
        const other = entry(2, { currency: 'EUR', transactionType: '7' });
        expect(await keep({ reading: uncertified([entry(1, { [field]: other[field] })]) })).toEqual({
          ...NOTHING,
          amended: 1,
        });
      },
    );

    it('that come twice in one reading count once, with the later content', async () => {
      expect(
        await keep({ reading: uncertified([entry(1), entry(2), entry(1, { balance: '5.00' })]) }),
      ).toEqual({ ...NOTHING, inserted: 2 });
      expect(await held('B000001')).toMatchObject({ balance: '5.00' });
    });

    it.each([
      ['credit', 'NaN'],
      ['credit', 'Infinity'],
      ['credit', '-1'],
      ['balance', 'NaN'],
      ['balance', '-Infinity'],
    ])('with %s %s are refused, and nothing of the window is stored', async (side, digits) => {
      await expect(keep({ reading: certified([entry(1), entry(2, { [side]: digits })]) })).rejects.toThrow(
        /check constraint/,
      );
      expect(await footprints(store().db)).toEqual([]);
    });
  });

  describe('vanishing', () => {
    it('is marked if a certified window no longer holds an entry, and ends when the entry returns', async () => {
      await keepAndJudge({ reading: certified(entries(1, 2, 3)) });
      await changedDays();
      expect(await keepAndJudge({ reading: certified(entries(1, 3)) })).toEqual({
        ...JUDGED,
        unchanged: 2,
        vanished: 1,
      });
      expect(await held('B000002')).toMatchObject({ vanished_at: NOW, version: 1 });
      expect(await changedDays()).toEqual(['2026-03-09']);

      const before = await footprints(store().db);
      expect(await keepAndJudge({ reading: certified(entries(1, 3)) })).toEqual({ ...JUDGED, unchanged: 2 });
      expect(await footprints(store().db)).toEqual(before);

      expect(await keepAndJudge({ reading: certified(entries(1, 2, 3)) })).toEqual({
        ...JUDGED,
        unchanged: 2,
        returned: 1,
      });
      expect(await held('B000002')).toMatchObject({ vanished_at: null, version: 1 });
      expect(await changedDays()).toEqual(['2026-03-09']);
    });

    it('of all entries of a day is never believed before a person accepts it, however often it is read', async () => {
      await keepAndJudge({ reading: certified(entries(1, 2, 3)) });
      await changedDays();
      const waits = { ...JUDGED, doubt: expect.stringContaining('lacks 3 stored entries') };
      expect(await keepAndJudge({ reading: certified([]) })).toEqual(waits);
      expect(await certifiedWindows(store().db, MERCHANT, DAY)).toEqual([]);
      expect(await failedSpans()).toEqual([
        {
          ...DAY,
          problem: expect.stringMatching(
            /^3 stored entries were missing when it was read last, and they are held/,
          ),
        },
      ]);
      expect(await changedDays()).toEqual([]);
      const before = await footprints(store().db);
      expect(await keepAndJudge({ reading: certified([]), now: LATER })).toEqual(waits);
      expect(await keepAndJudge({ reading: certified([]), runId: await nextRun() })).toEqual(waits);
      expect(await keepAndJudge({ reading: certified([]), runId: await nextRun(), now: LATER })).toEqual(
        waits,
      );
      expect(await footprints(store().db)).toEqual(before);
      await acceptAllHeld(store().db, LATER);
      expect(await keepAndJudge({ reading: certified([]) })).toEqual({ ...JUDGED, vanished: 3 });
      expect(await certifiedWindows(store().db, MERCHANT, DAY)).toEqual([DAY]);
      expect(await changedDays()).toEqual(['2026-03-09']);
    });

    it.each([
      [1, 1, false],
      [2, 2, false],
      [2, 1, true],
      [3, 2, true],
      [4, 3, false],
      [10, 5, true],
      [10, 6, false],
    ])('of %i entries, %i gone, is believed at once: %s', async (held, gone, isBelieved) => {
      const numbers = Array.from({ length: held }, (_, n) => n + 1);
      await keepAndJudge({ reading: certified(entries(...numbers)), now: EARLIER });
      const { vanished, doubt } = await keepAndJudge({ reading: certified(entries(...numbers.slice(gone))) });
      expect([vanished, doubt === null]).toEqual(isBelieved ? [gone, true] : [0, false]);
    });

    it('of most entries of a day is only believed when a later run, late enough, misses them too', async () => {
      await keepAndJudge({ reading: certified(entries(1, 2, 3, 4)), now: EARLIER });
      const waits = { ...JUDGED, unchanged: 1, doubt: expect.stringContaining('(3 of 4 in USD)') };
      const left = { reading: certified(entries(1)) };
      expect(await keepAndJudge(left)).toEqual(waits);
      expect(await keepAndJudge({ ...left, now: LATER })).toEqual(waits);
      expect(await keepAndJudge({ ...left, runId: await nextRun() })).toEqual(waits);
      expect(await keepAndJudge({ ...left, runId: await nextRun(), now: LATER })).toEqual({
        ...JUDGED,
        unchanged: 1,
        vanished: 3,
      });
    });

    it('of all of an account is held, even if other accounts have more entries', async () => {
      await keepAndJudge({ reading: certified([...entries(1, 2, 3, 4), entry(5, { currency: 'EUR' })]) });
      const stored = await keepAndJudge({ reading: certified(entries(1, 2, 3)) });
      expect([stored.vanished, stored.doubt]).toEqual([1, expect.stringContaining('lacks 1 stored entry')]);
      expect(await certifiedWindows(store().db, MERCHANT, DAY, 'EUR')).toEqual([]);
      expect(await certifiedWindows(store().db, MERCHANT, DAY, 'USD')).toEqual([DAY]);
    });

    it('that waits is forgotten once the entries come again, certified or not', async () => {
      await keepAndJudge({ reading: certified(entries(1, 2)) });
      await keepAndJudge({ reading: certified([]) });
      expect(await keepAndJudge({ reading: uncertified(entries(1)) })).toEqual({ ...JUDGED, unchanged: 1 });
      expect(await keepAndJudge({ reading: certified(entries(1, 2)) })).toEqual({ ...JUDGED, unchanged: 2 });
      expect(await certifiedWindows(store().db, MERCHANT, DAY)).toEqual([DAY]);
      expect(
        await keepAndJudge({ reading: certified([]), runId: await nextRun(), now: LATER }),
      ).toMatchObject({
        vanished: 0,
        doubt: expect.any(String),
      });
    });

    it('in the parts of a planned window is judged for the whole window, once all parts are stored', async () => {
      const half = (from: number, to: number) => ({
        beginMs: DAY.beginMs + from,
        endMs: DAY.beginMs + to - 1,
      });
      const [first, second] = [half(0, 45_000), half(45_000, 86_400_000)];
      const thisRun = { runId: store().runId, now: NOW, namelessCount: 0 };
      await keep({ reading: certified(entries(1, 2, 3, 4, 5, 6, 7, 8, 9)), now: EARLIER });
      // All entries of the first part are gone: four of nine.
      const part = { window: first, planned: DAY, reading: certified([]) };
      expect(await keep(part)).toEqual({ ...NOTHING, absent: 4 });
      expect(await certifiedWindows(store().db, MERCHANT, DAY)).toEqual([]);
      await keep({ window: second, planned: DAY, reading: certified(entries(5, 6, 7, 8, 9)) });
      expect(await settled(thisRun)).toMatchObject([{ vanished: 4, doubt: null }]);
      expect(await certifiedWindows(store().db, MERCHANT, DAY)).toEqual([DAY]);
      // The second part then loses three of the remaining five.
      await keep({ window: first, planned: DAY, reading: certified([]) });
      await keep({ window: second, planned: DAY, reading: certified(entries(5, 6)) });
      expect(await settled(thisRun)).toMatchObject([
        { vanished: 0, doubt: expect.stringContaining('(3 of 5 in USD)') },
      ]);
      expect(await settled({ ...thisRun, runId: await nextRun(), now: LATER })).toMatchObject([
        { vanished: 3, doubt: null },
      ]);
    });

    it('does not apply to an entry that comes back unreadable', async () => {
      await keepAndJudge({ reading: certified(entries(1, 2, 3)) });
      const wreck = { raw: '{"batchNo":"B000002"}', reason: 'vailAmount is missing', batchNo: 'B000002' };
      const reading = certified(entries(1, 3), [wreck]);
      expect(await keepAndJudge({ reading })).toEqual({ ...JUDGED, unchanged: 2, quarantined: 1 });
      expect(await held('B000002')).toMatchObject({ vanished_at: null });
      expect(await keepAndJudge({ reading: certified(entries(1, 3)) })).toEqual({
        ...JUDGED,
        unchanged: 2,
        vanished: 1,
      });
    });

    it('is not concluded if an unreadable entry without batchNo may be the missing one', async () => {
      await keepAndJudge({ reading: certified(entries(1, 2, 3, 4, 5)) });
      const explained = certified(entries(1, 3, 4, 5), [unreadable('{"x":1}')]);
      expect(await keepAndJudge({ reading: explained })).toEqual({ ...JUDGED, unchanged: 4, quarantined: 1 });
      expect(await certifiedWindows(store().db, MERCHANT, DAY)).toEqual([DAY]);
      // One unreadable entry cannot be two. One of the two is gone, but no one can tell which.
      const unexplained = certified(entries(1, 4, 5), [unreadable('{"x":1}')]);
      expect(await keepAndJudge({ reading: unexplained, runId: await nextRun(), now: LATER })).toEqual({
        ...JUDGED,
        unchanged: 3,
        doubt: expect.stringContaining(
          'lacks 2 entries that are stored, and 1 unreadable one without batchNo',
        ),
      });
      expect(await certifiedWindows(store().db, MERCHANT, DAY)).toEqual([]);
      expect(await held('B000002')).toMatchObject({ vanished_at: null });
      // Once the unreadable entry can be read, what is still missing is gone.
      expect(await keepAndJudge({ reading: certified(entries(1, 2, 4, 5)) })).toEqual({
        ...JUDGED,
        unchanged: 4,
        vanished: 1,
      });
    });

    it('is not concluded if identical unreadable entries came in several parts, even with another day in between', async () => {
      await keep({ reading: certified(entries(1, 2, 3, 4, 5)) });
      const wreck = unreadable('{"x":1}');
      const parts = [DAY.beginMs, DAY.beginMs + 25_000, DAY.endMs + 1];
      const part = (at: 0 | 1) => ({
        window: { beginMs: parts[at]!, endMs: parts[at + 1]! - 1 },
        planned: DAY,
      });
      await keep({ ...part(0), reading: certified([entry(1)], [wreck]) });
      await keep({ ...part(1), reading: certified(entries(3, 4), [wreck]) });
      const nextDay = { beginMs: DAY.endMs + 1, endMs: DAY.endMs + 86_400_000 };
      await keep({ window: nextDay, reading: certified([], [wreck]) });
      const { runId } = store();
      expect(await settled({ runId, now: NOW, namelessCount: 2 })).toMatchObject([
        { vanished: 0, doubt: null },
      ]);
      expect(await certifiedWindows(store().db, MERCHANT, DAY)).toEqual([DAY]);
      expect(await held('B000002')).toMatchObject({ vanished_at: null });
    });

    it('is not concluded from a reading without certificate', async () => {
      await keepAndJudge({ reading: certified(entries(1, 2)) });
      expect(await keepAndJudge({ reading: uncertified(entries(1)) })).toEqual({ ...JUDGED, unchanged: 1 });
    });

    it('applies only to whole seconds inside the window', async () => {
      const at = (ms: number) => ({ bookedMs: DAY_BEGIN_MS + ms });
      const others = [entry(5, at(2100)), entry(6, at(2200)), entry(7, at(1100)), entry(8, at(1200))];
      await keepAndJudge({
        reading: certified([
          entry(1, at(1000)),
          entry(2, at(2000)),
          entry(3, at(3000)),
          entry(4, at(4000)),
          ...others,
        ]),
      });
      const reading = certified(others);
      const window = { beginMs: DAY_BEGIN_MS + 1001, endMs: DAY_BEGIN_MS + 4998 };
      expect(await keepAndJudge({ window, reading })).toEqual({ ...JUDGED, unchanged: 4, vanished: 2 });
      const first = (endMs: number) => ({ beginMs: DAY_BEGIN_MS + 1000, endMs: DAY_BEGIN_MS + endMs });
      expect(await keepAndJudge({ window: first(1998), reading })).toEqual({ ...JUDGED, unchanged: 4 });
      expect(await keepAndJudge({ window: first(1999), reading })).toEqual({
        ...JUDGED,
        unchanged: 4,
        vanished: 1,
      });
    });

    it('never applies to other merchants', async () => {
      await keepAndJudge({ reading: certified(entries(1, 2, 3)) });
      await keepAndJudge({ merchantNo: 'M1002', reading: certified([entry(9)]) });
      expect(await keepAndJudge({ reading: certified(entries(1, 2)) })).toEqual({
        ...JUDGED,
        unchanged: 2,
        vanished: 1,
      });
      expect(await held('B000009')).toMatchObject({ vanished_at: null });
    });

    it('does not apply to an entry whose time moved out of the window', async () => {
      await keepAndJudge({ reading: certified(entries(1, 2)) });
      const moved = entry(2, { bookedMs: DAY.beginMs - 1000, bookedAt: '2026-03-08 23:59:59' });
      const dayBefore = { beginMs: DAY.beginMs - 86_400_000, endMs: DAY.beginMs - 1 };
      expect(await keepAndJudge({ window: dayBefore, reading: certified([moved]) })).toEqual({
        ...JUDGED,
        amended: 1,
      });
      expect(await keepAndJudge({ reading: certified(entries(1)) })).toEqual({ ...JUDGED, unchanged: 1 });
    });
  });

  describe('unreadable entries', () => {
    const quarantine = () =>
      store()
        .db.selectFrom('quarantined_entry')
        .select(['raw', 'begin_ms', 'end_ms', 'released_at'])
        .orderBy('id')
        .execute();
    const [morning, evening] = [
      { ...DAY, endMs: DAY.beginMs + 999 },
      { ...DAY, beginMs: DAY.beginMs + 1000 },
    ];

    it('are kept once, and released when certified windows hold them nowhere', async () => {
      const reading = certified([], [unreadable('{"a":1}'), unreadable('{"b":1}')]);
      expect(await keep({ reading })).toMatchObject({ quarantined: 2 });
      expect(await keep({ reading })).toMatchObject({ quarantined: 0 });
      expect(await keep({ window: morning, reading: certified([], [unreadable('{"b":1}')]) })).toMatchObject({
        quarantined: 0,
      });
      expect(await quarantine()).toEqual([
        { raw: '{"a":1}', begin_ms: evening.beginMs, end_ms: evening.endMs, released_at: null },
        // Another one like it may be in the evening, which was not read yet.
        { raw: '{"b":1}', begin_ms: DAY.beginMs, end_ms: DAY.endMs, released_at: null },
      ]);
      await keep({ window: evening });
      expect(await quarantine()).toMatchObject([
        { released_at: NOW },
        { begin_ms: morning.beginMs, end_ms: morning.endMs, released_at: null },
      ]);
      expect(await keep({ window: evening, reading: certified([], [unreadable('{"a":1}')]) })).toMatchObject({
        quarantined: 1,
      });
      expect(await quarantine()).toMatchObject([{ released_at: null }, { released_at: null }]);
    });

    it('that are identical stay where they are while one of them is gone', async () => {
      const reading = certified([], [unreadable('{"b":1}')]);
      await keep({ window: morning, reading });
      await keep({ window: evening, reading });
      await keep({ window: evening });
      expect(await quarantine()).toMatchObject([
        { begin_ms: morning.beginMs, end_ms: morning.endMs, released_at: null },
      ]);
      await keep({ window: morning });
      expect(await quarantine()).toMatchObject([{ released_at: NOW }]);
    });

    it('are counted where nothing tells them apart', async () => {
      const wreck = unreadable('{"broken":true}');
      const reading = certified([], [wreck, wreck]);
      expect(await keep({ reading })).toMatchObject({ quarantined: 1, absent: 0 });
      const before = await footprints(store().db);
      await keep({ reading });
      expect(await footprints(store().db)).toEqual(before);
      const counted = () =>
        store().db.selectFrom('quarantined_entry').select(['raw', 'occurrences']).execute();
      expect(await counted()).toEqual([{ raw: wreck.raw, occurrences: 2 }]);
      await keep({ reading: certified([], [wreck]) });
      expect(await counted()).toEqual([{ raw: wreck.raw, occurrences: 1 }]);
    });

    it('are not released by a reading without certificate', async () => {
      await keep({ reading: certified([], [unreadable('{}')]) });
      await keep({ reading: uncertified([]) });
      expect(await quarantine()).toMatchObject([{ released_at: null }]);
    });
  });

  describe('certificates', () => {
    const hours = (from: number, to: number) => ({
      beginMs: DAY_BEGIN_MS + from * 3_600_000,
      endMs: DAY_BEGIN_MS + to * 3_600_000 - 1,
    });
    const proven = (currency?: string) => certifiedWindows(store().db, MERCHANT, DAY, currency);
    const failed = failedSpans;
    const certificate = () => store().db.selectFrom('certificate').selectAll().execute();

    it('prove days, joined and cut to the window asked for', async () => {
      await keep({ window: { beginMs: DAY.beginMs - 86_400_000, endMs: DAY.beginMs - 1 } });
      await keep({});
      const noon = { beginMs: DAY.beginMs - 43_200_000, endMs: DAY.endMs };
      expect(await certifiedWindows(store().db, MERCHANT, noon)).toEqual([noon]);
      expect(await proven()).toEqual([DAY]);
    });

    it('are lost if a later reading of any part fails, and restored by one of the whole day', async () => {
      await keep({});
      await keep({ window: hours(3, 6), reading: uncertified([]) });
      expect(await proven()).toEqual([]);
      expect(await failed()).toEqual([{ ...DAY, problem: 'total moved' }]);
      await keep({ window: hours(3, 6) });
      expect(await proven()).toEqual([]);
      await keep({});
      expect(await proven()).toEqual([DAY]);
      expect(await failed()).toEqual([]);
    });

    it('stay as they are where a part of the day is read again and certified', async () => {
      await keep({ reading: certified(entries(1, 2)) });
      const before = await certificate();
      await keep({ window: hours(3, 6), runId: await nextRun() });
      expect(await certificate()).toEqual(before);
    });

    it('of a day that was not over are replaced by those of more of it', async () => {
      await keep({ window: hours(0, 2) });
      expect(await proven()).toEqual([hours(0, 2)]);
      await keep({ window: hours(0, 1) });
      expect(await proven()).toEqual([hours(0, 2)]);
      await keep({});
      expect(await proven()).toEqual([DAY]);
    });

    it('prove nothing of an account that another ledger was answered for, until a reading is certified again', async () => {
      const { db, lease, runId } = store();
      await keep({});
      const day = [{ ...DAY, day: '2026-03-09' }];
      const planned = { merchantNo: MERCHANT, planned: DAY, currency: 'USD', runId, now: NOW };
      await holdStored(db, lease, [planned], { currency: 'USD', days: day });
      expect([await proven(), await proven('USD'), await proven('EUR')]).toEqual([[], [], [DAY]]);
      expect(await failed()).toEqual([{ ...DAY, problem: 'another ledger was answered for USD' }]);
      await keep({});
      expect([await proven(), await proven('USD')]).toEqual([[DAY], [DAY]]);
    });

    it('say of a day whose entries alone were stored that it was never read', async () => {
      const { db, lease, runId } = store();
      await storeReading(
        db,
        lease,
        toStore({ window: hours(0, 1), planned: DAY, runId, reading: certified(entries(1)) }),
        [],
      );
      expect(await certificate()).toMatchObject([
        { day: '2026-03-09', read_at: null, chained: false, changes: 1 },
      ]);
      expect([await proven(), await failed()]).toEqual([[], []]);
    });

    it('say which days are to be chained: those with other entries, and those that become complete', async () => {
      const { db } = store();
      const days = async () => {
        const found = (await daysNotChained(db, MERCHANT)).map(({ day }) => day);
        await db.transaction().execute((trx) => noteChained(trx, MERCHANT, found));
        return found;
      };
      await keep({ reading: certified(entries(1, 2)) });
      expect(await days()).toEqual(['2026-03-09']);
      await keep({ reading: certified(entries(1, 2)), runId: await nextRun() });
      expect(await days()).toEqual([]);
      await keep({ reading: certified([entry(1), entry(2, { balance: '9.00' })]) });
      expect(await days()).toEqual(['2026-03-09']);
      await keep({ reading: uncertified([entry(1), entry(2, { balance: '9.00' })]) });
      expect(await days()).toEqual([]);
      await keep({ reading: certified([entry(1), entry(2, { balance: '9.00' })]) });
      expect(await days()).toEqual(['2026-03-09']);
    });

    it('count what was read and what was unreadable', async () => {
      await keep({ reading: certified(entries(1, 2), [unreadable('{}')]) });
      expect(await certificate()).toEqual([
        {
          merchant_no: MERCHANT,
          day: '2026-03-09',
          begin_ms: DAY.beginMs,
          through_ms: DAY.endMs,
          total: 3,
          entries: 2,
          unreadable: 1,
          requests: 1,
          read_at: NOW,
          problem: null,
          run_id: store().runId,
          chained: false,
          compared: false,
          changes: 1,
        },
      ]);
    });
  });

  it('writes nothing once the lease is lost', async () => {
    await releaseLeases(store().db, [store().lease]);
    await expect(keep({ reading: certified(entries(1)) })).rejects.toThrow(LeaseLost);
    expect(await footprints(store().db)).toEqual([]);
  });

  it('windows of one merchant can be stored at the same time', async () => {
    const halves = [entries(1, 2, 3), entries(3, 2, 1)].map((list) => keep({ reading: uncertified(list) }));
    const stored = await Promise.all(halves);
    expect(stored.map(({ inserted }) => inserted).sort()).toEqual([0, 3]);
    expect((await sql`SELECT 1 FROM ledger_entry`.execute(store().db)).rows).toHaveLength(3);
  });
});
