/**
 * Changes on days that no night reads again: they are reported in the night they can be seen, read and published
 * again.
 */
import { afterEach, describe, expect, test } from 'vitest';
import type { Window } from '../../src/ledger/entry.ts';
import { CHECKS } from '../../src/ledger/checks.ts';
import { PlatformRejected } from '../../src/platform/errors.ts';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import { planRun } from '../../src/run/plan.ts';
import type { RunReport } from '../../src/run/report.ts';
import { statusOf } from '../../src/run/status.ts';
import {
  FROM,
  MERCHANT,
  NIGHT,
  openStage,
  publishedIn,
  storedOf,
  TO,
  truthOf,
  ZONE,
  type Stage,
} from '../support/stage.ts';
import { shortAndLong } from '../support/short-and-long.ts';

const { merchantNo } = MERCHANT;
/** A night reads the last two of four days, so two days are older. */
const RESWEEP_DAYS = 1;
const SECOND_DAY = '2026-03-03';
let stage: Stage;
afterEach(() => stage.close());

/** A stage on which all four days are read and published. */
const open = async () => {
  stage = await openStage({ settings: { resweepDays: RESWEEP_DAYS } });
  expect(await stage.run()).toMatchObject({ exitCode: 0 });
};
const night = (change: Parameters<Stage['run']>[1] = {}): Promise<RunReport> =>
  stage.run({ range: null }, change);
const callsOf = ({ sync }: RunReport): number => sync[0]!.report.requests;
const olderEntry = (day = FROM) =>
  stage.sandbox.entriesOf(merchantNo).find(({ busiDate }) => busiDate.startsWith(day))!;

/** A reader whose replies to windows of more than a day are changed. */
const wideAnswer = (change: LedgerReader['page']): LedgerReader => {
  const isWide = ({ beginMs, endMs }: Window) => endMs - beginMs > 26 * 3_600_000;
  const { reader } = stage.app;
  return { page: (query, signal) => (isWide(query.window) ? change : reader.page)(query, signal) };
};

test('an honest night costs a call for the total, whose page is compared as well, and reports nothing; switched off, the check makes no call', async () => {
  await open();
  const checked = await night();
  const off = await night({ checks: CHECKS.filter((check) => check !== 'wide') });
  expect([checked.exitCode, checked.notes]).toEqual([0, []]);
  expect(callsOf(checked) - callsOf(off)).toBe(1);
  expect(off.sync[0]).not.toHaveProperty('olderDays');
  expect(checked.sync[0]!.olderDays).toMatchObject({
    kind: 'checked',
    check: { from: FROM, to: TO, differing: [], isContradicted: false },
    again: null,
  });
});

test('a run with dates is no nightly run, so it does not compare older days', async () => {
  await open();
  expect((await stage.run()).sync[0]).not.toHaveProperty('olderDays');
});

test('an entry amended there is reported, its earlier content is kept, and its day is published again', async () => {
  await open();
  const { batchNo, currency } = olderEntry();
  stage.sandbox.amend(merchantNo, batchNo, { busiType: 'T-OTHER' });
  const report = await night();
  expect(report.exitCode).toBe(3);
  expect(report.notes).toContain('1 entry amended by the platform: see `daybook amendments`');
  expect(report.notes.join()).toMatch(
    new RegExp(
      `^${merchantNo}: ${FROM} was read again, as an entry of ${FROM} to ${TO} differs from what is stored: 1 amended`,
    ),
  );
  expect(publishedIn(report)).toContain(`${currency} ${FROM} r2`);
  expect(await storedOf(stage)).toEqual(truthOf(stage));
  expect(await night()).toMatchObject({ exitCode: 0, notes: [] });
});

test('an entry that came late there is reported with its account day', async () => {
  stage = await openStage({ settings: { resweepDays: RESWEEP_DAYS } });
  const { batchNo } = olderEntry(SECOND_DAY);
  stage.sandbox.takeOut(merchantNo, batchNo);
  // Without it, the entries around it do not chain.
  expect(await stage.run()).toMatchObject({ exitCode: 3, standing: { newBreaks: 1 } });
  stage.sandbox.putBack(merchantNo, batchNo);
  const report = await night();
  expect(report.exitCode).toBe(3);
  expect(report.notes.join('\n')).toMatch(
    /2026-03-03 was read again, as the platform's total .*: 1 late \((USD|KWD) 2026-03-03\); late: (SBX\d+)/,
  );
  expect(report.notes.join('\n')).toContain(`late: ${batchNo}`);
  expect(await storedOf(stage)).toEqual(truthOf(stage));
});

test('an entry that vanished there is reported in the same night', async () => {
  await open();
  stage.sandbox.takeOut(merchantNo, olderEntry().batchNo);
  const report = await night();
  expect(report.exitCode).toBe(3);
  expect(report.notes).toContain('1 entry no longer shown by the platform: see `daybook amendments`');
  expect(await storedOf(stage)).toEqual(truthOf(stage));
});

test('a plan makes the same calls and leaves nothing behind', async () => {
  await open();
  stage.sandbox.takeOut(merchantNo, olderEntry().batchNo);
  const before = await storedOf(stage);
  const planned = await planRun({ range: null, merchants: [MERCHANT], currencies: null }, stage.deps());
  expect(planned.sync[0]!.report).toMatchObject({ vanished: 1 });
  expect(await storedOf(stage)).toEqual(before);
  expect(callsOf(await night())).toBe(planned.sync[0]!.report.requests);
});

describe('a platform that answers so wide a window', () => {
  test('with an error is reported, and the night is complete', async () => {
    await open();
    const reader = wideAnswer(() => Promise.reject(new PlatformRejected('answered HTTP 400: too long')));
    const report = await night({ reader });
    expect(report.exitCode).toBe(0);
    expect(report.notes).toEqual([
      `${merchantNo}: the platform refuses long windows of older days, or contradicts their halves: ` +
        'from now on windows of at most 1 day are compared, in rounds of 7 nights',
    ]);
  });

  for (const { options, cases } of shortAndLong([0, 1, 2 ** 31]))
    test.each(cases)('with a total of %d is reported, and nothing changes', options, async (total) => {
      await open();
      const before = await storedOf(stage);
      const { reader } = stage.app;
      const lying = wideAnswer(async (query, signal) => ({ ...(await reader.page(query, signal)), total }));
      const report = await night({ reader: lying });
      expect(report.exitCode).toBe(0);
      expect(report.notes.join()).toContain('or contradicts their halves');
      expect(await storedOf(stage)).toEqual(before);
    });
});

test('status shows what was compared, and how far', async () => {
  await open();
  const older = async () =>
    (
      await statusOf(stage.app.database.db, [merchantNo], {
        zone: ZONE,
        now: new Date(NIGHT),
        maxAgeMs: null,
      })
    )[0]!.olderDays;
  expect(await older()).toBeNull();
  const { sync } = await night();
  const { olderDays } = sync[0]!;
  const entries = olderDays?.kind === 'checked' ? olderDays.check.round.of : 0;
  expect(await older()).toEqual({
    from: FROM,
    to: SECOND_DAY,
    total: entries,
    isHeld: true,
    checkedAt: new Date(NIGHT),
    round: {
      // The last of a page's 100 entries is of a second that goes on on the next page.
      ...{
        read: Math.min(99, entries),
        of: entries,
        beganAt: new Date(NIGHT),
        throughMs: expect.any(Number),
      },
      ...{ widestMs: null, order: 'oldest first', refused: null },
    },
  });
});
