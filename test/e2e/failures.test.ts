import { afterEach, describe, expect, test } from 'vitest';
import { exitCodeOf } from '../../src/run/verdict/exit-codes.ts';
import { ALL_TIME } from '../../src/ledger/window.ts';
import { certifiedWindows } from '../../src/store/certificates.ts';
import {
  accountDays,
  DAYS,
  MERCHANT,
  bytesOf,
  objectsOf,
  openStage,
  OTHER,
  publishedIn,
  scenario,
  storedOf,
  truthOf,
  type Stage,
} from '../support/stage.ts';
import { shortAndLong } from '../support/short-and-long.ts';

const { merchantNo } = MERCHANT;
const stages: Stage[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.close();
});
const open = async (...options: Parameters<typeof openStage>): Promise<Stage> => {
  const stage = await openStage(...options);
  stages.push(stage);
  return stage;
};

const rowCounts = async ({ app: { database } }: Stage) => {
  const counts: Record<string, number> = {};
  for (const table of [
    'ledger_entry',
    'certificate',
    'account_day',
    'quarantined_entry',
    'statement',
  ] as const) {
    counts[table] = (await database.db.selectFrom(table).select('merchant_no').execute()).length;
  }
  return counts;
};
const NOTHING = { ledger_entry: 0, certificate: 0, account_day: 0, quarantined_entry: 0, statement: 0 };

describe('a platform that goes down midway', () => {
  const busy = scenario({ entriesPerDay: 450 });

  test('leaves an incomplete run with what was certified; the next run has the same result as without a failure', async () => {
    // Two calls at a time. With more, the platform would be down before the zone is proven, and then nothing is
    // stored.
    const stage = await open({ scenario: busy, platform: { concurrency: 2 } });
    stage.sandbox.setHostility({ downAfterRequests: 40 });
    const report = await stage.run();
    expect(report.exitCode).toBe(4);
    expect(report.notes[0]).toMatch(/^SBX-M-1: sp2404 for merchant SBX-M-1: .*tried 6 times/);
    const kept = await storedOf(stage);
    expect(kept.length).toBeGreaterThan(0);
    const certified = await certifiedWindows(stage.app.database.db, merchantNo, ALL_TIME);
    expect(kept).toEqual(
      truthOf(stage).filter(({ booked_ms: ms }) => certified.some((w) => ms >= w.beginMs && ms <= w.endMs)),
    );

    stage.sandbox.setHostility({});
    expect(await stage.run()).toMatchObject({ exitCode: 0, notes: [] });
    const undisturbed = await open({ scenario: busy });
    await undisturbed.run();
    expect(await storedOf(stage)).toEqual(await storedOf(undisturbed));
    expect(await accountDays(stage)).toEqual(await accountDays(undisturbed));
    expect(await bytesOf(stage)).toEqual(await bytesOf(undisturbed));
  });

  test('for one merchant only (a refused token) does not affect the other', async () => {
    const merchants = [
      { ...MERCHANT, currencies: ['USD'] },
      { ...OTHER, currencies: ['USD'] },
    ];
    const stage = await open({ scenario: scenario({ merchants }) });
    const report = await stage.run({ merchants: [MERCHANT, { ...OTHER, token: 'another-made-up-one' }] });
    expect(report.exitCode).toBe(4);
    expect(report.notes).toEqual([expect.stringMatching(/^SBX-M-2: .*401.*check the merchant's token/)]);
    expect(JSON.stringify(report)).not.toContain('another-made-up-one');
    expect(publishedIn(report)).toEqual(DAYS.map((day) => `USD ${day} r1`));
    expect(await storedOf(stage)).toEqual(truthOf(stage));
    expect(await storedOf(stage, OTHER.merchantNo)).toEqual([]);
  });
});

describe('a wrong time zone', () => {
  for (const { options, cases } of shortAndLong([
    [-8, /UTC/],
    [1, /Asia\/Tokyo/],
    [-13, /America\/New_York/],
  ] as const))
    test.each(cases)(
      'off by %d hours: not a row is written, and the zone that fits is named',
      options,
      async (hours, fitting) => {
        const stage = await open({ scenario: scenario({ hostility: { timeZoneOffsetHours: hours } }) });
        const failure: unknown = await stage.run().catch((error: unknown) => error);
        expect(failure).toMatchObject({ name: 'TimeZoneWrong', message: expect.stringMatching(fitting) });
        expect(exitCodeOf(failure)).toBe(2);
        expect(await rowCounts(stage)).toEqual(NOTHING);
        expect(await objectsOf(stage)).toEqual(new Map());
        const [run] = await stage.app.database.db.selectFrom('run').selectAll().execute();
        expect(run).toMatchObject({ exit_code: 2, figures: { notes: [expect.stringMatching(fitting)] } });
      },
    );

  test('in the settings is reported, and nothing is written', async () => {
    const stage = await open({ platform: { timeZone: 'Europe/Berlin' } });
    await expect(stage.run()).rejects.toThrow(/PLATFORM_TIME_ZONE is Europe\/Berlin.*Asia\/Shanghai/);
    expect(await rowCounts(stage)).toEqual(NOTHING);
  });
});

describe('two runs at once', () => {
  test('one works, the other reports who does and changes nothing', async () => {
    const stage = await open();
    const others: Promise<unknown>[] = [];
    const onProgress = (): void => {
      if (others.length === 0) others.push(stage.run().catch((error: unknown) => error));
    };
    const first = await stage.run({}, { onProgress });
    const [refused] = await Promise.all(others);
    expect(first).toMatchObject({ exitCode: 0 });
    expect(refused).toMatchObject({ name: 'LeaseHeld', holder: stage.deps().holder });
    expect(exitCodeOf(refused)).toBe(5);
    expect(await stage.app.database.db.selectFrom('run').select('id').execute()).toHaveLength(1);
    expect(await storedOf(stage)).toEqual(truthOf(stage));
    expect(await stage.run()).toMatchObject({ exitCode: 0 });
  });
});

test('a run that is asked to stop ends incomplete after a whole window, and the next one completes it', async () => {
  const stage = await open({ scenario: scenario({ entriesPerDay: 450 }) });
  const stop = new AbortController();
  const report = await stage.run(
    {},
    { signal: stop.signal, onProgress: () => stop.abort(new Error('SIGTERM')) },
  );
  expect(report.exitCode).toBe(4);
  expect(report.notes).toEqual([expect.stringMatching(/^stopped before the end/)]);
  expect(await stage.run()).toMatchObject({ exitCode: 0 });
  expect(await storedOf(stage)).toEqual(truthOf(stage));
});
