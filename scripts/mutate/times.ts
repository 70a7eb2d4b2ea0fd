/** How long test files take: as `test/support/times.json` has it, and as seen since. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface Times {
  /** A guess where a file was not run yet. */
  readonly secondsOf: (test: string) => number;
  readonly learn: (test: string, ms: number) => void;
  /** Writes them down for the next time. */
  readonly keep: () => void;
}

/** Files that are not in `times.json` take less than that keeps. */
const GUESS_SECONDS = 2;

export function readTimes(root: string): Times {
  const kept = join(root, 'node_modules/.cache/test-times.json');
  const secondsIn = (path: string): [string, number][] =>
    existsSync(path) ? Object.entries(JSON.parse(readFileSync(path, 'utf8')) as Record<string, number>) : [];
  const known = new Map([...secondsIn(join(root, 'test/support/times.json')), ...secondsIn(kept)]);
  return {
    secondsOf: (test) => known.get(test) ?? GUESS_SECONDS,
    learn: (test, ms) => void known.set(test, ms / 1_000),
    keep: () => {
      mkdirSync(dirname(kept), { recursive: true });
      writeFileSync(kept, JSON.stringify(Object.fromEntries(known)));
    },
  };
}
