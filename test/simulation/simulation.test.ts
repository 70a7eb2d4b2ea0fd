import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { explore, findingText } from './explore.ts';
import { keptSeeds } from './kept-seeds.ts';
import { KINDS, type Oracle } from './oracle.ts';
import { openOracle } from './oracles.ts';

const SEED = Number(process.env['DAYBOOK_TEST_SEED'] ?? 2404);
/** For how long at most each kind is tried here. `npm run simulate` takes as long as it is asked to. */
const EXPLORE_MS = {
  chains: 4_000,
  windows: 12_000,
  histories: 20_000,
  proofs: 8_000,
  refusals: 6_000,
  absences: 6_000,
  orders: 30_000,
  stretches: 12_000,
};
const EXPLORE_RUNS = {
  chains: 20_000,
  windows: 150,
  histories: 30,
  proofs: 12,
  refusals: 6,
  absences: 6,
  orders: 5,
  stretches: 60,
};
const TIMEOUT_MS = 120_000;

describe.each(KINDS)('%s', (kind) => {
  let oracle: Oracle<unknown>;
  beforeAll(async () => {
    oracle = await openOracle(kind, () => inject('postgresUrl'));
  });
  afterAll(() => oracle.close());

  test('every case that once broke a law breaks none now', { timeout: TIMEOUT_MS }, async () => {
    const reported: string[] = [];
    for (const kept of keptSeeds(kind)) {
      const broken = await oracle.check(kept.case);
      if (broken.length > 0) reported.push(findingText(kept, broken));
    }
    expect(reported).toEqual([]);
  });

  test(`no new case from seed ${SEED} breaks a law`, { timeout: TIMEOUT_MS, tags: ['long'] }, async () => {
    const now = () => performance.now();
    const budget = {
      seed: SEED,
      untilMs: now() + EXPLORE_MS[kind],
      runsMax: EXPLORE_RUNS[kind],
      now,
      known: new Set<string>(),
    };
    const reported: string[] = [];
    const { runs } = await explore(oracle, budget, (kept, broken) =>
      reported.push(findingText(kept, broken)),
    );
    expect(reported).toEqual([]);
    expect(runs).toBeGreaterThan(0);
  });
});
