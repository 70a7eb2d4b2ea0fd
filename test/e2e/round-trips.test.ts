/** Limits how many round trips to the database a night costs. On a slow connection nothing else matters. */
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/store/engine/connection.ts';
import { startFaultyWire } from '../support/faulty-wire.ts';
import { FROM, openStage, scenario, TO, type Stage } from '../support/stage.ts';

/**
 * The number counted, and a few more. Publishing takes 2 however many days there are, and at most one question for the
 * lease for each file. The rest is per run: its lease, its record, its days, the chain, and 4 for notices (two merchants,
 * usual numbers, first openings, unreported ones). A merchant that begins is compared with the others before it is
 * published, and the law is asserted at the end: 2 more.
 */
const THREE_DAYS_MAX = 145;
const NIGHT_MAX = 155;
/** If nothing is new, nothing is chained or published. */
const UNCHANGED_MAX = 80;

let stage: Stage;
afterEach(() => stage.close());

/** A stage whose runs reach the database through a proxy. */
async function openWired() {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 60 }) });
  const wire = await startFaultyWire(stage.app.settings.databaseUrl!);
  const { db, close } = await openDatabase({ databaseUrl: wire.url, dataDir: '' });
  onTestFinished(async () => {
    await close();
    await wire.close();
  });
  /** The number of statements of one good run. */
  const tripsOf = async (from: string, to: string): Promise<number> => {
    wire.takeStatements();
    const report = await stage.run({ range: { from, to } }, { db });
    expect(report).toMatchObject({ exitCode: 0 });
    // The number of connections depends on timing.
    return wire.takeStatements().filter((statement) => !statement.startsWith('SET datestyle')).length;
  };
  return { wire, tripsOf };
}

describe('a merchant with two currencies', () => {
  test('costs a limited number of round trips a night', async () => {
    const { tripsOf } = await openWired();
    expect(await tripsOf(FROM, '2026-03-04')).toBeLessThanOrEqual(THREE_DAYS_MAX);
    expect(await tripsOf(TO, TO)).toBeLessThanOrEqual(NIGHT_MAX);
    expect(await tripsOf(TO, TO)).toBeLessThanOrEqual(UNCHANGED_MAX);
  });

  test('needs no more of them on a slow connection', async () => {
    const { wire, tripsOf } = await openWired();
    wire.delayMs = 10;
    expect(await tripsOf(TO, TO)).toBeLessThanOrEqual(NIGHT_MAX);
  });
});
