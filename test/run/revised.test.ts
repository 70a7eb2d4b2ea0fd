import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import { reasonsOfRevised } from '../../src/run/verdict/published-reasons.ts';
import { markEventsReported } from '../../src/store/events.ts';
import {
  revisionEvents,
  unreportedRevisions,
  type RevisedDay,
} from '../../src/store/statements/record-published.ts';
import { revisedDays } from '../../src/store/downloaded.ts';
import { openBook, MERCHANT } from '../statements/book.ts';
import { freshDatabase } from '../support/database.ts';
import { accountEntries } from '../support/ledger-entries.ts';
import { openStage } from '../support/stage.ts';

const revised = (change: Partial<RevisedDay> = {}): RevisedDay => ({
  merchantNo: 'M1',
  currency: 'USD',
  day: '2026-03-05',
  oldRevision: 1,
  revision: 2,
  oldRows: 7,
  rows: 8,
  readsTheSame: false,
  reason: '1 late entry',
  runId: 9,
  ...change,
});

describe('the reason about revised days', () => {
  test('is missing without revised days, and else names the day and both revisions', () => {
    expect(reasonsOfRevised([], 9)).toEqual([]);
    expect(reasonsOfRevised([revised()], 9)).toEqual([
      {
        exitCode: 3,
        what: '1 published day was revised: M1 USD 2026-03-05 from r1 to r2 (1 late entry, r1 held 7 where 8 were due)',
        todo: 'where figures of an earlier revision were used, download these days again',
      },
    ]);
  });

  test('names a day that had been read as empty, and the days of a killed run', () => {
    const late = revised({ oldRevision: null, revision: 1, oldRows: 0, reason: null });
    expect(reasonsOfRevised([late, revised({ runId: 8 })], 9)[0]!.what).toBe(
      '2 published days were revised, 1 of them by a run that ended before its report: M1 USD 2026-03-05 to r1, as the platform stated ' +
        '0 entries when the day was read before, and states 8 now; M1 USD 2026-03-05 from r1 to r2 (1 late entry, r1 held 7 where 8 were due)',
    );
  });

  test('names ten days and counts the rest, and keeps the run green if entries and figures are the same', () => {
    const many = Array.from({ length: 13 }, (_, at) => revised({ day: `2026-03-${at + 10}` }));
    const [reason] = reasonsOfRevised(many, 9);
    expect(reason!.what.match(/from r1 to r2/g)).toHaveLength(10);
    expect(reason!.what).toMatch(/^13 published days were revised: .*; and 3 more$/);
    const same = revised({ readsTheSame: true, rows: 7, reason: 'opening taken up from the day before' });
    expect(reasonsOfRevised([same], 9)).toEqual([
      {
        exitCode: 0,
        what: '1 published day was revised with the same entries and figures: M1 USD 2026-03-05 from r1 to r2 (opening taken up from the day before)',
        todo: null,
      },
    ]);
  });
});

describe('the reason about closed months', () => {
  const closed = (change: Partial<RevisedDay> = {}) =>
    revised({ day: '2026-02-27', closeNumber: 1, ...change });
  const todo =
    '`daybook close --list` shows what changed; `daybook close 2026-02 --merchant M1` makes the next close';

  test('counts the days that adjust them, and names each month once', () => {
    expect(reasonsOfRevised([closed(), revised()], 9)[1]).toEqual({
      exitCode: 3,
      what: '1 of these adjusts a closed month: M1 2026-02 (close 1)',
      todo,
    });
    const more = [closed(), closed({ day: '2026-02-28' }), closed({ merchantNo: 'M2', closeNumber: 3 })];
    expect(reasonsOfRevised(more, 9)[1]!.what).toBe(
      '3 of these adjust closed months: M1 2026-02 (close 1); M2 2026-02 (close 3)',
    );
    const same = closed({ readsTheSame: true });
    expect(reasonsOfRevised([same], 9).map(({ exitCode }) => exitCode)).toEqual([0, 0]);
  });

  test('of days that were open when their month was closed asks nobody', () => {
    const late = closed({ wasOpenAtClose: true, oldRevision: null });
    expect(reasonsOfRevised([late], 9)).toEqual([
      {
        exitCode: 0,
        what: '1 day that was open when its month was closed is published now and not in the close: M1 2026-02 (close 1)',
        todo,
      },
    ]);
    expect(reasonsOfRevised([late, { ...late, day: '2026-02-28' }], 9)[0]!.what).toBe(
      '2 days that were open when their month was closed are published now and not in the close: M1 2026-02 (close 1)',
    );
  });
});

test('a revision is stored with its row, so that after a killed run the next one reports it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-revised-'));
  const book = await openBook(await freshDatabase());
  const { db } = book.database;
  const days = ['2026-03-30', '2026-03-31'];
  const entries = accountEntries(100_00, [
    [`${days[0]!} 09:00:00`, 50_00],
    [`${days[0]!} 17:30:00`, -25_50],
    [`${days[1]!} 08:00:00`, 10_00],
  ]);
  try {
    const publish = async (held: typeof entries) => {
      await book.synced(held, days);
      await book.reconciled();
      await book.published(createDirectoryStore(folder));
      return unreportedRevisions(db, [MERCHANT]);
    };
    expect(await publish(entries)).toEqual([]);
    const fee = entries.map((entry, at) => (at === 0 ? { ...entry, transactionType: 'FEE' } : entry));
    const first = {
      merchantNo: MERCHANT,
      currency: 'USD',
      day: days[0],
      oldRevision: 1,
      oldRows: 2,
      rows: 2,
    };
    expect(await publish(fee)).toMatchObject([{ ...first, revision: 2, readsTheSame: false }]);
    expect(await publish(fee)).toHaveLength(1);
    // A day revised again before it is reported is reported once. Back at its first bytes, it reads as it did.
    expect(await publish(entries)).toMatchObject([{ ...first, revision: 3, readsTheSame: true }]);
    const reported = await unreportedRevisions(db, [MERCHANT]);
    await db
      .transaction()
      .execute((trx) => markEventsReported(trx, reported.flatMap(revisionEvents), new Date()));
    expect(await unreportedRevisions(db, [MERCHANT])).toEqual([]);
  } finally {
    await book.database.close();
    await rm(folder, { recursive: true });
  }
});

test('a verdict that moves over midnight and back asks nobody to download again, as the file is the same', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-revised-'));
  const book = await openBook(await freshDatabase());
  const { db } = book.database;
  const [first, second] = ['2026-03-30', '2026-03-31'];
  const entries = accountEntries(100_00, [
    [`${first} 09:00:00`, 50_00],
    [`${first} 17:30:00`, -25_50],
    [`${second} 08:00:00`, 10_00],
    [`${second} 09:00:00`, 20_00],
  ]);
  const account = { merchantNo: MERCHANT, currency: 'USD' };
  const by = { name: 'finance', zone: 'UTC' };
  try {
    const revised = async (held: typeof entries) => {
      await book.synced(held, [first, second]);
      await book.reconciled();
      await book.published(createDirectoryStore(folder));
      const reported = (await unreportedRevisions(db, [MERCHANT])).filter(({ day }) => day === first);
      await db
        .transaction()
        .execute((trx) => markEventsReported(trx, reported.flatMap(revisionEvents), new Date()));
      const asked = (await revisedDays(db, [account], { from: first, to: first, by }))[0]!.has(first);
      return { reported: reported.map(({ revision, readsTheSame }) => [revision, readsTheSame]), asked };
    };
    await revised(entries);
    const { object_key: subject } = await db
      .selectFrom('statement')
      .select('object_key')
      .where('day', '=', first)
      .executeTakeFirstOrThrow();
    await db
      .insertInto('audit_event')
      .values({ at: new Date(), by_whom: by.name, command: 'statements get', subject, note: null })
      .execute();
    const broken = entries.filter((_, at) => at !== 2);
    expect(await revised(broken)).toEqual({ reported: [[2, true]], asked: false });
    expect(await revised(entries)).toEqual({ reported: [[3, true]], asked: false });
    const fee = entries.map((entry, at) => (at === 0 ? { ...entry, transactionType: 'FEE' } : entry));
    expect(await revised(fee)).toEqual({ reported: [[4, false]], asked: true });
    // Back at the bytes that finance has.
    expect(await revised(entries)).toEqual({ reported: [[5, false]], asked: false });
  } finally {
    await book.database.close();
    await rm(folder, { recursive: true });
  }
});

test('a run reports what an earlier run did not report, and no later run does', async () => {
  const stage = await openStage();
  try {
    const [entry] = stage.sandbox.entriesOf('SBX-M-1');
    await stage.run();
    stage.sandbox.amend('SBX-M-1', entry!.batchNo, { busiType: 'CORRECTED' });
    const reported = await stage.run();
    const { db } = stage.app.database;
    // The state after a run that was killed before its end.
    await db
      .updateTable('event')
      .set({ reported_at: null })
      .where('kind', '=', 'revision')
      .where('subject', '=', `${entry!.currency} ${entry!.busiDate.slice(0, 10)} r2`)
      .execute();
    const next = await stage.run();
    expect(next.exitCode).toBe(3);
    expect(next.notes).toEqual([
      reported.notes
        .at(-1)!
        .replace('was revised', 'was revised, 1 of them by a run that ended before its report'),
    ]);
    expect(await stage.run()).toMatchObject({ exitCode: 0, notes: [] });
  } finally {
    await stage.close();
  }
});
