/** Draws cases until time or runs are used up. Each law that is broken is reported once, with its smallest case. */
import fc from 'fast-check';
import type { Kept, Oracle } from './oracle.ts';

/** How many cases are drawn from one seed before the next seed is used. */
const BATCH_RUNS = 50;
/** The share of the time that one search for a smaller case may take. */
const SHRINK_SHARE = 0.08;

export interface Budget {
  readonly seed: number;
  readonly untilMs: number;
  readonly runsMax: number;
  readonly now: () => number;
  /** Laws that are known to be broken. They are counted, but no smaller case is searched. */
  readonly known: ReadonlySet<string>;
}

export interface Explored {
  readonly runs: number;
  readonly findings: readonly Kept[];
  /** How often each law was broken, not counting the search for smaller cases. */
  readonly counts: ReadonlyMap<string, number>;
}

/** The law that a finding is about: its text before figures and names. */
const lawOf = (finding: string): string =>
  finding
    .replace(/^(?:step \d+ \([a-z]+\)|reading \d+|at the end|fresh tables): /, '')
    .replace(/:.*/s, '')
    .replace(/ \(.*/s, '');

/** A finding for a person: seed, law, what was seen, and the case to try again. */
export const findingText = ({ seed, law, case: drawn }: Kept, broken: readonly string[]): string =>
  `FOUND with seed ${seed}: ${law}\n  ${broken.join('\n  ')}\n  case ${JSON.stringify(drawn)}`;

export async function explore<Case>(
  oracle: Oracle<Case>,
  budget: Budget,
  onFinding: (kept: Kept, findings: readonly string[]) => void,
): Promise<Explored> {
  const counts = new Map<string, number>();
  const findings: Kept[] = [];
  const shrinkMs = SHRINK_SHARE * (budget.untilMs - budget.now());
  let runs = 0;
  for (let seed = budget.seed; runs < budget.runsMax && budget.now() < budget.untilMs; seed += 1) {
    /** The law that this batch's first finding broke. Smaller cases that break the same law are searched. */
    const wanted: { law: string | null } = { law: null };
    const failed: { drawn: Case; broken: readonly string[] }[] = [];
    let endsMs = budget.untilMs;
    const property = fc.asyncProperty(oracle.cases, async (drawn) => {
      if (budget.now() > endsMs) return;
      const broken = await oracle.check(drawn);
      const laws = [...new Set(broken.map(lawOf))];
      if (wanted.law === null) {
        runs += 1;
        wanted.law = laws.find((one) => !counts.has(one) && !budget.known.has(one)) ?? null;
        for (const one of laws) counts.set(one, (counts.get(one) ?? 0) + 1);
        if (wanted.law === null) return;
        endsMs = budget.now() + shrinkMs;
      } else if (!laws.includes(wanted.law)) return;
      failed.push({ drawn, broken });
      throw new Error(broken.join('\n'));
    });
    const numRuns = Math.min(BATCH_RUNS, budget.runsMax - runs);
    await fc.check(property, { seed, numRuns });
    // The last case that failed is the smallest.
    const { drawn, broken } = failed.at(-1) ?? {};
    if (wanted.law === null || drawn === undefined || broken === undefined) continue;
    const kept: Kept = { kind: oracle.kind, seed, law: wanted.law, case: drawn };
    findings.push(kept);
    onFinding(kept, broken);
  }
  return { runs, findings, counts };
}
