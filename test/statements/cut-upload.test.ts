/** If the object store goes away during an upload at night, no half-published day is left. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import { listStatements } from '../../src/store/statements/statements.ts';
import { startCuttingProxy, type CuttingProxy } from '../support/cutting-proxy.ts';
import { freshBucket, gatewayServer, startFauxqsServer, type S3Server } from '../objects/s3-servers.ts';
import { freshDatabase } from '../support/database.ts';
import { accountEntries } from '../support/ledger-entries.ts';
import { openBook, type Book } from './book.ts';

const gateway = gatewayServer();
const servers: readonly (readonly [string, () => Promise<S3Server>])[] = [
  ['fauxqs', startFauxqsServer],
  ...(gateway === null ? [] : ([['the gateway', () => Promise.resolve(gateway)]] as const)),
];
const DAYS = ['2026-03-30', '2026-03-31'];
const ENTRIES = accountEntries(100_00, [
  ['2026-03-30 09:00:00', 50_00],
  ['2026-03-31 08:00:00', 10_00],
]);

describe.each(servers)('publishing to %s with a connection that is cut', (_, start) => {
  let server: S3Server;
  let proxy: CuttingProxy;
  let store: ObjectStore;
  let book: Book;
  beforeEach(async () => {
    server = await start();
    proxy = await startCuttingProxy(server.env.AWS_ENDPOINT_URL_S3!);
    ({ store } = await freshBucket(server, { AWS_ENDPOINT_URL_S3: proxy.url }));
    book = await openBook(await freshDatabase());
    await book.synced(ENTRIES, DAYS);
    await book.reconciled();
  });
  afterEach(async () => {
    await book.database.close();
    await proxy.close();
    await server.stop();
  });

  const keys = async () => {
    const names: string[] = [];
    for await (const { key } of store.survey('')) names.push(key.replace(/^.*date=/, ''));
    return names;
  };
  const whole = (day: string) => [
    `${day}/M-TEST_USD_${day}.r1.csv`,
    `${day}/manifest.json`,
    `${day}/summary.r1.csv`,
  ];

  test.each([
    ['its statement', /^PUT .*03-31\.r1\.csv/, 1, []],
    ['its summary', /^PUT .*03-31\/summary/, 1, ['2026-03-31/M-TEST_USD_2026-03-31.r1.csv']],
    [
      'its manifest',
      /^PUT .*03-31\/manifest/,
      2,
      ['2026-03-31/M-TEST_USD_2026-03-31.r1.csv', '2026-03-31/summary.r1.csv'],
    ],
  ])(
    'cut at %s, the day has no manifest, and the next night completes it',
    async (__, pattern, rows, left) => {
      proxy.cuts.push({ message: pattern, when: 'before', always: true });
      await expect(book.published(store)).rejects.toMatchObject({ name: 'ObjectStoreUnreachable' });
      proxy.cuts.length = 0;
      expect(await keys()).toEqual([...whole('2026-03-30'), ...left]);
      expect(await listStatements(book.database.db)).toHaveLength(rows);

      await book.published(store);
      expect(await keys()).toEqual(DAYS.flatMap(whole));
      expect(await listStatements(book.database.db)).toMatchObject([{ revision: 1 }, { revision: 1 }]);
    },
  );
});
