/** The database says which login added an audit event, whatever name a person gave. */
import { expect, test } from 'vitest';
import { listAuditEvents, recordAuditEvent } from '../../src/store/audit.ts';
import { rowsOf } from '../../src/store/engine/database.ts';
import { freshDatabase } from '../support/database.ts';

test('an event has the login that added it, whoever is named', async () => {
  const database = await freshDatabase();
  const { db } = database;
  await recordAuditEvent(db, { by: 'Grace', command: 'close', subject: 'M1' }, new Date());
  const [{ login } = { login: '' }] = await rowsOf(db)<{ login: string }>`SELECT session_user AS login`;
  expect((await listAuditEvents(db, 9)).map((one) => [one.by_whom, one.login])).toEqual([['Grace', login]]);
  await database.close();
});
