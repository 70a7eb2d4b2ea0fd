import { describe, expect, test } from 'vitest';
import { PlatformUnreachable } from '../../src/platform/errors.ts';
import {
  figuresOf,
  judge,
  type MerchantSync,
  type PublishOutcome,
  type RunReport,
  type Standing,
} from '../../src/run/report.ts';
import type { WithheldDay } from '../../src/statements/publish.ts';
import type { SyncReport } from '../../src/sync/sync.ts';

const CALM: SyncReport = {
  requests: 9,
  windows: 4,
  entries: 480,
  uncertified: [],
  inserted: 480,
  amended: 0,
  vanished: 0,
  returned: 0,
  quarantined: 0,
  unchanged: 0,
  notices: {},
  failure: null,
  interrupted: false,
};
const synced = (change: Partial<SyncReport> = {}, merchantNo = 'M1'): MerchantSync => ({
  merchantNo,
  from: '2026-03-02',
  to: '2026-03-05',
  report: { ...CALM, ...change },
});
const NOTHING_STANDS: Standing = { openBreaks: 0, quarantined: 0 };
const withheld = (cause: WithheldDay['cause']): PublishOutcome => ({
  repaired: [],
  unrepaired: [],
  published: [],
  unchanged: 0,
  withheld: [{ account: { merchantNo: 'M1', currency: 'USD' }, day: '2026-03-05', cause, why: 'the reason' }],
});
const uncertified = { window: { beginMs: 0, endMs: 999 }, problem: 'the window does not add up' };

describe('the judgement of a run', () => {
  test('green: nothing to say', () => {
    expect(judge([synced()], null, NOTHING_STANDS, [])).toEqual({ exitCode: 0, notes: [] });
    expect(judge([], null, NOTHING_STANDS, [])).toEqual({ exitCode: 0, notes: [] });
  });

  test.each<[string, Parameters<typeof judge>, number, string]>([
    [
      'one open break',
      [[synced()], null, { openBreaks: 1, quarantined: 0 }, []],
      3,
      '1 open break: see `daybook breaks`',
    ],
    [
      'open breaks',
      [[synced()], null, { openBreaks: 2, quarantined: 0 }, []],
      3,
      '2 open breaks: see `daybook breaks`',
    ],
    [
      'amended',
      [[synced({ amended: 2 })], null, NOTHING_STANDS, []],
      3,
      '2 amended: see `daybook amendments`',
    ],
    [
      'vanished',
      [[synced({ vanished: 1 })], null, NOTHING_STANDS, []],
      3,
      '1 vanished: see `daybook amendments`',
    ],
    [
      'quarantined',
      [[synced()], null, { openBreaks: 0, quarantined: 3 }, []],
      3,
      '3 quarantined: see `daybook quarantine`',
    ],
    [
      'uncertified',
      [[synced({ uncertified: [uncertified] })], null, NOTHING_STANDS, []],
      4,
      'M1: the window does not add up',
    ],
    [
      'a platform away',
      [[synced({ failure: new PlatformUnreachable('no answer') })], null, NOTHING_STANDS, []],
      4,
      'M1: no answer',
    ],
    ['a failure half-way', [[synced()], null, NOTHING_STANDS, ['the disk is full']], 4, 'the disk is full'],
    [
      'a day without certificate',
      [[synced()], withheld('uncertified'), NOTHING_STANDS, []],
      4,
      'M1 USD 2026-03-05 is not published: the reason',
    ],
    [
      'a day still going on',
      [[synced()], withheld('not-over'), NOTHING_STANDS, []],
      0,
      'M1 USD 2026-03-05 is not published: the reason',
    ],
  ])('%s', (_, args, exitCode, note) => {
    expect(judge(...args)).toEqual({ exitCode, notes: [note] });
  });

  test('what is incomplete comes before what needs a person, and both are told; figures of all merchants count', () => {
    const sync = [synced({ amended: 1 }), synced({ amended: 2, uncertified: [uncertified] }, 'M2')];
    expect(judge(sync, null, { openBreaks: 1, quarantined: 0 }, [])).toEqual({
      exitCode: 4,
      notes: [
        'M2: the window does not add up',
        '1 open break: see `daybook breaks`',
        '3 amended: see `daybook amendments`',
      ],
    });
  });
});

test('the figures kept with a run are counts, and whose ledgers were read', () => {
  const report: RunReport = {
    command: 'run',
    runId: 1,
    from: '2026-03-02',
    to: '2026-03-05',
    exitCode: 4,
    sync: [synced(), synced({ amended: 2, uncertified: [uncertified] }, 'M2')],
    reconcile: null,
    healingReads: [],
    publish: withheld('uncertified'),
    notes: ['a note'],
    elapsedMs: 12,
  };
  expect(figuresOf(report)).toEqual({
    merchants: ['M1', 'M2'],
    requests: 18,
    windows: 8,
    uncertified: 1,
    inserted: 960,
    amended: 2,
    vanished: 0,
    returned: 0,
    quarantined: 0,
    unchanged: 0,
    daysChained: 0,
    breaksOpened: 0,
    breaksHealed: 0,
    published: 0,
    withheld: 1,
    repaired: 0,
    unrepaired: 0,
    elapsedMs: 12,
    notes: ['a note'],
  });
});
