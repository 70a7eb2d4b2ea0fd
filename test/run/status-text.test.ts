/** The lines about how it stands: each thing that there is to say has its sentence, and nothing is said of what is well. */
import { describe, expect, test } from 'vitest';
import type { BackfillStatus } from '../../src/run/backfills.ts';
import type { OpenRange } from '../../src/run/coverage.ts';
import { adjustmentText, leftName, remarksOf, requestedText } from '../../src/run/status-text.ts';

const ZONE = 'Asia/Shanghai';
const AT = new Date('2026-03-06T01:30:00Z');
type Seen = Parameters<typeof remarksOf>[0];
const WELL = { runs: { last: null, notMadeUpFor: [], failedJobs: [] }, backfills: [] } as const;
type Undelivered = Parameters<typeof remarksOf>[1];
const remarks = (seen: Partial<Seen>, alerts: Undelivered = null, mail: Undelivered = null) =>
  remarksOf({ ...WELL, ...seen }, alerts, mail, ZONE);

describe('remarks', () => {
  test('there are none where all is well', () => {
    expect(remarks({})).toEqual([]);
    expect(remarks({}, { failing: 0, givenUp: 0 }, { failing: 0, givenUp: 0 })).toEqual([]);
  });

  test('mails that did not arrive are named apart from alerts', () => {
    expect(remarks({}, null, { failing: 2, givenUp: 1 })).toEqual([
      'statements by mail: 2 mails not delivered yet, 1 given up in the last week, as the server refused the recipient: see `daybook mail list`',
    ]);
  });

  test.each([
    [1, 0, '1 not delivered yet'],
    [0, 1, '1 given up in the last week'],
    [2, 3, '2 not delivered yet, 3 given up in the last week'],
  ])('of alerts, %i failing and %i given up: %s', (failing, givenUp, what) => {
    expect(remarks({}, { failing, givenUp })).toEqual([
      `alerts: ${what}: see \`daybook alerts list\`, and try \`daybook alerts test\``,
    ]);
  });

  test('of the queue: what waits on each lane, and the jobs given up if there are some', () => {
    const lane = { active: 2, oldest: null };
    const lanes = [
      { ...lane, lane: 'night', waiting: 1_200 },
      { ...lane, lane: 'backfill', waiting: 0 },
    ] as const;
    const line = 'queue: night 1,200 waiting, 2 at work; backfill 0 waiting, 2 at work';
    expect(remarks({ queue: { lanes, givenUpCount: 0, givenUp: [] } })).toEqual([line]);
    const job = {
      id: '1',
      runId: 7,
      merchantNo: 'M1',
      lane: 'night',
      problem: 'no disk',
      exitCode: 4,
    } as const;
    const givenUp = [{ ...job, attempts: 3, givenUpAt: AT }];
    const how = '`daybook jobs list` says why, `daybook jobs redrive` sends them back';
    expect(remarks({ queue: { lanes, givenUpCount: 1, givenUp } })).toEqual([
      line,
      `1 job was given up: M1 of run 7; ${how}`,
    ]);
    expect(remarks({ queue: { lanes, givenUpCount: 4, givenUp } })[1]).toBe(
      `4 jobs were given up: M1 of run 7 and 3 more; ${how}`,
    );
    expect(remarks({ queue: null })).toEqual(['queue: its tables are missing; run `daybook migrate`']);
  });

  test('of a backfill: what is done and left, and what its failed slices said', () => {
    const failing = { merchantNo: 'M1', nextDay: '2025-02-01', attempts: 2, problem: 'no answer', tryAt: AT };
    const backfill: BackfillStatus = {
      ...{ id: 3, isRun: false, exitCode: null, requestedAt: AT, endedAt: null, isCancelled: false },
      ...{ from: '2025-01-01', to: '2025-12-31', merchants: 12, merchantsLeft: 9 },
      ...{ daysDone: 1_200, daysLeft: 1, leftMs: null, failing: 3, failures: [failing] },
    };
    expect(remarks({ backfills: [backfill] })).toEqual([
      'backfill 3, 2025-01-01 to 2025-12-31 of 12 merchants: 1,200 days done, 1 day left, time left: not known yet',
      'backfill 3, M1 from 2025-02-01: failed 2 times, tried again at 2026-03-06 09:30:00: no answer',
      'backfill 3: and 2 more merchants',
    ]);
  });
});

test.each([
  [0, 'under a minute'],
  [1, 'about 1 min'],
  [89, 'about 89 min'],
  [90, 'about 2 h'],
  [7 * 60, 'about 7 h'],
  [47 * 60, 'about 47 h'],
  [72 * 60, 'about 3 days'],
])('%i minutes are left: %s', (minutes, text) => {
  expect(leftName(minutes * 60_000)).toBe(text);
});

test('of requested days it is said what is missing, or that only days that are not over are', () => {
  const range: OpenRange = {
    ...{ id: 3, merchantNo: 'M1', currency: null, from: '2026-01-01', to: '2026-03-06', requestedAt: AT },
    ...{ runId: 5, missing: [], missingDays: [] },
  };
  const asked = 'range 3: M1 2026-01-01 to 2026-03-06';
  expect(requestedText(range, ZONE)).toBe(
    `${asked}, asked for 2026-03-06 09:30:00 by run 5; every day that is over is proven`,
  );
  const missingDays = ['05', '07', '09', '11'].map((day) => ({
    from: `2026-01-${day}`,
    to: `2026-01-${day}`,
  }));
  expect(requestedText({ ...range, runId: null, missingDays }, ZONE)).toBe(
    `${asked}, asked for 2026-03-06 09:30:00; missing 2026-01-05, 2026-01-07, 2026-01-09 and 1 more stretch`,
  );
});

test('an adjustment of a closed month says from which revision to which, and why', () => {
  const one = {
    ...{ merchantNo: 'M1', month: '2026-02', number: 1, currency: 'USD', day: '2026-02-09', sha256: '' },
    ...{ frozenRevision: 1, revision: 3, reason: null, publishedAt: AT },
  };
  const adjusts = 'adjusts close 1 of 2026-02: M1 USD 2026-02-09';
  expect(adjustmentText(one)).toBe(`${adjusts} from revision 1 to 3 (entries changed)`);
  expect(adjustmentText({ ...one, reason: '1 late entry' })).toBe(
    `${adjusts} from revision 1 to 3 (1 late entry)`,
  );
  expect(adjustmentText({ ...one, frozenRevision: null })).toBe(
    `${adjusts} was not published, is revision 3`,
  );
});
