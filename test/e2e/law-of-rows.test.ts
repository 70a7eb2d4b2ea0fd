/** A statement whose rows are not the stored entries is named, though its counts and sums are right and no mark says so. */
import { afterEach, expect, test } from 'vitest';
import { statusOf } from '../../src/run/status.ts';
import { closeMonth } from '../../src/months/close.ts';
import { monthOf } from '../../src/months/month.ts';
import { entriesOfAmounts, plainMs, type WireEntry } from '../support/plain-platform.ts';
import { openPlainStage, PLAIN_MERCHANT, type PlainStage } from '../support/plain-stage.ts';
import { differencesFromLaw } from '../support/positive-law.ts';

const { merchantNo } = PLAIN_MERCHANT;
const DAY = '2026-03-10';
const [FROM, TO] = ['2026-03-09', '2026-03-12'];
const ENTRIES = entriesOfAmounts('USD', [
  ['A-1', '2026-03-09 10:00:00', 10_000],
  ['A-2', `${DAY} 10:00:00`, 500],
  ['A-3', `${DAY} 11:00:00`, -700],
  ['A-4', '2026-03-12 11:00:00', 100],
]).map((entry) => ({ ...entry, busiType: entry.batchNo === 'A-2' ? '02' : '01' }));

const SWAPPED = { 'A-2': '01', 'A-3': '02' } as Readonly<Record<string, string>>;
const withTypesSwapped = (entry: WireEntry): WireEntry => ({
  ...entry,
  busiType: SWAPPED[entry.batchNo] ?? entry.busiType,
});
const LATER = `${DAY} 11:20:30`;
const withTimeMoved = (entry: WireEntry): WireEntry =>
  entry.batchNo === 'A-3' ? { ...entry, busiDate: LATER, atMs: plainMs(LATER) } : entry;

let stage: PlainStage;
afterEach(() => stage.close());

const db = () => stage.app().database.db;
const published = async () => {
  stage = await openPlainStage(ENTRIES, '2026-04-02T01:30:00+08:00');
  expect(await stage.run(FROM, TO)).toMatchObject({ exitCode: 0 });
};
const stored = async (command: 'sync' | 'reconcile') => stage.run(FROM, TO, { command });

const inStatus = async () => {
  const clock = { zone: 'Asia/Shanghai', now: stage.now(), maxAgeMs: null };
  const [status] = await statusOf(db(), [merchantNo], clock);
  return status!.discrepancies.map(({ what, days }) => `${what} ${days.join(' ')}`);
};
const keepOpen = async () => {
  const { objects } = stage.app();
  const result = await closeMonth(
    {
      ...{ merchantNo, month: monthOf('2026-03')!, despite: null },
      auditEvent: { by: 'Ada', command: 'close', subject: merchantNo },
    },
    { db: db(), objects, now: stage.now, signingKey: null, zone: 'Asia/Shanghai' },
  );
  return result.kind === 'open' ? result.openDays.map(({ day, cause }) => `${cause} ${day}`) : [result.kind];
};
/** The next run publishes the day again and names it, and then all is as it should be. */
const healed = async () => {
  const report = await stage.run('2026-03-12', '2026-03-12');
  expect(report).toMatchObject({ exitCode: 3, publish: { published: [{ day: DAY, revision: 2 }] } });
  expect(report.notes.join()).toContain(DAY);
  const { figures, statements } = await differencesFromLaw({
    ...{ db: db(), folder: stage.folder, merchantNo, nowMs: stage.now().getTime() },
    beginOf: (day) => plainMs(`${day} 00:00:00`),
  });
  expect([...figures, ...statements]).toEqual([]);
  expect(await inStatus()).toEqual([]);
};

test.each([
  ['two entries swap their types', withTypesSwapped, [DAY]],
  // The day without entries behind it carries the entry on as the last one.
  ['an entry moves inside its day', withTimeMoved, [DAY, '2026-03-11']],
])('%s: the day is due until it is published', async (_, amended, due) => {
  await published();
  stage.entries = ENTRIES.map(amended);
  await stored('sync');
  await stored('reconcile');
  expect(await inStatus()).toEqual([`no-statement ${due.join(' ')}`]);
  expect(await keepOpen()).toContain(`not-published ${DAY}`);
  await healed();
});

test('an adopted statement counts once its rows were compared with the entries', async () => {
  await published();
  await stage.newDatabase();
  await stage.adopt();
  stage.entries = ENTRIES.map(withTypesSwapped);
  await stored('sync');
  await stored('reconcile');
  expect(await inStatus()).toEqual([`no-statement ${FROM} ${DAY} 2026-03-11 ${TO}`]);
  await healed();
});
