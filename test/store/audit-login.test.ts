/** Migration 0080 has the database say which login added an event; of events of before nobody knows. */
import { expect, test } from 'vitest';
import { listAuditEvents, recordAuditEvent } from '../../src/store/audit.ts';
import { rowsOf } from '../../src/store/engine/database.ts';
import { migrate } from '../../src/store/engine/migrations.ts';
import { databaseBefore } from '../support/database.ts';
import { at, insertRows } from './rows-before.ts';

test('events of before stay without a login, and later ones have the one that added them', async () => {
  const { db } = await databaseBefore('0080');
  await insertRows(db, 'audit_event', [
    { id: 100, at: at(1), by_whom: 'Ada', command: 'close', subject: 'M1', note: null },
  ]);
  await migrate(db);
  await recordAuditEvent(db, { by: 'Grace', command: 'close', subject: 'M1' }, at(2));
  const [{ login } = { login: '' }] = await rowsOf(db)<{ login: string }>`SELECT session_user AS login`;
  expect((await listAuditEvents(db, 9)).map((one) => [one.by_whom, one.login])).toEqual([
    ['Grace', login],
    ['Ada', null],
  ]);
});
