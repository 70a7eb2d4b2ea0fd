/** What the inbox tells people, from what is left in it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createInboxWatch } from '../../src/web/inbox-watch.ts';
import { freshDatabase, type ServerDatabase } from '../support/database.ts';

let database: ServerDatabase;
beforeEach(async () => {
  database = await freshDatabase();
});
afterEach(() => database.close());

const left = (...numbers: number[]) => numbers.map((number) => ({ number, problem: 'no key opens it' }));
const titles = async () => {
  const rows = await database.db.selectFrom('alert').select('content').orderBy('raised_at').execute();
  return rows.map(({ content }) => (content as { readonly title: string }).title);
};

test('what cannot be opened is told, once a day, and anew after all of it was opened', async () => {
  const watch = createInboxWatch(() => 0);
  const look = (day: number) =>
    watch.look(database.db, { targets: ['json a'], now: new Date(day * 86_400_000) });
  watch.onLeft(left(1, 2, 3, 4));
  await look(1);
  await look(1.5);
  expect(await titles()).toHaveLength(1);
  await look(2);
  expect(await titles()).toHaveLength(2);
  watch.onLeft([]);
  await look(2.1);
  watch.onLeft(left(5, 6, 7));
  await look(2.2);
  expect(await titles()).toEqual([
    '4 notifications of the platform cannot be opened or looked at',
    'still: 4 notifications of the platform cannot be opened or looked at',
    '3 notifications of the platform cannot be opened or looked at',
  ]);
});

test('what is left and could not be told is told by the next look', async () => {
  const watch = createInboxWatch(() => 0);
  watch.onLeft(left(1));
  const raising = { targets: ['json a'], now: new Date(0) };
  await database.db.schema.alterTable('alert').renameTo('alert_away').execute();
  await expect(watch.look(database.db, raising)).rejects.toThrow('alert');
  await database.db.schema.alterTable('alert_away').renameTo('alert').execute();
  await watch.look(database.db, raising);
  expect(await titles()).toHaveLength(1);
});
