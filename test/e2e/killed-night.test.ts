/**
 * What a killed run leaves behind. It could neither report nor record anything at its end, so later runs must find
 * it.
 */
import type { ObjectStore } from '../../src/objects/object-store.ts';
import { STORE_MARK_KEY } from '../../src/verify/names.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { dayWindow } from '../../src/ledger/business-day.ts';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import type { RunDeps, RunRequest } from '../../src/run/active-run.ts';
import { FROM, MERCHANT, openStage, scenario, storedOf, ZONE, type Stage } from '../support/stage.ts';

let stage: Stage;
/** Ends the run that hangs, so that it does not continue after the test. */
let end: () => Promise<unknown>;
beforeEach(async () => {
  end = () => Promise.resolve();
  stage = await openStage({ scenario: scenario({ entriesPerDay: 20 }) });
});
afterEach(async () => {
  await end();
  await stage.close();
});

/** Starts a run that hangs at its first call for a window from this day on. This is its state if it is killed there. */
function hang(
  days: { readonly from: string },
  request: Partial<RunRequest> = {},
  change: Partial<RunDeps> = {},
): void {
  const stop = new AbortController();
  const hangsFromMs = dayWindow(days.from, ZONE).beginMs;
  const { reader } = stage.app;
  const hanging: LedgerReader = {
    page: (query, signal) =>
      query.window.beginMs < hangsFromMs
        ? reader.page(query, signal)
        : new Promise((_, reject) =>
            signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
          ),
  };
  const run = stage.run(request, { ...change, reader: hanging, signal: stop.signal });
  end = () => {
    stop.abort(new Error('the test is over'));
    return run.catch(() => undefined);
  };
}
/** Starts a run that hangs at the first file it publishes: all that it read is stored. */
function hangAtPublishing(): Promise<void> {
  const stop = new AbortController();
  const { promise: reached, resolve: reach } = Promise.withResolvers<undefined>();
  const { objects } = stage.app;
  const put: ObjectStore['put'] = (key, ...given) =>
    key === STORE_MARK_KEY ? objects.put(key, ...given) : hung();
  const hung = (): Promise<never> =>
    new Promise((_, reject) => {
      reach(undefined);
      stop.signal.addEventListener('abort', () => reject(stop.signal.reason as Error), { once: true });
    });
  const run = stage.run({}, { objects: { ...stage.app.objects, put }, signal: stop.signal });
  end = () => {
    stop.abort(new Error('the test is over'));
    return run.catch(() => undefined);
  };
  return reached;
}
/** The lease of the killed run ends. */
const endLease = () =>
  stage.app.database.db
    .updateTable('lease')
    .set({ expires_at: new Date(0) })
    .execute();
const { merchantNo } = MERCHANT;
const usd = () => stage.sandbox.entriesOf(merchantNo).filter(({ currency }) => currency === 'USD');

test('changes that a killed run stored are reported by the next run, once', async () => {
  expect(await stage.run()).toMatchObject({ exitCode: 0 });
  stage.sandbox.amend(merchantNo, usd()[3]!.batchNo, { busiType: 'CORRECTED' });
  stage.sandbox.takeOut(merchantNo, usd()[19]!.batchNo);
  await hangAtPublishing();
  const { db } = stage.app.database;
  const found = () =>
    db
      .selectFrom('event')
      .select(['run_id', 'data'])
      .where('kind', '=', 'change')
      .where('reported_at', 'is', null)
      .execute();
  expect(await found()).toEqual([{ run_id: 2, data: { amended: 1, vanished: 1 } }]);

  await endLease();
  const next = await stage.run();
  expect(next.exitCode).toBe(3);
  expect(next.sync[0]!.report).toMatchObject({ amended: 0, vanished: 0 });
  expect(next.notes).toContain(
    '1 entry amended by the platform, 1 of them stored by a run that ended before its report: see `daybook amendments`',
  );
  expect(next.notes).toContain(
    '1 entry no longer shown by the platform, 1 of them stored by a run that ended before its report: see `daybook amendments`',
  );
  expect(await found()).toEqual([]);
  const after = await stage.run();
  expect(after.notes.filter((note) => /amended|no longer shown/.test(note))).toEqual([]);
});

test('a change is reported by the run that stores it, and by no later run', async () => {
  await stage.run();
  stage.sandbox.amend(merchantNo, usd()[3]!.batchNo, { busiType: 'CORRECTED' });
  const { notes } = await stage.run();
  expect(notes).toEqual([
    '1 entry amended by the platform: see `daybook amendments`',
    expect.stringMatching(/^1 published day was revised: /),
  ]);
  expect(await stage.run({ command: 'publish' })).toMatchObject({ exitCode: 0, notes: [] });
});

test('a merchant’s very first night, killed at its first call, is completed by a later one', async () => {
  const night = (now: string) => ({ resweepDays: 0, now: () => new Date(now) });
  hang({ from: FROM }, { range: null }, night('2026-03-03T09:00:00Z'));
  const { db } = stage.app.database;
  const asked = () =>
    db.selectFrom('request').select(['from_day', 'to_day']).where('asked_by', '=', 'run').execute();
  await expect.poll(asked, { timeout: 30_000 }).toEqual([{ from_day: FROM, to_day: FROM }]);
  await endLease();
  const next = await stage.run({ range: null }, night('2026-03-05T09:00:00Z'));
  expect(next.sync[0]!.backlogDays).toEqual([{ from: FROM, to: FROM }]);
  expect((await storedOf(stage)).map(({ booked_at: at }) => at.slice(0, 10))).toContain(FROM);
});
