import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { explore } from './explore.ts';
import { keptSeeds } from './kept-seeds.ts';
import { KINDS, type Oracle } from './oracle.ts';
import { openOracle } from './oracles.ts';

const SEED = Number(process.env['DAYBOOK_TEST_SEED'] ?? 2404);
/** How long each kind is tried here; `npm run simulate` goes on for as long as it is told to. */
const EXPLORE_MS = { chains: 4_000, windows: 12_000, histories: 20_000 };
const TIMEOUT_MS = 120_000;

describe.each(KINDS)('%s', (kind) => {
  let oracle: Oracle<unknown>;
  beforeAll(async () => {
    oracle = await openOracle(kind, () => inject('postgresUrl'));
  });
  afterAll(() => oracle.close());

  test('every case that once broke a law keeps it', { timeout: TIMEOUT_MS }, async () => {
    const broken: unknown[] = [];
    for (const kept of keptSeeds(kind)) {
      const findings = await oracle.check(kept.case);
      if (findings.length > 0) broken.push({ ...kept, findings });
    }
    expect(broken).toEqual([]);
  });

  test(`no new case from seed ${SEED} breaks a law`, { timeout: TIMEOUT_MS }, async () => {
    const now = () => performance.now();
    const budget = { seed: SEED, untilMs: now() + EXPLORE_MS[kind], runsMax: Infinity, now };
    const { runs, findings } = await explore(oracle, budget, () => undefined);
    expect(findings).toEqual([]);
    expect(runs).toBeGreaterThan(0);
  });
});
