/** A merchant whose token is refused costs few calls, keeps nobody else from being read, and is tried anew the next night. */
import { afterEach, expect, test } from 'vitest';
import { MERCHANT, openStage, OTHER, scenario, type Stage } from '../support/stage.ts';

const merchants = [MERCHANT, OTHER].map((merchant) => ({ ...merchant, currencies: ['USD'] }));
const stages: Stage[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.close();
});

test('the calls of a night with a refused token are few, and end with its reason; the other merchant is published', async () => {
  const stage = await openStage({ scenario: scenario({ merchants }) });
  stages.push(stage);
  const refused = { merchantNo: MERCHANT.merchantNo, token: 'made-up-and-revoked' };
  await stage.run({ merchants: [OTHER] });
  const before = stage.sandbox.requestCount();
  await stage.run({ merchants: [OTHER] });
  const ofOther = stage.sandbox.requestCount() - before;
  const report = await stage.run({ merchants: [refused, OTHER] });
  const calls = stage.sandbox.requestCount() - before - 2 * ofOther;
  expect(report.exitCode).toBe(4);
  expect(report.reasons.filter(({ merchantNo }) => merchantNo === refused.merchantNo)[0]?.what).toMatch(
    /401/,
  );
  expect(calls).toBeLessThanOrEqual(stage.app.settings.platform.concurrency);
  expect(calls).toBe(1);
  expect((await stage.run({ merchants: [MERCHANT, OTHER] })).exitCode).toBe(0);
});
