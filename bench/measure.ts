/** The types of a measure and its results, and helpers that measures share. */
import '../src/plugins.ts';
import type { BenchDatabase, BenchServer } from './server.ts';
import type { DaybookRun, DaybookWork, SandboxProcess } from './processes.ts';
import type { ScenarioInput } from '../src/plugins/sandbox/scenario.ts';

export type Target = { readonly atMost: number } | { readonly atLeast: number };

export interface Measured {
  readonly what: string;
  /** The measured figure, and the limit it is compared with, both in `unit`. */
  readonly figure: number;
  readonly limit: number;
  readonly limitIs: string;
  readonly unit: string;
  /** `figure / limit`. */
  readonly ratio: number;
  /** How far a round’s own ratio was from it, at most; left out where there was one round. */
  readonly noise?: number;
  readonly target: Target;
}

/** What a measure works with. Everything it starts ends with the bench. */
export interface Bench {
  /** Use small sizes, only to check that the bench works. */
  readonly short: boolean;
  /** How many merchants `workers-many`, `merchants-rate` and `search` have; null for what they have by themselves. */
  readonly merchants: number | null;
  readonly server: BenchServer;
  readonly sandbox: (scenario: ScenarioInput) => Promise<SandboxProcess>;
  /** Runs daybook in a process of its own, so that its memory can be measured. The peak is kept for the memory row. */
  readonly daybook: (work: DaybookWork) => Promise<DaybookRun>;
  /** Peak resident memory of each daybook process so far. */
  readonly peaks: readonly MemoryPeak[];
}

export interface MemoryPeak {
  readonly what: string;
  readonly megabytes: number;
}

export interface Measure {
  /** The name for `--only`. */
  readonly name: string;
  /** It takes minutes by itself, and is left out without `--long`. */
  readonly isLong?: true;
  readonly measure: (bench: Bench) => Promise<readonly Measured[]>;
}

/** Runs `work` with a new database. */
export async function withDatabase<Result>(
  { server }: Bench,
  work: (database: BenchDatabase) => Promise<Result>,
): Promise<Result> {
  const database = await server.freshDatabase();
  try {
    return await work(database);
  } finally {
    await database.drop();
  }
}

/** Runs `work` with a new sandbox. */
export async function withSandbox<Result>(
  bench: Bench,
  scenario: ScenarioInput,
  work: (sandbox: SandboxProcess) => Promise<Result>,
): Promise<Result> {
  const sandbox = await bench.sandbox(scenario);
  try {
    return await work(sandbox);
  } finally {
    await sandbox.stop();
  }
}

/** How many ms `work` takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** The middle figure, so that a short burst of other work on the machine does not count. */
export function median(figures: readonly number[]): number {
  const sorted = [...figures].sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new RangeError('a median of nothing');
  return middle;
}

/** How often a measure and its limit take turns. */
export const roundsOf = ({ short }: Bench): number => (short ? 1 : 3);

/** What rounds that took turns come to: the middle figure and limit, and how far the ratio of a single round is from theirs. */
export function ofRounds(
  figures: readonly number[],
  limits: readonly number[],
): Pick<Measured, 'figure' | 'limit' | 'ratio' | 'noise'> {
  const [figure, limit] = [median(figures), median(limits)];
  const ratio = figure / limit;
  const apart = figures.map((one, round) => Math.abs(one / limits[round]! - ratio));
  return { figure, limit, ratio, ...(figures.length > 1 && { noise: Math.max(...apart) }) };
}

/** How many a second, for each of these times. */
export const ratesOf = (number: number, elapsedMs: readonly number[]): number[] =>
  elapsedMs.map((ms) => number / (ms / 1_000));

/** Whether a target is reached. `unsure`: the ratio is as near to it as the rounds are to each other. */
export function meets({ ratio, noise = 0, target }: Measured): 'pass' | 'unsure' | 'FAIL' {
  const [bound, reached] =
    'atMost' in target ? [target.atMost, ratio <= target.atMost] : [target.atLeast, ratio >= target.atLeast];
  if (Math.abs(ratio - bound) < noise) return 'unsure';
  return reached ? 'pass' : 'FAIL';
}

export const count = (entries: number): string => entries.toLocaleString('en');
