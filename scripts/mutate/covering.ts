/** Which test files run a place of the source, as `test/support/coverage.ts` wrote it down. */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { readJsonLines } from '../json-lines.ts';
import type { Covered, CoveredRange } from '../../test/support/coverage.ts';

/**
 * The tests that run the place `at` of a file; null if that is not known, as of what runs once, when the file is loaded,
 * or in a process of its own.
 */
export type Covering = (file: string, at: number) => ReadonlySet<string> | null;

/** All that was written to the folder. */
export const readCovered = (folder: string): Covered[] =>
  globSync('*.jsonl', { cwd: folder }).flatMap((name) => readJsonLines<Covered>(join(folder, name)));

/** Keeps what was seen of these files alone. */
export function readCovering(folder: string, files: ReadonlySet<string>): Covering {
  const seen = new Map<string, { readonly test: string; readonly ranges: readonly CoveredRange[] }[]>();
  for (const { test, file, ranges } of readCovered(folder)) {
    if (!files.has(file)) continue;
    const known = seen.get(file);
    if (known === undefined) seen.set(file, [{ test, ranges }]);
    else known.push({ test, ranges });
  }
  return (file, at) => {
    const tests = (seen.get(file) ?? []).filter(({ ranges }) => isRun(ranges, at)).map(({ test }) => test);
    return tests.length === 0 ? null : new Set(tests);
  };
}

/** Whether the smallest range around the place was run. The file as a whole, which starts at 0, says nothing. */
function isRun(ranges: readonly CoveredRange[], at: number): boolean {
  const around = ranges.filter(([start, end]) => start <= at && at < end);
  const smallest = around.reduce<CoveredRange | null>(
    (least, one) => (least === null || one[1] - one[0] <= least[1] - least[0] ? one : least),
    null,
  );
  return smallest !== null && smallest[0] > 0 && smallest[2] === 1;
}
