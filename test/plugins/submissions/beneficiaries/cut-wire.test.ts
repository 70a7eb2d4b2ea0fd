/**
 * The connection to PostgreSQL is cut at every statement of a registration. There must be one call, and its reply is
 * stored.
 */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { openDatabase } from '../../../../src/store/engine/connection.ts';
import type { Database } from '../../../../src/store/engine/database.ts';
import { listBeneficiaries } from '../../../../src/plugins/submissions/registrations.ts';
import { answer, rejection, reset } from '../../../platform/stranger.ts';
import { startCuttingProxy, type CuttingProxy } from '../../../support/cutting-proxy.ts';
import { emptyTables, freshDatabase } from '../../../support/database.ts';
import { registering, reply } from './support.ts';

let direct: Database;
let proxy: CuttingProxy;
let database: Database;
beforeAll(async () => {
  const fresh = await freshDatabase();
  direct = fresh;
  proxy = await startCuttingProxy(fresh.url);
  database = await openDatabase({ databaseUrl: proxy.url, dataDir: '' });
});
afterEach(async () => {
  proxy.cuts.length = 0;
  await emptyTables(direct.db);
});
afterAll(async () => {
  await database.close();
  await proxy.close();
  await direct.close();
});

const REFUSAL = answer('{"respCode":"E40001"}', 400);
const both = (message: string) => (['before', 'after'] as const).map((when) => [when, message] as const);

it.each([
  ...both('insert into "fingerprint_key"'),
  ...both('insert into "beneficiary"'),
  ...both('update "beneficiary"'),
  ...both(' from "beneficiary"'),
])('cut %s %s, a new one is sent once and its reply stored', async (when, message) => {
  const { register, sent } = await registering(database, reply('01'));
  proxy.cuts.push({ message, when });
  const { beneficiary } = await register();
  expect(proxy.cuts).toEqual([]);
  expect(beneficiary).toMatchObject({ status: '01', mayHaveArrived: false, payeeId: 'P1' });
  expect(sent()).toHaveLength(1);
  expect(await listBeneficiaries(direct.db)).toEqual([beneficiary]);
});

it.each([...both('update "beneficiary"'), ...both('commit')])(
  'cut %s %s, a registration without a reply is sent again, once',
  async (when, message) => {
    const { register, sent } = await registering(database, reset, reply('04'));
    await rejection(register());
    proxy.cuts.push({ message, when });
    expect((await register()).beneficiary.status).toBe('04');
    expect(proxy.cuts).toEqual([]);
    expect(sent()).toHaveLength(2);
    expect(sent()[1]).toEqual(sent()[0]);
  },
);

it.each(both('update "beneficiary"'))(
  'cut %s %s, a refusal is stored, and the registration may be sent again',
  async (when, message) => {
    const { register, sent } = await registering(database, REFUSAL, reply('01'));
    proxy.cuts.push({ message, when });
    expect((await register()).beneficiary.status).toBe('refused');
    proxy.cuts.push({ message, when });
    expect((await register()).beneficiary.status).toBe('01');
    expect(proxy.cuts).toEqual([]);
    expect(sent()).toHaveLength(2);
  },
);
