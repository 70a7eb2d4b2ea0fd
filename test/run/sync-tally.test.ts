import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PlatformUnreachable } from '../../src/platform/errors.ts';
import {
  addSyncReports,
  afterReadingAgain,
  sumOfSync,
  NOTHING_SYNCED,
  type SyncReport,
} from '../../src/sync/sync-report.ts';

const span = (beginMs: number, endMs: number, problem = `from ${beginMs}`) => ({
  window: { beginMs, endMs },
  problem,
});
const report = (change: Partial<SyncReport>): SyncReport => ({ ...NOTHING_SYNCED, ...change });
const away = new PlatformUnreachable('no answer');

describe('adding two reports', () => {
  test('adds every field', () => {
    const first: SyncReport = {
      requests: 1,
      windows: 2,
      entries: 3,
      inserted: 4,
      amended: 5,
      vanished: 6,
      returned: 7,
      quarantined: 8,
      unchanged: 9,
      uncertified: [span(0, 9)],
      notices: { both: 1, first: 2 },
      platformBehindMs: 600_000,
      platformAheadMs: 0,
      heldBack: [{ beginMs: 0, endMs: 9 }],
      contradictions: 1,
      contradiction: 'the first',
      caps: ['both', 'first'],
      fullMinutes: null,
      otherLedgers: [],
      failure: null,
      interrupted: false,
    };
    const second: SyncReport = {
      requests: 10,
      windows: 20,
      entries: 30,
      inserted: 40,
      amended: 50,
      vanished: 60,
      returned: 70,
      quarantined: 80,
      unchanged: 90,
      uncertified: [span(20, 29)],
      notices: { both: 3, second: 4 },
      platformBehindMs: 60_000,
      platformAheadMs: 5,
      heldBack: [{ beginMs: 20, endMs: 29 }],
      contradictions: 2,
      contradiction: 'the second',
      caps: ['both', 'second'],
      fullMinutes: { count: 9, from: '2026-03-01 09:00:00' },
      otherLedgers: [],
      failure: away,
      interrupted: true,
    };
    expect(addSyncReports(first, second)).toEqual({
      requests: 11,
      windows: 22,
      entries: 33,
      inserted: 44,
      amended: 55,
      vanished: 66,
      returned: 77,
      quarantined: 88,
      unchanged: 99,
      uncertified: [span(0, 9), span(20, 29)],
      notices: { both: 4, first: 2, second: 4 },
      platformBehindMs: 600_000,
      platformAheadMs: 5,
      heldBack: [
        { beginMs: 0, endMs: 9 },
        { beginMs: 20, endMs: 29 },
      ],
      contradictions: 3,
      fullMinutes: { count: 9, from: '2026-03-01 09:00:00' },
      otherLedgers: [],
      contradiction: 'the first',
      caps: ['both', 'first', 'second'],
      failure: away,
      interrupted: true,
    });
  });

  test('gives the same sum however they are grouped, and an empty report adds nothing', () => {
    const count = fc.nat(1_000);
    const reports = fc
      .record({ requests: count, inserted: count, quarantined: count, entries: count, windows: count })
      .chain((counts) =>
        fc
          .dictionary(fc.constantFrom('a', 'b', 'toString'), fc.integer({ min: 1, max: 9 }))
          .map((notices) => report({ ...counts, notices: { ...notices } })),
      );
    fc.assert(
      fc.property(reports, reports, reports, (a, b, c) => {
        expect(addSyncReports(addSyncReports(a, b), c)).toEqual(addSyncReports(a, addSyncReports(b, c)));
        expect(sumOfSync([{ report: a }])).toEqual(a);
      }),
    );
  });
});

describe('a window read again', () => {
  const window = { beginMs: 10, endMs: 19 };
  const before = report({ requests: 3, uncertified: [span(0, 29, 'total moved')] });

  test('and certified now is no longer uncertified; what lies around it still is', () => {
    expect(afterReadingAgain(before, report({ requests: 1, windows: 1 }), window)).toEqual(
      report({
        requests: 4,
        windows: 1,
        uncertified: [span(0, 9, 'total moved'), span(20, 29, 'total moved')],
      }),
    );
  });

  test('and uncertified now counts, even if it had a certificate', () => {
    const again = report({ uncertified: [span(10, 19, 'wrong total')] });
    expect(afterReadingAgain(NOTHING_SYNCED, again, window).uncertified).toEqual([
      span(10, 19, 'wrong total'),
    ]);
  });

  test('and uncertified both times counts once, with the last reason', () => {
    const again = report({ uncertified: [span(10, 14, 'wrong total')] });
    expect(afterReadingAgain(before, again, window).uncertified).toEqual([
      span(0, 9, 'total moved'),
      span(20, 29, 'total moved'),
      span(10, 14, 'wrong total'),
    ]);
  });

  test.each([{ failure: away }, { interrupted: true }])('and cut short (%o) certifies nothing', (cut) => {
    expect(afterReadingAgain(before, report(cut), window).uncertified).toEqual(before.uncertified);
  });
});
