import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sandbox } from '../sandbox/support.ts';
import { emptyTables, freshDatabase } from '../../support/database.ts';
import { daybook, type Env } from '../../cli/daybook.ts';

const BANKS = [
  { code: 'CN1', name: 'One' },
  { code: 'CN2', name: 'Two' },
];

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => {
  database = await freshDatabase();
});
beforeEach(() => emptyTables(database.db));
afterAll(() => database.close());

const run = (args: readonly string[], env: Env) =>
  daybook(args, {
    DATABASE_URL: database.url,
    PLATFORM_BASE_URL: 'http://127.0.0.1:1',
    PLATFORM_TIME_ZONE: 'UTC',
    PLATFORM_RETRIES_MAX: '0',
    ...env,
  });

describe('reference', () => {
  test('sync reads the lists and list shows them; a code that disappears is reported and kept', async () => {
    expect((await run(['reference', 'list', 'bank'], {})).stdout).toContain('was never read');

    const first = await sandbox({ reference: { bank: { CN: BANKS } } });
    const env = { DAYBOOK_REFERENCE_COUNTRIES: 'CN,AQ', DAYBOOK_NOW: '2026-03-02T03:00:00Z' };
    const synced = await run(['reference', 'sync'], { ...env, PLATFORM_BASE_URL: first.url });
    expect(synced).toMatchObject({ code: 0, stderr: '' });
    expect(synced.stdout).toMatch(/^bank of CN +2 +2$/m);
    expect(synced.stdout).toMatch(/^bank of AQ +0$/m);

    const listed = await run(['reference', 'list', 'bank'], env);
    expect(listed.stdout).toBe(
      'country  code  name  first seen  last seen\n' +
        'CN       CN1   One   2026-03-02  2026-03-02\n' +
        'CN       CN2   Two   2026-03-02  2026-03-02\n' +
        'bank of AQ: the platform found nothing on 2026-03-02\n' +
        '2 codes; days are of UTC\n',
    );
    const natures = await run(['reference', 'list', 'business-nature'], env);
    expect(natures.stdout).toContain('OTHER asks for one of your own');
    expect(natures.stdout).toContain('2 codes');

    const second = await sandbox({ reference: { bank: { CN: BANKS.slice(0, 1) } } });
    const later = { ...env, DAYBOOK_NOW: '2026-03-09T03:00:00Z', PLATFORM_BASE_URL: second.url };
    const gone = await run(['reference', 'sync', '--country', 'CN'], later);
    expect(gone.code).toBe(3);
    expect(gone.stdout).toContain('bank of CN: no longer listed: CN2');
    expect(gone.stdout).not.toContain('AQ');
    const all = await run(['reference', 'list', 'bank', '--country', 'CN', '--all', '--json'], later);
    expect(JSON.parse(all.stdout)).toMatchObject({
      lists: [{ kind: 'bank', country: 'CN', itemCount: 1 }],
      items: [
        { code: 'CN1', lastSeenAt: '2026-03-09T03:00:00.000Z', hasExited: false },
        { code: 'CN2', lastSeenAt: '2026-03-02T03:00:00.000Z', hasExited: true },
      ],
    });
  });

  test('if the platform is away, sync ends incomplete', async () => {
    const away = await run(['reference', 'sync', '--json'], {});
    expect(away.code).toBe(4);
    expect(JSON.parse(away.stdout)).toMatchObject({ exitCode: 4, lists: [{ itemCount: null }, {}, {}] });
  });

  test.each([
    [['list', 'banks'], 'there is no list banks; the lists are bank, occupation'],
    [['list', 'purpose', '--country', 'CN'], 'one list for all countries'],
    [['list', 'bank', '--country', 'China'], 'is no country code'],
    [['sync', '--country', 'cn'], 'is no country code'],
  ])('%j is refused', async (args, said) => {
    const { code, stdout, stderr } = await run(['reference', ...args], {});
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(said);
  });
});

describe('a list in each form that the sandbox plays', () => {
  const bank = { CN: BANKS };
  test.each(['array', 'object', 'map', 'text'] as const)('%s is the same list', async (catalogue) => {
    const { url } = await sandbox({ reference: { bank }, latitude: { catalogue, envelope: 'data' } });
    const synced = await run(['reference', 'sync', '--country', 'CN'], { PLATFORM_BASE_URL: url });
    expect(synced.stdout).toMatch(/^bank of CN +2 +2$/m);
    const listed = await run(['reference', 'list', 'bank', '--country', 'CN', '--json'], {});
    expect(JSON.parse(listed.stdout)).toMatchObject({
      lists: [{ itemCount: 2 }],
      items: [
        { code: 'CN1', name: 'One', hasExited: false },
        { code: 'CN2', name: 'Two', hasExited: false },
      ],
    });
  });

  test.each(['item', 'array', 'null'] as const)(
    'nothing found as %s is an empty list',
    async (nothingFound) => {
      const { url } = await sandbox({ reference: { bank }, latitude: { nothingFound } });
      const synced = await run(['reference', 'sync', '--country', 'AQ'], { PLATFORM_BASE_URL: url });
      expect(synced.stdout).toMatch(/^bank of AQ +0$/m);
      expect(synced.stdout).toMatch(/^payout_method of AQ +0$/m);
    },
  );

  test('no message repeats the token of the settings, though the call is the agent’s', async () => {
    const echo = createServer((request, response) => {
      request.resume();
      response.setHeader('content-type', 'application/json');
      response.end('{"success":false,"error":{"code":"X","message":"no made-up-token-of-M1"}}');
    }).listen(0, '127.0.0.1');
    await once(echo, 'listening');
    const { port } = echo.address() as AddressInfo;
    try {
      const ended = await run(['reference', 'sync', '--country', 'CN'], {
        PLATFORM_BASE_URL: `http://127.0.0.1:${port}`,
        PLATFORM_MERCHANT_NO: 'M1',
        PLATFORM_TOKEN: 'made-up-token-of-M1',
      });
      expect(ended.code).not.toBe(0);
      expect(ended.stdout + ended.stderr).toContain('refused');
      expect(ended.stdout + ended.stderr).not.toContain('made-up-token');
    } finally {
      echo.close();
    }
  });
});
