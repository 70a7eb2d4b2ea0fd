/** A report tells merchants in one order, whoever is done first and however they were asked for. */
import { afterEach, expect, test } from 'vitest';
import { runDocument, runText } from '../../src/cli/output/run-text.ts';
import { outcomeOfAll, type BusyMerchant } from '../../src/run/report.ts';
import { MERCHANT, openStage, OTHER, scenario, type Stage, ZONE } from '../support/stage.ts';

const BOTH = [MERCHANT, OTHER];
const stages: Stage[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.close();
});

/** The report of a run in which `last` is published only once the other merchant is done. */
async function reportWhere(last: typeof MERCHANT, merchants: readonly (typeof MERCHANT)[]) {
  const stage = await openStage({
    scenario: scenario({ merchants: BOTH.map((merchant) => ({ ...merchant, currencies: ['USD'] })) }),
  });
  stages.push(stage);
  const { objects } = stage.app;
  const isOtherDone = Promise.withResolvers<true>();
  const put: typeof objects.put = async (key, ...rest) => {
    if (key.includes(last.merchantNo)) await isOtherDone.promise;
    return objects.put(key, ...rest);
  };
  const report = await stage.run(
    { merchants },
    {
      objects: { ...objects, put },
      onProgress: (progress) => {
        if (progress.stage === 'merchants' && progress.merchantsDone === 1) isOtherDone.resolve(true);
      },
    },
  );
  const asOne = { ...report, elapsedMs: 0 };
  const text = runText(asOne, { days: [], location: 'here', zone: ZONE });
  return { report, text, document: JSON.stringify(runDocument(asOne)) };
}

test.each([
  ['the first merchant last', MERCHANT, BOTH],
  ['the second merchant last', OTHER, BOTH],
  ['asked for in reverse', MERCHANT, BOTH.toReversed()],
])('%s', async (_, last, merchants) => {
  const { report, text, document } = await reportWhere(last, merchants);
  const names = BOTH.map(({ merchantNo }) => merchantNo);
  expect(report.standing.proven.map(({ merchantNo }) => merchantNo)).toEqual(names);
  expect(report.sync.map(({ merchantNo }) => merchantNo)).toEqual(names);
  expect(text.match(/(?<=proven without a gap, )[^:]+/g)).toEqual(names);
  expect(document.match(/"merchantNo":"[^"]+","provenFrom"/g)).toHaveLength(2);
});

test('busy merchants are told in order, too', () => {
  const busy = ['M3', 'M1', 'M2'].map((merchantNo): BusyMerchant => ({
    merchantNo,
    exitCode: 0,
    message: 'busy',
  }));
  expect(outcomeOfAll([], busy).busy.map(({ merchantNo }) => merchantNo)).toEqual(['M1', 'M2', 'M3']);
});
