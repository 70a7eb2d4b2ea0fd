import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import type { Chosen } from '../../src/ledger/account-filter.ts';
import { createCurrencies } from '../../src/ledger/money.ts';
import { createLedgerReader } from '../../src/platform/ledger-history.ts';
import { chosenMerchants } from '../../src/run/chosen-merchants.ts';
import type { PlatformApp } from '../../src/run/app.ts';
import { executeRun } from '../../src/run/run.ts';
import { statusOf } from '../../src/run/status.ts';
import { createSandbox } from '../../src/plugins/sandbox/server.ts';
import { addMerchant, keepDeliveredToken, listMerchants } from '../../src/store/merchants.ts';
import { thisHolder } from '../../src/host/process-identity.ts';
import { freshDatabase } from '../support/database.ts';
import { transportTo } from '../platform/stranger.ts';

const ZONE = 'Asia/Shanghai';
const NOW = new Date('2026-03-06T01:30:00+08:00');
const OLD = { merchantNo: 'SBX-OLD', token: 'made-up-token-1' };
const NEW = { merchantNo: 'SBX-NEW', token: 'made-up-token-2' };
const secretKeys = [{ id: 'k1', key: randomBytes(32) }];

/** A merchant that was added, and a platform that also knows a second one. */
async function night() {
  const sandbox = createSandbox({
    timeZone: ZONE,
    from: '2026-03-02',
    to: '2026-03-05',
    entriesPerDay: 10,
    now: NOW.toISOString(),
    merchants: [OLD, NEW].map((merchant) => ({ ...merchant, currencies: ['USD'] })),
  });
  const { url } = await sandbox.listen({ port: 0 });
  onTestFinished(() => sandbox.close());
  const database = await freshDatabase();
  onTestFinished(() => database.close());
  const { db } = database;
  await addMerchant(db, { ...OLD, secretKeys, now: NOW });
  const currencies = createCurrencies({});
  const run = async (base: string = url, asked: Chosen = null) => {
    const settings = { secretKeys, platform: { merchant: null } };
    const merchants = await chosenMerchants({ database, settings } as unknown as PlatformApp, asked);
    const { transport } = transportTo(base, { retriesMax: 1 }, { machineClock: () => Date.now() });
    return executeRun(
      { command: 'sync', range: null, merchants, currencies: null },
      {
        db,
        reader: createLedgerReader(transport, { zone: ZONE, currencies, pageSize: 100 }),
        objects: undefined as never,
        currencies,
        zone: ZONE,
        settleDelayMs: 0,
        resweepDays: 2,
        clockToleranceS: 2,
        now: () => NOW,
        holder: thisHolder(),
        signal: new AbortController().signal,
        onProgress: () => undefined,
      },
    );
  };
  const approve = (token: string) => keepDeliveredToken(db, { ...NEW, token, secretKeys, now: NOW });
  const joined = async () =>
    (await listMerchants(db)).filter(({ joinedAt }) => joinedAt !== null).map(({ merchantNo }) => merchantNo);
  const readOf = (report: Awaited<ReturnType<typeof run>>) =>
    report.sync.map(({ merchantNo, report: { entries } }) => [merchantNo, entries]);
  return { db, sandbox, run, approve, joined, readOf };
}

it('an approved merchant joins after the first successful call, and its ledger is read in the same night', async () => {
  const { run, approve, joined, readOf } = await night();
  expect(await approve(NEW.token)).toBe(true);
  expect(await joined()).toEqual([OLD.merchantNo]);
  const report = await run();
  expect(report).toMatchObject({ exitCode: 0, notes: [] });
  expect(readOf(report)).toEqual([
    [NEW.merchantNo, 30],
    [OLD.merchantNo, 30],
  ]);
  expect(await joined()).toEqual([NEW.merchantNo, OLD.merchantNo]);
});

it('a merchant whose token is refused stays known and is reported, and does not affect others', async () => {
  const { db, run, approve, joined, readOf } = await night();
  await approve('not-its-token');
  const report = await run();
  expect(report.exitCode).toBe(3);
  expect(report.notes).toEqual([
    expect.stringMatching(
      /^SBX-NEW is known, but its ledger could not join yet: sp2404 for merchant SBX-NEW: the platform answered 401/,
    ),
  ]);
  expect(report.notes.join()).not.toContain('not-its-token');
  expect(readOf(report)).toEqual([
    [NEW.merchantNo, 0],
    [OLD.merchantNo, 30],
  ]);
  expect(await joined()).toEqual([OLD.merchantNo]);
  const merchants = [NEW.merchantNo, OLD.merchantNo];
  const tooOld = async (hours: number) =>
    (
      await statusOf(db, merchants, {
        zone: ZONE,
        now: new Date(NOW.getTime() + hours * 3_600_000),
        maxAgeMs: 26 * 3_600_000,
      })
    ).map((status) => [status.lastGoodRunAt, status.tooOld]);
  expect(await tooOld(25)).toEqual([
    [null, false],
    [NOW, false],
  ]);
  expect(await tooOld(27)).toEqual([
    [null, true],
    [NOW, true],
  ]);

  await addMerchant(db, { ...NEW, secretKeys, now: NOW });
  expect(await joined()).toEqual(merchants);
  expect(readOf(await run())).toEqual(merchants.map((merchantNo) => [merchantNo, 30]));
});

it('if the platform is away, the merchant stays known and the run is incomplete, so that it is tried again', async () => {
  const { run, approve, joined } = await night();
  await approve(NEW.token);
  const report = await run('http://127.0.0.1:1', [NEW.merchantNo]);
  expect(report).toMatchObject({
    exitCode: 4,
    notes: [expect.stringMatching(/^SBX-NEW is known.*ECONNREFUSED/)],
  });
  expect(await joined()).toEqual([OLD.merchantNo]);
});

it('a different token for a merchant that has one changes nothing', async () => {
  const { db, approve, joined } = await night();
  await approve(NEW.token);
  expect(await approve(NEW.token)).toBe(true);
  expect(await approve('another')).toBe(false);
  await addMerchant(db, { merchantNo: 'BARE', token: null, secretKeys, now: NOW });
  expect(await keepDeliveredToken(db, { merchantNo: 'BARE', token: 'first', secretKeys, now: NOW })).toBe(
    true,
  );
  expect(await joined()).toEqual(['BARE', OLD.merchantNo]);
});
