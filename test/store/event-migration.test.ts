/** Migration 0053 joins what was to be reported once: every row is kept, and what was reported is not reported again. */
import { expect, test } from 'vitest';
import { stepsOf } from '../../src/store/breaks/break-cases.ts';
import { migrate } from '../../src/store/engine/migrations.ts';
import { unreportedChanges } from '../../src/store/events.ts';
import { noticesSince, unreportedNotices } from '../../src/store/notices.ts';
import { unreportedRevisions } from '../../src/store/statements/record-published.ts';
import { breaks } from '../../src/plugins/alerts/breaks.ts';
import { takeEvents } from '../../src/plugins/alerts/event-alerts.ts';
import { revisions } from '../../src/plugins/alerts/revisions.ts';
import { tokens } from '../../src/plugins/alerts/tokens.ts';
import { databaseBefore } from '../support/database.ts';
import { AT, DAY, fillEvents } from './rows-before.ts';

const THEN = new Date(AT);

test('each row is an event with its values, reported if it was', async () => {
  const { db } = await databaseBefore('0053');
  await fillEvents(db);
  await migrate(db);

  const events = await db
    .selectFrom('event')
    .selectAll()
    .orderBy('kind')
    .orderBy('merchant_no')
    .orderBy('subject')
    .execute();
  const late = (day: string, afterClose: boolean) => ({ currency: 'USD', day, revision: 1, afterClose });
  const notice = { currency: 'USD', day: DAY };
  expect(
    events.map(
      ({ kind, merchant_no: merchantNo, subject, data, run_id: runId, reported_at: reportedAt, at }) => {
        expect([merchantNo, at]).toEqual(['M1', THEN]);
        return [kind, subject, data, runId, reportedAt];
      },
    ),
  ).toEqual([
    ['amendment', `USD ${DAY} r2`, { revision: 2 }, 1, null],
    ['change', 'run 1', { amended: 2, vanished: 3 }, 1, null],
    ['empty', DAY, { day: DAY, figures: { fewest: 1, most: 2 } }, 1, THEN],
    ['first', `USD ${DAY}`, { ...notice, figures: { opening: '7.00' } }, 1, null],
    ['key-problem', '', { problem: 'refused' }, null, THEN],
    ['new-break', '1', { id: 1 }, 1, null],
    ['new-break', '2', { id: 2 }, 1, THEN],
    ['revision', 'USD 2026-02-27 r1', late('2026-02-27', true), 1, THEN],
    ['revision', 'USD 2026-02-28 r1', late('2026-02-28', false), 1, null],
    ['revision', `USD ${DAY} r2`, { currency: 'USD', day: DAY, revision: 2 }, 1, null],
    [
      'shared',
      `USD ${DAY} M2`,
      { ...notice, otherMerchantNo: 'M2', figures: { count: 1, batchNos: ['B'] } },
      1,
      null,
    ],
  ]);
});

test('the next run reports what was not reported, and alerts take each event once', async () => {
  const { db } = await databaseBefore('0053');
  await fillEvents(db);
  await migrate(db);

  expect(await unreportedChanges(db, ['M1'])).toEqual([
    { merchantNo: 'M1', runId: 1, amended: 2, vanished: 3 },
  ]);
  expect(
    (await unreportedRevisions(db, ['M1'])).map(({ day, oldRevision, revision: to }) => [
      day,
      oldRevision,
      to,
    ]),
  ).toEqual([
    ['2026-02-28', null, 1],
    [DAY, 1, 2],
  ]);
  const found = { foundAt: THEN, runId: 1 };
  const first = {
    kind: 'first',
    merchantNo: 'M1',
    currency: 'USD',
    day: DAY,
    figures: { opening: '7.00' },
    ...found,
  };
  const shared = {
    ...{ kind: 'shared', merchantNo: 'M1', otherMerchantNo: 'M2', currency: 'USD', day: DAY },
    ...{ figures: { count: 1, batchNos: ['B'] }, ...found },
  };
  const empty = {
    kind: 'empty',
    merchantNo: 'M1',
    currency: null,
    day: DAY,
    figures: { fewest: 1, most: 2 },
    ...found,
  };
  expect(await unreportedNotices(db, ['M1'])).toEqual([first, shared]);
  expect(await unreportedNotices(db, ['M2'])).toEqual([shared]);
  expect(await noticesSince(db, ['M1'], THEN)).toEqual([empty, first, shared]);
  const assignment = { to: 'Ada', due: null };
  expect(await stepsOf(db, 1)).toEqual([{ kind: 'taken', by: 'Ada', at: THEN, note: 'mine', assignment }]);
  const take = async () => {
    const taken = await db.transaction().execute((trx) => takeEvents(trx, new Date()));
    return [breaks, revisions, tokens].map(taken);
  };
  expect(await take()).toEqual([[{ id: 1 }], [{ revision: 2 }], []]);
  expect(await take()).toEqual([[], [], []]);
});
