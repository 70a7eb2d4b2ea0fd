/** A slice of a backfill that keeps failing is tried again less and less often, and never given up. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { backfillStatuses, beginBackfill } from '../../src/run/backfills.ts';
import { doNextRequest } from '../../src/run/requests.ts';
import { FROM, MERCHANT, openStage, TO, ZONE, type Stage } from '../support/stage.ts';

const { merchantNo } = MERCHANT;
let stage: Stage;
beforeEach(async () => {
  stage = await openStage();
});
afterEach(() => stage.close());

const begin = (): Promise<number> =>
  beginBackfill({ from: FROM, to: TO, merchants: [merchantNo] }, stage.deps());
const failures = async () =>
  (await backfillStatuses(stage.app.database.db, { zone: ZONE, now: stage.app.now() }))[0]!.failures;

test('each failure of a slice doubles its pause, up to six hours, and a slice whose turn has not come is let be', async () => {
  await begin();
  const reader = { page: () => Promise.reject(new Error('made up')) };
  const next = () => doNextRequest(stage.app, new AbortController().signal, { backfills: true }, { reader });
  const pausesMin: number[] = [];
  for (let tries = 1; tries <= 11; tries += 1) {
    const problem = expect.stringContaining('made up') as string;
    expect(await next()).toMatchObject({
      merchantNo,
      from: FROM,
      outcome: 'failed',
      exitCode: null,
      problem,
    });
    if (tries === 1) expect(await next()).toBeNull();
    const [failing] = await failures();
    expect(failing).toMatchObject({ merchantNo, attempts: tries, problem });
    pausesMin.push((failing!.tryAt.getTime() - stage.app.now().getTime()) / 60_000);
    stage.setNow(failing!.tryAt.toISOString());
  }
  expect(pausesMin).toEqual([1, 2, 4, 8, 15, 30, 60, 120, 240, 360, 360]);
});
