/** What a night costs in round trips to the database: over a slow line they are all that counts. */
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/store/engine/connection.ts';
import { startFaultyWire } from '../support/faulty-wire.ts';
import { FROM, openStage, scenario, TO, type Stage } from '../support/stage.ts';

/**
 * As counted, and a little more. A day: 8 to store its window, and about 60 to publish two accounts, 9 of them questions
 * for the lease between uploads. The rest is the run's own: its lease, its record, the chain, 4 about what is odd
 * (two merchants, what is usual, first openings, what is untold), what is open at its end.
 */
const THREE_DAYS_MAX = 247;
const NIGHT_MAX = 131;
/** Nothing is chained or published where nothing is new. */
const UNCHANGED_MAX = 63;

let stage: Stage;
afterEach(() => stage.close());

/** A stage whose runs reach the database over a wire. */
async function openWired() {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 60 }) });
  const wire = await startFaultyWire(stage.app.settings.databaseUrl!);
  const { db, close } = await openDatabase({ databaseUrl: wire.url, dataDir: '' });
  onTestFinished(async () => {
    await close();
    await wire.close();
  });
  /** Statements of one run, which ends well. */
  const tripsOf = async (from: string, to: string): Promise<number> => {
    wire.takeStatements();
    const report = await stage.run({ range: { from, to } }, { db });
    expect(report).toMatchObject({ exitCode: 0 });
    // How many connections a run opens depends on what happens to coincide.
    return wire.takeStatements().filter((statement) => !statement.startsWith('SET datestyle')).length;
  };
  return { wire, tripsOf };
}

describe('a merchant with two currencies', () => {
  test('costs so many round trips a night', async () => {
    const { tripsOf } = await openWired();
    expect(await tripsOf(FROM, '2026-03-04')).toBeLessThanOrEqual(THREE_DAYS_MAX);
    expect(await tripsOf(TO, TO)).toBeLessThanOrEqual(NIGHT_MAX);
    expect(await tripsOf(TO, TO)).toBeLessThanOrEqual(UNCHANGED_MAX);
  });

  test('is done over a slow line in no more of them', async () => {
    const { wire, tripsOf } = await openWired();
    wire.delayMs = 10;
    expect(await tripsOf(TO, TO)).toBeLessThanOrEqual(NIGHT_MAX);
  });
});
