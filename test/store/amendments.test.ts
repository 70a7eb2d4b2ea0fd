import { expect, it } from 'vitest';
import { accountsOf, EVERY_ACCOUNT } from '../../src/ledger/account-filter.ts';
import { listAmendments, listVanished } from '../../src/store/amendments.ts';
import { listQuarantine } from '../../src/store/quarantine.ts';
import { finishRun, latestRuns, runById, startRun } from '../../src/store/runs.ts';
import type { WindowReading } from '../../src/store/compare-with-stored.ts';
import {
  certified,
  DAY,
  entries,
  entry,
  MERCHANT,
  NOW,
  onBothDatabases,
  unreadable,
  uncertified,
  storeAndJudge,
} from './support.ts';

onBothDatabases((store) => {
  const later = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000);
  const keep = (reading: WindowReading, now: Date, runId = store().runId, merchantNo = MERCHANT) =>
    storeAndJudge(store().db, store().lease, {
      merchantNo,
      window: DAY,
      reading,
      runId,
      now,
    });

  it('amendments show each content with its replacement, newest first', async () => {
    const contents = [
      entry(1),
      entry(1, { balance: '5.10' }),
      entry(1, { currency: 'EUR', credit: null, debit: '1.00' }),
    ];
    for (const [n, content] of contents.entries()) await keep(uncertified([content]), later(n));
    const reported = await listAmendments(store().db);
    expect(reported).toEqual([
      {
        merchantNo: MERCHANT,
        before: contents[1],
        after: contents[2],
        version: 2,
        supersededAt: later(2),
        runId: store().runId,
      },
      {
        merchantNo: MERCHANT,
        before: contents[0],
        after: contents[1],
        version: 1,
        supersededAt: later(1),
        runId: store().runId,
      },
    ]);
    expect(
      await listAmendments(store().db, { merchants: [MERCHANT], currencies: ['EUR'], runId: store().runId }),
    ).toEqual([reported[0]]);
    expect(await listAmendments(store().db, { ...EVERY_ACCOUNT, limit: 1 })).toEqual([reported[0]]);
    expect(await listAmendments(store().db, accountsOf('M1002'))).toEqual([]);
    expect(await listAmendments(store().db, { ...EVERY_ACCOUNT, runId: 999 })).toEqual([]);
  });

  it('vanished entries are listed until they return', async () => {
    await keep(certified(entries(1, 2)), NOW);
    await keep(certified(entries(2)), later(1));
    expect(await listVanished(store().db, accountsOf(MERCHANT, ['USD']))).toEqual([
      { merchantNo: MERCHANT, entry: entry(1), vanishedAt: later(1) },
    ]);
    expect(await listVanished(store().db, { merchants: null, currencies: ['EUR'] })).toEqual([]);
    await keep(certified(entries(1, 2)), later(2));
    expect(await listVanished(store().db)).toEqual([]);
  });

  it('unreadable entries are told while the platform sends them, and afterwards on request', async () => {
    await keep(certified([], [unreadable('{"x":1}')]), NOW);
    expect(await listQuarantine(store().db)).toMatchObject([
      { raw: '{"x":1}', reason: 'no batchNo', released_at: null, begin_ms: DAY.beginMs, end_ms: DAY.endMs },
    ]);
    await keep(certified([]), later(1));
    expect(await listQuarantine(store().db)).toEqual([]);
    expect(
      await listQuarantine(store().db, { all: true, merchants: [MERCHANT], runId: store().runId }),
    ).toMatchObject([{ released_at: later(1) }]);
  });

  it('runs are listed newest first, with how they ended', async () => {
    const id = await startRun(store().db, {
      command: 'run',
      holder: 'test:1:-',
      fromDay: '2026-03-08',
      toDay: '2026-03-09',
      now: later(1),
    });
    expect(await runById(store().db, id)).toMatchObject({
      command: 'run',
      fromDay: '2026-03-08',
      finishedAt: null,
      exitCode: null,
      figures: {},
    });
    await finishRun(store().db, id, {
      exitCode: 3,
      figures: { amended: 1, notes: ['a "note"'] },
      now: later(2),
    });
    const run = await runById(store().db, id);
    expect(run).toMatchObject({
      startedAt: later(1),
      finishedAt: later(2),
      exitCode: 3,
      figures: { amended: 1, notes: ['a "note"'] },
    });
    expect(await latestRuns(store().db, { ...EVERY_ACCOUNT, limit: 1 })).toEqual([run]);
    expect((await latestRuns(store().db, { limit: 5 })).map(({ command }) => command)).toEqual([
      'run',
      'sync',
    ]);
    expect(await latestRuns(store().db, { limit: 5, command: 'run' })).toEqual([run]);
  });
});
