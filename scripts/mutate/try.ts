/** Tries one mutant: the nearest tests first, and then ever more, until one fails or the time for it is used up. */
import type { Result } from './card.ts';
import type { Lane, Outcome } from './lane.ts';
import type { Mutant } from './mutants.ts';
import type { Times } from './times.ts';

export interface Trial {
  /** The tests that reach the mutant's file, in the order in which they are asked. */
  readonly near: readonly string[];
  /** How long tests are run with it. */
  readonly seconds: number;
  /** The end of it all, by `performance.now()`. */
  readonly untilMs: number;
  readonly times: Times;
  /** Test files that pass without a mutant, and that fail. They are known once they have failed with one. */
  readonly sound: Set<string>;
  readonly broken: Set<string>;
}

/** As many tests are started together as take about so long; each time twice as many. */
const FIRST_BATCH_SECONDS = 6;
const BATCH_SECONDS_MAX = 60;
/** How much longer than the time for a mutant its last tests may take. */
const OVERTIME_SECONDS = 15;

/** The first tests that take up to `seconds`, at least one. */
function batchOf(tests: readonly string[], seconds: number, { secondsOf }: Times): string[] {
  let sum = 0;
  const end = tests.findIndex((test) => (sum += secondsOf(test)) > seconds);
  return tests.slice(0, end === -1 ? tests.length : Math.max(1, end));
}

type Tried = Pick<Result, 'noticedBy' | 'seconds' | 'tried' | 'reaching'>;

/** Null if there was no time to find out. */
export async function tryMutant(lane: Lane, mutant: Mutant, trial: Trial): Promise<Tried | null> {
  const { near, seconds, untilMs, times, sound, broken } = trial;
  const began = performance.now();
  const elapsed = (): number => (performance.now() - began) / 1_000;
  const green = new Set<string>();
  const left = (): string[] => near.filter((test) => !green.has(test) && !broken.has(test));
  const ended = (noticedBy: string | null): Tried => {
    return { noticedBy, seconds: elapsed(), tried: green.size, reaching: near.length };
  };
  let batchSeconds = FIRST_BATCH_SECONDS;
  while (left().length > 0 && elapsed() < seconds && performance.now() < untilMs) {
    const batch = batchOf(left(), Math.min(batchSeconds, seconds - elapsed()), times);
    const restMs = (seconds - elapsed() + OVERTIME_SECONDS) * 1_000;
    const limitMs = Math.min(restMs, untilMs - performance.now());
    const outcome = await lane.run(mutant, batch, limitMs);
    for (const [test, ms] of outcome.ms) {
      times.learn(test, ms);
      green.add(test);
      sound.add(test);
    }
    if (outcome.failure !== null || outcome.isHung) {
      const by = await noticedBy(lane, outcome, batch, trial);
      if (by !== null) return ended(by);
    }
    batchSeconds = Math.min(2 * batchSeconds, BATCH_SECONDS_MAX);
  }
  return performance.now() < untilMs ? ended(null) : null;
}

/** What noticed it; null if that fails without a mutant as well, and is not asked again. */
async function noticedBy(
  lane: Lane,
  { failure, isHung, ms }: Outcome,
  batch: readonly string[],
  { sound, broken, untilMs }: Trial,
): Promise<string | null> {
  const suspects =
    failure === null || failure.file === '' ? batch.filter((test) => !ms.has(test)) : [failure.file];
  const unsure = suspects.filter((test) => !sound.has(test));
  const without = unsure.length === 0 ? null : await lane.run(null, unsure, untilMs - performance.now());
  if (without === null || (without.failure === null && without.isOver)) {
    for (const test of unsure) sound.add(test);
    if (isHung) return `${suspects.join(', ')}: did not end`;
    const { file, test, message } = failure!;
    return [file, test === '' ? message.split('\n')[0]! : test].filter((part) => part !== '').join(': ');
  }
  const failed = without.failure?.file ?? '';
  for (const test of failed === '' ? unsure : [failed]) broken.add(test);
  return null;
}
