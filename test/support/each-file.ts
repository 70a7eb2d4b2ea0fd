/** What holds in each file of tests. */
import { relative } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeEach, expect } from 'vitest';
import { beginCoverage, endCoverage } from './coverage.ts';
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

const coverage = process.env['DAYBOOK_TEST_COVERAGE'];
if (coverage !== undefined) {
  beginCoverage();
  afterAll(() => endCoverage(coverage, relative(process.cwd(), expect.getState().testPath!)));
}
