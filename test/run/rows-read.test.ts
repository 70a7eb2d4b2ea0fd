import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PlatformApp } from '../../src/run/app.ts';
import { chosenMerchants } from '../../src/run/chosen-merchants.ts';
import { openItemsOf } from '../../src/run/merchant-ends.ts';
import { statusOf } from '../../src/run/status.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { addMerchant } from '../../src/store/merchants.ts';
import { counting, fillAccounts, merchantOf } from '../store/many-accounts.ts';
import { NOW } from '../store/support.ts';
import { freshDatabase } from '../support/database.ts';

const OWN = { merchantNo: merchantOf(7), token: 'made-up' };
const secretKeys = [{ id: 'k1', key: Buffer.alloc(32, 1) }];
/** For one merchant: its changed days, and one count for each other open thing. */
const ROWS_MAX = 30;
const clock = { zone: 'UTC', now: NOW };

describe('with the accounts of many merchants, the server sends only rows of the one asked for', () => {
  let database: Database;
  beforeAll(async () => {
    database = await freshDatabase();
    await fillAccounts(database.db);
    await addMerchant(database.db, { ...OWN, secretKeys, now: NOW });
    await database.db
      .updateTable('merchant')
      .set((eb) => ({
        token_ciphertext: eb
          .selectFrom('merchant as own')
          .select('own.token_ciphertext')
          .where('own.merchant_no', '=', OWN.merchantNo),
      }))
      .execute();
  });
  afterAll(() => database.close());

  test('for its status, with its open breaks counted', async () => {
    const { db, rowsSent } = counting(database.db);
    expect(await statusOf(db, [OWN.merchantNo], { ...clock, maxAgeMs: null })).toMatchObject([
      { merchantNo: OWN.merchantNo, openBreaks: 6 },
    ]);
    expect(rowsSent()).toBeLessThan(ROWS_MAX);
  });

  test('for what is open after its run, in one currency', async () => {
    const { db, rowsSent } = counting(database.db);
    const scope = {
      merchants: [OWN.merchantNo],
      currencies: ['USD'],
      runId: 1,
      reads: true,
      chains: true,
      ...clock,
    };
    const standing = (await openItemsOf(db, scope)).get(OWN.merchantNo);
    expect(standing).toMatchObject({ standing: { newBreaks: 0, knownBreaks: 2 } });
    expect(rowsSent()).toBeLessThan(ROWS_MAX);
  });

  test('for its token', async () => {
    const { db, rowsSent } = counting(database.db);
    const app = { database: { ...database, db }, settings: { secretKeys, platform: { merchant: null } } };
    expect(await chosenMerchants(app as unknown as PlatformApp, [OWN.merchantNo])).toEqual([OWN]);
    expect(rowsSent()).toBe(1);
  });
});
