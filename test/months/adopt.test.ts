/** A store with closed months is taken over with its closes; a database that does not know them closes nothing over them. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { underLeasesAsNeeded } from '../../src/run/leases.ts';
import type { SigningKey } from '../../src/ledger/signature.ts';
import { keyPairOf, readSigningKey } from '../../src/signing.ts';
import { adoptStore } from '../../src/months/adopt.ts';
import { closeMonth } from '../../src/months/close.ts';
import type { CloseResult } from '../../src/months/closes.ts';
import { monthOf } from '../../src/months/month.ts';
import { closesOfMonth } from '../../src/months/stored.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../support/stage.ts';

const { merchantNo } = MERCHANT;
const MONTH = monthOf('2026-03')!;
const KEY = (number: number) =>
  `merchant=${merchantNo}/close=2026-03/${merchantNo}_2026-03.close${number}.json`;
const signingKey = readSigningKey(keyPairOf(Buffer.alloc(32, 3), Buffer.alloc(8, 3)).secretKey) as SigningKey;

let first: Stage;
let second: Stage;
let root: string;
beforeAll(async () => {
  first = await openStage({ scenario: scenario({ entriesPerDay: 6 }) });
  root = join(first.app.settings.dataDir, 'statements');
  await first.run();
  second = await openStage({ scenario: scenario({ entriesPerDay: 6 }), objects: first.app.objects });
});
afterAll(async () => {
  await second.close();
  await first.close();
});

const closeAs = (by: string, { app }: Stage): Promise<CloseResult> => {
  const { database, objects, now, settings } = app;
  const auditEvent = { by, command: 'close', subject: `${merchantNo} 2026-03`, note: 'reviewed' };
  const options = { db: database.db, objects, now, signingKey, zone: settings.platform.timeZone };
  return closeMonth({ merchantNo, month: MONTH, despite: 'the rest comes later', auditEvent }, options);
};
const closesOf = ({ app }: Stage) => closesOfMonth(app.database.db, merchantNo, '2026-03');
const adopt = ({ deps, app }: Stage) => {
  const { db, holder, signal, objects, now } = deps();
  expect(db).toBe(app.database.db);
  return underLeasesAsNeeded({ db, holder, signal }, (leaseOf, held) =>
    adoptStore({ db, leaseOf, objects, now, signal: held, signingKey }),
  );
};

test('closes are taken over with who made them, when, their numbers and signatures', async () => {
  expect(await closeAs('Ada', first)).toMatchObject({ kind: 'closed', close: { number: 1 } });
  const entry = first.sandbox.entriesOf(merchantNo).find(({ currency }) => currency === 'USD')!;
  first.sandbox.amend(merchantNo, entry.batchNo, { busiType: 'CORRECTED' });
  await first.run();
  expect(await closeAs('Bob', first)).toMatchObject({ kind: 'closed', close: { number: 2 } });
  expect(await closesOf(second)).toEqual([]);
  expect(await adopt(second)).toMatchObject({ closes: 2, left: [] });
  expect(await closesOf(second)).toEqual(await closesOf(first));
  expect(await adopt(second)).toMatchObject({ closes: 0, left: [] });
});

test('closing again writes the files of all closes that the store lost', async () => {
  const files = [1, 2].flatMap((number) => [KEY(number), `${KEY(number)}.minisig`]);
  for (const key of files) await rm(join(root, key));
  expect(await closeAs('Ada', first)).toMatchObject({ kind: 'already', close: { number: 2 } });
  for (const key of files) expect(await first.app.objects.get(key), key).not.toBeNull();
});

test('a database from before a close makes none of the same number, and adopts it', async () => {
  const { db } = second.app.database;
  await db.deleteFrom('month_close').execute();
  await expect(closeAs('Eve', second)).rejects.toThrow('`daybook statements adopt` takes that close over');
  expect(await closesOf(second)).toEqual([]);
  await adopt(second);
  expect((await closesOf(second)).map(({ number, by }) => [number, by])).toEqual([
    [1, 'Ada'],
    [2, 'Bob'],
  ]);
});

test('what is no close, or of another database, is left and named', async () => {
  const { db } = second.app.database;
  await db.deleteFrom('month_close').where('number', '=', 2).execute();
  await writeFile(join(root, KEY(2)), '{}');
  expect(await adopt(second)).toMatchObject({
    closes: 0,
    left: [{ key: KEY(2), why: 'it cannot be read as a close' }],
  });
});
