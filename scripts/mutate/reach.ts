/**
 * `node scripts/mutate/reach.ts FOLDER`: writes `test/support/reach.json`, the tests by which a fault in a source file is
 * noticed soonest, from what a run of the tests covered (DAYBOOK_TEST_COVERAGE names that folder). An old list costs
 * time, and nothing else.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readCovered } from './covering.ts';
import { readTimes } from './times.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const REACH = join(root, 'test/support/reach.json');
/** So many tests of a file at most. */
const TESTS_MAX = 8;
/** What a second test of the same lines is worth, where one of lines that no other runs is worth 1. */
const AGAIN = 0.2;

type Reach = Readonly<Record<string, readonly string[]>>;

/** By source file: the tests that together run all of it that tests run, the best for their time first. */
export const readReach = (): Reach => JSON.parse(readFileSync(REACH, 'utf8')) as Reach;

/** What each test runs of a source file, as starts of ranges. */
type Runs = Map<string, Set<number>>;

export function bestTests(runs: Runs, secondsOf: (test: string) => number): string[] {
  const times = new Map<number, number>();
  const left = new Map(runs);
  const chosen: string[] = [];
  const worthOf = ([test, starts]: readonly [string, Set<number>]): number =>
    [...starts].reduce((sum, start) => sum + AGAIN ** (times.get(start) ?? 0), 0) / (1 + secondsOf(test));
  while (left.size > 0 && chosen.length < TESTS_MAX) {
    const [test, starts] = [...left].reduce((best, one) => (worthOf(one) > worthOf(best) ? one : best));
    for (const start of starts) times.set(start, (times.get(start) ?? 0) + 1);
    chosen.push(test);
    left.delete(test);
  }
  return chosen;
}

function readRuns(folder: string): Map<string, Runs> {
  const files = new Map<string, Runs>();
  for (const { test, file, ranges } of readCovered(folder)) {
    const runs = files.get(file) ?? new Map<string, Set<number>>();
    const starts = runs.get(test) ?? new Set<number>();
    // What starts at 0 is the file as a whole, which the first test that loads it runs.
    for (const [start, , wasRun] of ranges) if (start > 0 && wasRun === 1) starts.add(start);
    if (starts.size > 0) files.set(file, runs.set(test, starts));
  }
  return files;
}

if (import.meta.main) {
  const { secondsOf } = readTimes(root);
  const best = [...readRuns(process.argv[2]!)].map(
    ([file, runs]) => [file, bestTests(runs, secondsOf)] as const,
  );
  const lines = best.map(([file, tests]) => `${JSON.stringify(file)}: ${JSON.stringify(tests)}`).sort();
  writeFileSync(REACH, `{\n${lines.join(',\n')}\n}\n`);
}
