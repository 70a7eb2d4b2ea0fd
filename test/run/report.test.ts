import { describe, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import { PlatformUnreachable } from '../../src/platform/errors.ts';
import { judge, type RunFailure } from '../../src/run/verdict/judge.ts';
import {
  accountDaysTouched,
  runFigures,
  type MerchantSync,
  type MerchantTrouble,
  type PublishOutcome,
  type RunReport,
  type OpenItems,
  NOTHING_STANDS,
} from '../../src/run/report.ts';
import type { OpenRange } from '../../src/run/coverage.ts';
import type { WithheldDay } from '../../src/statements/publish.ts';
import type { SyncReport } from '../../src/sync/sync-report.ts';

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
  platformBehindMs: 0,
  platformAheadMs: 0,
  contradictions: 0,
  contradiction: null,
  caps: [],
  fullMinutes: null,
  otherLedgers: [],
  heldBack: [],
  failure: null,
  interrupted: false,
};
const synced = (change: Partial<SyncReport> = {}, merchantNo = 'M1'): MerchantSync => ({
  merchantNo,
  from: '2026-03-02',
  to: '2026-03-05',
  backlogDays: [],
  report: { ...CALM, ...change },
});
const withheld = (cause: WithheldDay['cause']): PublishOutcome => ({
  compared: [],
  repaired: [],
  unrepaired: [],
  published: [],
  unchanged: 0,
  withheld: [{ account: { merchantNo: 'M1', currency: 'USD' }, day: '2026-03-05', cause, why: 'the reason' }],
  unlinked: [],
  foreign: [],
  readableNow: [],
});
/** The verdict on run 7, with the sentences of its reasons. */
function verdict(
  sync: MerchantSync[],
  publish: PublishOutcome | null,
  standing: Partial<OpenItems> = {},
  failures: RunFailure[] = [],
  troubles: MerchantTrouble[] = [],
) {
  const outcome = { sync, reconcile: null, healingReads: [], publish, troubles, busy: [] };
  const { exitCode, reasons } = judge(
    outcome,
    { ...NOTHING_STANDS, ...standing },
    { id: 7, failures, zone: 'Asia/Shanghai' },
  );
  return { exitCode, notes: reasons.map(({ what }) => what) };
}
test('a file that its format cannot hold needs a person: the day is published without it', () => {
  const one = { account: { merchantNo: 'M1', currency: 'USD' }, day: '2026-03-05', format: 'mt940' };
  const leftOut = Array.from({ length: 22 }, (_, at) => ({ ...one, why: `file ${at} is too large.` }));
  const { exitCode, notes } = verdict([], { ...withheld('misfit'), withheld: [], leftOut });
  expect(exitCode).toBe(3);
  expect([notes.length, notes[0], notes.at(-1)]).toEqual([
    21,
    'file 0 is too large.',
    '2 more files cannot be written in their formats.',
  ]);
});

const range = (change: Partial<OpenRange> = {}): OpenRange => ({
  id: 3,
  merchantNo: 'M1',
  from: '2026-01-01',
  to: '2026-02-28',
  requestedAt: new Date('2026-03-01T00:00:00Z'),
  runId: 5,
  missing: [{ beginMs: 0, endMs: 999 }],
  missingDays: [
    { from: '2026-01-05', to: '2026-01-05' },
    { from: '2026-02-01', to: '2026-02-28' },
  ],
  ...change,
});
const RANGE_NOTE =
  'M1: 2026-01-01 to 2026-02-28 was asked for (range 3) and is not read completely yet: ' +
  '2026-01-05, 2026-02-01 to 2026-02-28 missing';
const uncertified = { window: { beginMs: 0, endMs: 999 }, problem: 'the window does not add up' };

describe('the verdict on a run', () => {
  test('a manifest in the store that is not ours needs a person, who is told which one it was', () => {
    const key = 'merchant=M1/date=2026-03-05/manifest.json';
    const foreign = [{ merchantNo: 'M1', day: '2026-03-05', key, revision: 7, sha256: 'abc' }];
    const publish: PublishOutcome = { ...withheld('not-over'), withheld: [], foreign };
    expect(verdict([synced()], publish)).toEqual({
      exitCode: 3,
      notes: [
        'a manifest lay in the store that this database does not know and our key did not sign; ours took the place: ' +
          `${key} (revision 7, SHA-256 abc)`,
      ],
    });
  });

  test('green: nothing to say', () => {
    expect(verdict([synced()], null)).toEqual({ exitCode: 0, notes: [] });
    expect(verdict([], null)).toEqual({ exitCode: 0, notes: [] });
  });

  test('of a merchant with a thousand windows or days to report, the first ones and the number of the rest', () => {
    const many = Array.from({ length: 1_000 }, (_, at) => ({
      window: { beginMs: at * 1_000, endMs: at * 1_000 + 999 },
      problem: `window ${at} does not add up`,
    }));
    const [day] = withheld('uncertified').withheld;
    const days = (merchantNo: string, count: number) =>
      Array.from({ length: count }, (_, at) => {
        return { ...day!, day: addDays(day!.day, at), account: { merchantNo, currency: 'USD' } };
      });
    const { exitCode, notes } = verdict(
      [synced({ uncertified: many }), synced({ uncertified: [uncertified] }, 'M2')],
      { ...withheld('uncertified'), withheld: [...days('M1', 500), ...days('M2', 1)] },
    );
    expect(exitCode).toBe(4);
    expect(notes).toHaveLength(2 * 11 + 2);
    expect(notes.slice(9, 12)).toEqual([
      'M1: window 9 does not add up',
      'M1: 990 more windows could not be certified',
      'M2: the window does not add up',
    ]);
    expect(notes.slice(-2)).toEqual([
      'M1: 490 more account days are not published',
      'M2 USD 2026-03-05 is not published: the reason',
    ]);
  });

  test('where one change over many entries was found, the first window that it left in doubt stands for the others', () => {
    const sync = ['M1', 'M2'].map((merchantNo) =>
      synced(
        { uncertified: [1, 2, 3].map((at) => ({ ...uncertified, problem: `window ${at} differs` })) },
        merchantNo,
      ),
    );
    const what = 'have another transaction type';
    const common = { merchantNo: 'M1', count: 40, of: 40, what, from: '2026-03-04', to: '2026-03-04' };
    const outcome = { sync, reconcile: null, healingReads: [], publish: null, troubles: [], busy: [] };
    const together = [{ common, moved: [] }];
    const { reasons } = judge(outcome, NOTHING_STANDS, { id: 7, failures: [], zone: 'UTC', together });
    expect(reasons.map((one) => one.what)).toEqual([
      'M1: 40 entries of 2026-03-04 have another transaction type',
      'M1: window 1 differs',
      'M1: 2 more windows could not be certified',
      ...[1, 2, 3].map((at) => `M2: window ${at} differs`),
    ]);
  });

  test('one sentence that comes twice is told once, and windows are told in the platform’s zone', () => {
    const problem = 'the window 2026-03-01T16:00:00.000Z to 2026-03-02T15:59:59.999Z does not add up';
    const twice = [
      { ...uncertified, problem },
      { ...uncertified, problem },
    ];
    expect(verdict([synced({ uncertified: twice })], null).notes).toEqual([
      'M1: the window 2026-03-02 00:00:00 to 2026-03-03 00:00:00 (Asia/Shanghai) does not add up',
    ]);
  });

  test.each<[string, Parameters<typeof verdict>, number, string | string[]]>([
    ['a break this run found', [[synced()], null, { newBreaks: 1 }], 3, '1 new break: see `daybook breaks`'],
    [
      'breaks of earlier runs',
      [[synced()], null, { knownBreaks: 2 }],
      3,
      '2 breaks known before, still open: see `daybook breaks`',
    ],
    [
      'amended',
      [[synced({ amended: 2 })], null],
      3,
      '2 entries amended by the platform: see `daybook amendments`',
    ],
    [
      'vanished',
      [[synced({ vanished: 1 })], null],
      3,
      '1 entry no longer shown by the platform: see `daybook amendments`',
    ],
    [
      'vanished and come back while one run reads',
      [[synced({ vanished: 25, returned: 25 })], null, { unreported: { amended: 0, vanished: 0 } }],
      3,
      [
        '25 entries no longer shown by the platform: see `daybook amendments`',
        'M1: 25 entries vanished and 25 came back while one run was reading: the total of a span and the ' +
          'totals of its parts count different entries',
      ],
    ],
    [
      'quarantined',
      [[synced()], null, { quarantined: 3 }],
      3,
      '3 unreadable entries in quarantine: see `daybook quarantine`',
    ],
    ['uncertified', [[synced({ uncertified: [uncertified] })], null], 4, 'M1: the window does not add up'],
    [
      'a platform away',
      [[synced({ failure: new PlatformUnreachable('no answer') })], null],
      4,
      'M1: no answer',
    ],
    [
      'a failure midway',
      [[synced()], null, {}, [{ exitCode: 4, message: 'the disk is full' }]],
      4,
      'the disk is full',
    ],
    [
      'a day without certificate',
      [[synced()], withheld('uncertified')],
      4,
      'M1 USD 2026-03-05 is not published: the reason',
    ],
    [
      'a day still going on',
      [[synced()], withheld('not-over')],
      0,
      'M1 USD 2026-03-05 is not published: the reason',
    ],
    [
      'a range asked for earlier and not read completely yet',
      [[synced()], null, { requested: [range()] }],
      4,
      RANGE_NOTE,
    ],
    [
      'a range asked for by this run, if nothing else gives a reason',
      [[], null, { requested: [range({ runId: 7 })] }],
      4,
      RANGE_NOTE,
    ],
    [
      'a range asked for by this run that was cut short: only the cause is reported',
      [[], null, { requested: [range({ runId: 7 })] }, [{ exitCode: 4, message: 'the disk is full' }]],
      4,
      'the disk is full',
    ],
    [
      'one merchant’s fault',
      [
        [synced()],
        null,
        {},
        [],
        [{ merchantNo: 'M2', stage: 'publish', exitCode: 70, message: 'it misfits' }],
      ],
      70,
      'M2: publish failed: it misfits',
    ],
    ['settings', [[], null, {}, [{ exitCode: 2, message: 'no such bucket' }]], 2, 'no such bucket'],
  ])('%s', (_, args, exitCode, note) => {
    expect(verdict(...args)).toEqual({ exitCode, notes: [note].flat() });
  });

  test('incomplete comes before what needs a person, and both are reported; figures of all merchants count', () => {
    const sync = [synced({ amended: 1 }), synced({ amended: 2, uncertified: [uncertified] }, 'M2')];
    expect(verdict(sync, null, { newBreaks: 1, requested: [range()] })).toEqual({
      exitCode: 4,
      notes: [
        'M2: the window does not add up',
        RANGE_NOTE,
        '1 new break: see `daybook breaks`',
        '3 entries amended by the platform: see `daybook amendments`',
      ],
    });
  });

  test('a range whose missing days are not over is not reported', () => {
    const standing = { requested: [range({ missing: [], missingDays: [] })] };
    expect(verdict([synced()], null, standing)).toEqual({ exitCode: 0, notes: [] });
  });

  test('every reason for a person says what to do', () => {
    const sync = [synced({ amended: 1, vanished: 1, uncertified: [uncertified] })];
    const standing = {
      ...NOTHING_STANDS,
      newBreaks: 1,
      knownBreaks: 1,
      quarantined: 1,
      requested: [range()],
    };
    const outcome = {
      sync,
      reconcile: null,
      healingReads: [],
      publish: withheld('uncertified'),
      troubles: [],
      busy: [],
    };
    const { reasons } = judge(outcome, standing, { id: 7, failures: [], zone: 'Asia/Shanghai' });
    expect(reasons).toHaveLength(8);
    expect(reasons.filter(({ todo }) => todo === null)).toEqual([]);
  });
});

test('the figures stored with a run are counts, and the merchants whose ledgers were read', () => {
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
    troubles: [],
    busy: [],
    checked: ['frontier'],
    standing: { ...NOTHING_STANDS, newBreaks: 1, knownBreaks: 2, quarantined: 3 },
    reasons: [{ exitCode: 4, what: 'a note', todo: null, merchantNo: 'M2' }],
    notes: ['a note'],
    elapsedMs: 12,
  };
  expect(runFigures(report)).toEqual({
    merchants: ['M1', 'M2'],
    merchantsDone: ['M1'],
    requests: 18,
    windows: 8,
    contradictions: 0,
    uncertified: 1,
    inserted: 960,
    amended: 2,
    vanished: 0,
    returned: 0,
    quarantined: 0,
    unchanged: 0,
    platformBehindMs: 0,
    platformAheadMs: 0,
    backlogDays: [],
    checked: ['frontier'],
    daysChained: 0,
    breaksOpened: 0,
    breaksHealed: 0,
    breaksNew: 1,
    breaksKnown: 2,
    quarantinedOpen: 3,
    notices: 0,
    published: 0,
    revised: 0,
    withheld: 1,
    unlinked: 0,
    repaired: 0,
    unrepaired: 0,
    elapsedMs: 12,
    reasons: [{ exitCode: 4, what: 'a note', todo: null, merchantNo: 'M2' }],
    notes: ['a note'],
  });
  expect(runFigures({ ...report, publish: null })).toMatchObject({ published: 0, revised: 0, withheld: 0 });
  const forAll = {
    ...report,
    reasons: [...report.reasons, { exitCode: 4, what: 'the disk is full', todo: null }] as const,
  };
  expect(runFigures(forAll)).toMatchObject({ merchantsDone: [] });
});

test('the accounts a run did something to are those of the days touched', () => {
  const published = (merchantNo: string, currency: string, day: string) => ({
    account: { merchantNo, currency },
    day,
    revision: 1,
    key: '',
    reason: null,
  });
  const publish = {
    ...withheld('uncertified'),
    published: [published('M2', 'USD', '2026-03-04'), published('M2', 'EUR', '2026-03-02')],
  };
  expect(accountDaysTouched({ reconcile: null, publish })).toMatchObject({
    accounts: { merchants: ['M2', 'M1'], currencies: ['USD', 'EUR'] },
    days: ['2026-03-02', '2026-03-04', '2026-03-05'],
  });
});
