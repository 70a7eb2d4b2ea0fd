/** What holds in each file of tests. */
import fc from 'fast-check';
// Registers the plugins before anything of daybook is loaded, as its program does.
import '../../src/plugins.ts';
import { afterAll, beforeEach, expect } from 'vitest';
import { beginCoverage, coverageOf, endCoverage } from './coverage.ts';
import { databases } from './kept-databases.ts';

/** Properties draw from one seed, so that a failed run fails again. DAYBOOK_TEST_SEED sets another one. */
const SEED = 2404;

fc.configureGlobal({ seed: Number(process.env['DAYBOOK_TEST_SEED'] ?? SEED) });

// The first hook to begin and the last to end: what a test or a hook of its file opens is closed by then.
beforeEach(({ onTestFinished }) => {
  databases.beginTest();
  onTestFinished(() => databases.endTest());
});
afterAll(() => databases.endFile());

const coverage = coverageOf(expect.getState().testPath!);
if (coverage !== null) {
  beginCoverage();
  afterAll(() => endCoverage(coverage));
}
