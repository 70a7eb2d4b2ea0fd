/**
 * Which parts of `src` each test file runs, for who looks for the tests that could notice a fault there: written to the
 * folder DAYBOOK_TEST_COVERAGE, if it is set.
 */
import { appendFileSync, mkdirSync } from 'node:fs';
import { Session, type Profiler } from 'node:inspector';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCES = new URL('../../src/', import.meta.url).href;

/** From `start` up to but not including `end`, and whether it was run. The smallest around a place counts there. */
export type CoveredRange = readonly [start: number, end: number, wasRun: 0 | 1];

/** One line of a file in the folder. */
export interface Covered {
  readonly test: string;
  /** From the root of the tree. */
  readonly file: string;
  readonly ranges: readonly CoveredRange[];
}

/** Whose coverage is written where. */
export interface CoverageAsked {
  readonly folder: string;
  readonly test: string;
}

/** Null if none is asked for. */
export function coverageOf(testPath: string): CoverageAsked | null {
  const folder = process.env['DAYBOOK_TEST_COVERAGE'];
  return folder === undefined ? null : { folder, test: relative(process.cwd(), testPath) };
}

let session: Session | null = null;

/** Counts from now on, in this process. */
export function beginCoverage(): void {
  if (session !== null) return;
  session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
}

/** Writes down what was run since the last time, as run by a test file. */
export function endCoverage({ folder, test }: CoverageAsked): void {
  let taken: Profiler.ScriptCoverage[] = [];
  // The answer comes at once.
  session?.post('Profiler.takePreciseCoverage', (_error, { result }) => (taken = result));
  const lines = taken.flatMap(({ url, functions }) => {
    const ranges = functions.flatMap((one) =>
      one.ranges.map(({ startOffset, endOffset, count }): CoveredRange => [
        startOffset,
        endOffset,
        count > 0 ? 1 : 0,
      ]),
    );
    if (!url.startsWith(SOURCES) || ranges.every(([, , wasRun]) => wasRun === 0)) return [];
    const covered: Covered = {
      test,
      file: `src/${fileURLToPath(url).slice(fileURLToPath(SOURCES).length)}`,
      ranges,
    };
    return [`${JSON.stringify(covered)}\n`];
  });
  mkdirSync(folder, { recursive: true });
  appendFileSync(join(folder, `${process.pid}.jsonl`), lines.join(''));
}
