/** Which test files run a place of the source, as `test/support/coverage.ts` wrote it down. */
import { createReadStream, globSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Covered, CoveredRange } from '../../test/support/coverage.ts';

/**
 * The tests that run the place `at` of a file; null if that is not known, as of what runs once, when the file is loaded,
 * or in a process of its own.
 */
export type Covering = (file: string, at: number) => ReadonlySet<string> | null;

/** Keeps what was seen of these files alone. */
export async function readCovering(folder: string, files: ReadonlySet<string>): Promise<Covering> {
  const seen = new Map<string, { readonly test: string; readonly ranges: readonly CoveredRange[] }[]>();
  for (const name of globSync('*.jsonl', { cwd: folder })) {
    for await (const line of createInterface({ input: createReadStream(join(folder, name)) })) {
      const { test, file, ranges } = JSON.parse(line) as Covered;
      if (files.has(file)) seen.set(file, [...(seen.get(file) ?? []), { test, ranges }]);
    }
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
