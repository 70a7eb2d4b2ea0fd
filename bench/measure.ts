/** What every measure gets and gives back; each runs in a process of its own, so that its memory is its own. */

export interface MeasureInput {
  /** An empty, migrated database of the benchmark's own server. */
  readonly databaseUrl: string;
  /** The sandbox, in a process of its own. */
  readonly sandboxUrl: string;
  /** Small enough for a machine that only wants to know whether the benchmark works. */
  readonly short: boolean;
}

export interface Measured {
  readonly what: string;
  /** What was reached, and the limit of the same run it is held against, in `unit`. */
  readonly figure: number;
  readonly limit: number;
  readonly limitIs: string;
  readonly unit: string;
  readonly ratio: number;
  readonly target: { readonly atMost: number } | { readonly atLeast: number };
}

/** Runs a measure as a process: input comes as JSON in the first argument, figures go to stdout as one JSON line. */
export async function runMeasure(
  measure: (input: MeasureInput) => Promise<readonly Measured[]>,
): Promise<void> {
  const input = JSON.parse(process.argv[2] ?? '{}') as MeasureInput;
  const measured = await measure(input);
  const peakRssMb = process.resourceUsage().maxRSS / 1_024;
  process.stdout.write(`${JSON.stringify({ measured, peakRssMb })}\n`);
}

/** Milliseconds `work` takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}
