/** What the inbox tells people, from what is left in it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { troublesOf } from '../../../../src/plugins/alerts/outbox.ts';
import { createLeftWatch } from '../../../../src/plugins/submissions/serve-command.ts';
import { freshDatabase, type ServerDatabase } from '../../../support/database.ts';

let database: ServerDatabase;
beforeEach(async () => {
  database = await freshDatabase();
});
afterEach(() => database.close());

const left = (...numbers: number[]) => numbers.map((number) => ({ number, problem: 'no key opens it' }));
/** A look at this time. */
const look = (watch: ReturnType<typeof createLeftWatch>, now: Date) =>
  watch.check(troublesOf(database.db, { targets: ['json a'], now }));
const titles = async () => {
  const rows = await database.db.selectFrom('alert').select('content').orderBy('raised_at').execute();
  return rows.map(({ content }) => {
    const { title, status } = content as { readonly title: string; readonly status?: string };
    return status === undefined ? title : `${status}: ${title}`;
  });
};

test('what cannot be opened is told, once a day, and anew after all of it was opened', async () => {
  const watch = createLeftWatch();
  const check = (day: number) => look(watch, new Date(day * 86_400_000));
  watch.onLeft(left(1, 2, 3, 4));
  await check(1);
  await check(1.5);
  expect(await titles()).toHaveLength(1);
  await check(2);
  expect(await titles()).toHaveLength(2);
  watch.onLeft([]);
  await check(2.1);
  watch.onLeft(left(5, 6, 7));
  await check(2.2);
  expect(await titles()).toEqual([
    '4 notifications of the platform cannot be opened or processed',
    'still: 4 notifications of the platform cannot be opened or processed',
    'resolved: 4 notifications of the platform cannot be opened or processed',
    '3 notifications of the platform cannot be opened or processed',
  ]);
});

test('what is left and could not be told is told by the next look', async () => {
  const watch = createLeftWatch();
  watch.onLeft(left(1));
  await database.db.schema.alterTable('alert').renameTo('alert_away').execute();
  await expect(look(watch, new Date(0))).rejects.toThrow('alert');
  await database.db.schema.alterTable('alert_away').renameTo('alert').execute();
  await look(watch, new Date(0));
  expect(await titles()).toHaveLength(1);
});
