/** How long test files take: as a run of all tests has reported, and as seen since. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { LONG } from '../../test/support/longest-first.ts';
import { quickTests } from '../../test/support/quick-tests.ts';

export interface Times {
  /** A guess where a file was not run yet. */
  readonly secondsOf: (test: string) => number;
  readonly learn: (test: string, ms: number) => void;
  /** Writes them down for the next time. */
  readonly keep: () => void;
}

/** For files that were never run. */
const GUESS_SECONDS = { quick: 1, server: 10, long: 60 };

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly startTime: number;
    readonly endTime: number;
  }[];
}

export function readTimes(root: string): Times {
  const kept = join(root, 'node_modules/.cache/test-times.json');
  const report = join(root, '.vitest-report.json');
  const known = new Map<string, number>();
  if (existsSync(report)) {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
    for (const { name, startTime, endTime } of testResults)
      known.set(relative(root, name), endTime - startTime);
  }
  if (existsSync(kept)) {
    for (const [test, ms] of Object.entries(JSON.parse(readFileSync(kept, 'utf8')) as Record<string, number>))
      known.set(test, ms);
  }
  const quick = new Set(quickTests(root));
  const guess = (test: string): number =>
    GUESS_SECONDS[LONG.test(test) ? 'long' : quick.has(test) ? 'quick' : 'server'];
  return {
    secondsOf: (test) => {
      const ms = known.get(test);
      return ms === undefined ? guess(test) : ms / 1_000;
    },
    learn: (test, ms) => void known.set(test, ms),
    keep: () => {
      mkdirSync(dirname(kept), { recursive: true });
      writeFileSync(kept, JSON.stringify(Object.fromEntries(known)));
    },
  };
}
