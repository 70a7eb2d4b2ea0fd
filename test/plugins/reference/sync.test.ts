import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createReferenceReader } from '../../../src/plugins/reference/client.ts';
import { listsFor } from '../../../src/plugins/reference/sync.ts';
import { jobs } from '../../../jobs/all.ts';
import { Interrupted } from '../../../src/run/verdict/exit-codes.ts';
import { dueJobs, lastSlot } from '../../../src/run/schedule/due.ts';
import { executeReferenceRun } from '../../../src/plugins/reference/run.ts';
import type { ScenarioInput } from '../../../src/plugins/sandbox/scenario.ts';
import {
  listReferenceItems,
  listReferenceLists,
  referenceCodes,
} from '../../../src/plugins/reference/stored.ts';
import { latestRuns, slotEnds } from '../../../src/store/runs.ts';
import { answer, rejection, outOfScope, transportTo } from '../../platform/stranger.ts';
import { sandbox } from '../sandbox/support.ts';
import { emptyTables, freshDatabase } from '../../support/database.ts';

type Lists = NonNullable<ScenarioInput['reference']>;
const MONDAY = new Date('2026-03-02T03:00:00Z');
const NEXT_MONDAY = new Date('2026-03-09T03:00:00Z');
const CHINESE = [
  { code: 'CN1', name: 'One' },
  { code: 'CN2', name: 'Two' },
];

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());
beforeEach(() => emptyTables(database.db));

/** Runs once against a platform at `url`. */
const runAt = (url: string, more: { now?: Date; countries?: string[]; signal?: AbortSignal } = {}) =>
  executeReferenceRun({
    db: database.db,
    reader: createReferenceReader(transportTo(url, { retriesMax: 1 }).transport),
    countries: more.countries ?? ['CN'],
    now: () => more.now ?? MONDAY,
    signal: more.signal ?? new AbortController().signal,
    holder: 'test:1:-',
    scheduled: { job: 'reference', slot: '2026-03-02 03:00' },
  });
/** Runs once against the sandbox with these lists. */
const runOn = async (reference: Lists, more: Parameters<typeof runAt>[1] = {}) =>
  runAt((await sandbox({ reference })).url, more);
const namesOf = async (kind: string, withRemoved = true) =>
  (await listReferenceItems(database.db, { kind, withRemoved })).map(({ country, code, hasExited }) =>
    [country, code, hasExited ? 'gone' : ''].filter((part) => part !== '').join(' '),
  );

test('reading reference data is a job of its own, due on Mondays until it is done', async () => {
  const schedule = { nightly: '30 1 * * *', resweep: '30 13 * * *', reference: '0 3 * * 1', zone: 'UTC' };
  const scheduled = jobs
    .filter(({ name }) => name === 'reference')
    .map(({ name, when }) => ({ job: name, when: when(schedule)! }));
  const due = async (now: string) => {
    const at = new Date(now);
    const slots = scheduled.map(({ job, when }) => ({ job, slot: lastSlot(when, 'UTC', at) }));
    return dueJobs(slots, at, await slotEnds(database.db, slots, at));
  };
  expect(await due('2026-03-02T03:00:00Z')).toEqual([{ job: 'reference', slot: '2026-03-02 03:00' }]);
  await runOn({});
  expect(await due('2026-03-08T23:59:00Z')).toEqual([]);
  expect(await due('2026-03-09T03:00:00Z')).toEqual([{ job: 'reference', slot: '2026-03-09 03:00' }]);
});

test('there are five lists, two of them per country', () => {
  expect(listsFor(['US', 'CN', 'US']).map(({ kind, country }) => `${kind} ${country}`.trim())).toEqual([
    'bank CN',
    'bank US',
    'occupation',
    'business_nature',
    'purpose',
    'payout_method CN',
    'payout_method US',
  ]);
});

describe('a run', () => {
  test('stores every list, and is recorded as a run of the job', async () => {
    const report = await runOn({ bank: { CN: CHINESE } }, { countries: ['CN', 'HK'] });
    expect(report).toMatchObject({ exitCode: 0, notes: [] });
    expect(await namesOf('bank')).toEqual(['CN CN1', 'CN CN2']);
    expect(await namesOf('payout_method')).toContain('HK SBX_WALLET_2');
    expect(await namesOf('occupation')).toEqual(['01', '02']);
    expect(await namesOf('purpose')).toEqual(['1001', '1002']);
    expect(await latestRuns(database.db, { limit: 5 })).toMatchObject([
      {
        id: report.runId,
        command: 'reference',
        slot: '2026-03-02 03:00',
        exitCode: 0,
        figures: { lists: 7, unread: 0, items: 14, added: 14, gone: 0 },
      },
    ]);
  });

  test('reads the single item ALL as nothing found, never as a bank', async () => {
    const report = await runOn({ bank: {} }, { countries: ['CN', 'XX'] });
    expect(report.exitCode).toBe(0);
    expect(report.lists.find(({ kind, country }) => kind === 'bank' && country === 'XX')).toMatchObject({
      itemCount: 0,
      problem: null,
    });
    expect(await namesOf('bank')).toEqual([]);
    const { rows } = await sql`SELECT 1 FROM reference_item WHERE code = 'ALL0000001'`.execute(database.db);
    expect(rows).toEqual([]);
    expect(await referenceCodes(database.db, { kind: 'bank', country: 'CN' })).toBeNull();
  });

  test('stores OTHER among the natures as a prompt', async () => {
    await runOn({});
    expect(
      (await listReferenceItems(database.db, { kind: 'business_nature' })).map(({ code, isPrompt }) => [
        code,
        isPrompt,
      ]),
    ).toEqual([
      ['101', false],
      ['102', false],
      ['OTHER', true],
    ]);
    expect(await referenceCodes(database.db, { kind: 'business_nature', country: '' })).toEqual([
      '101',
      '102',
    ]);
  });

  test('stores OTHER in another list as an ordinary code', async () => {
    await runOn({ purpose: [{ code: 'OTHER', name: 'Something else' }] });
    expect(await referenceCodes(database.db, { kind: 'purpose', country: '' })).toEqual(['OTHER']);
  });

  test('reports a code that disappeared, for a person, once', async () => {
    await runOn({ bank: { CN: CHINESE } });
    const report = await runOn({ bank: { CN: CHINESE.slice(0, 1) } }, { now: NEXT_MONDAY });
    expect(report).toMatchObject({ exitCode: 3, notes: ['bank of CN: no longer listed: CN2'] });
    expect(await namesOf('bank')).toEqual(['CN CN1', 'CN CN2 gone']);
    const [, gone] = await listReferenceItems(database.db, { kind: 'bank', withRemoved: true });
    expect(gone).toMatchObject({ firstSeenAt: MONDAY, lastSeenAt: MONDAY });
    const again = await runOn({ bank: { CN: CHINESE.slice(0, 1) } }, { now: NEXT_MONDAY });
    expect(again.exitCode).toBe(0);
  });

  test('does not change a list that it could not read, and continues with the others', async () => {
    await runOn({ bank: { CN: CHINESE } });
    const report = await runOn({ bank: { CN: [{ code: 'US1', name: 'Elsewhere' }] } }, { now: NEXT_MONDAY });
    expect(report.exitCode).toBe(4);
    expect(report.notes).toEqual([
      expect.stringContaining(
        'bank of CN: sp2502 for the agent: no item can be read: item 1 is a bank whose code does not begin',
      ),
    ]);
    expect(await namesOf('bank')).toEqual(['CN CN1', 'CN CN2']);
    expect(report.lists.filter(({ problem }) => problem === null)).toHaveLength(4);
  });

  test('sets aside an unusable item with its text, and then counts no code as gone', async () => {
    await runOn({ bank: { CN: CHINESE } });
    const odd = { code: 'CN3', name: '\t' };
    const { url } = await outOfScope((response, { body }) => {
      const isBanks = (JSON.parse(body) as { metaType: string }).metaType === 'bank';
      const metaDataList = isBanks
        ? [CHINESE[0], odd, { name: 'Two' }]
        : [{ code: 'ALL0000001', name: 'ALL' }];
      response.end(JSON.stringify({ metaDataList }));
    });
    const { exitCode, notes } = await runAt(url, { now: NEXT_MONDAY });
    expect([exitCode, notes.filter((note) => note.startsWith('bank'))]).toEqual([
      3,
      [
        'bank of CN: set aside, the rest is read: item 3 has no code; `daybook reference list bank` shows what came',
        'bank of CN: the name of CN3 is empty',
      ],
    ]);
    // CN2 may be the item without a code.
    expect(await namesOf('bank')).toEqual(['CN CN1', 'CN CN2', 'CN CN3']);
    const [banks] = await listReferenceLists(database.db);
    expect(banks).toMatchObject({
      itemCount: 2,
      setAside: [{ place: 3, reason: 'has no code', raw: '{"name":"Two"}' }],
    });
    const { notes: later } = await runOn({ bank: { CN: CHINESE } }, { now: NEXT_MONDAY });
    expect(later).toEqual(['bank of CN: no longer listed: CN3']);
    expect((await listReferenceLists(database.db))[0]).toMatchObject({ setAside: [] });
  });

  test('makes no more calls if the platform is away', async () => {
    const { url, received } = await outOfScope(answer('', 500));
    const report = await runAt(url);
    expect(report.exitCode).toBe(4);
    expect(report.lists.map(({ problem }) => problem?.slice(0, 13))).toEqual([
      'sp2502 for th',
      ...Array<string>(4).fill('not asked for'),
    ]);
    expect(received).toHaveLength(2);
    expect(await latestRuns(database.db, { limit: 1 })).toMatchObject([
      { exitCode: 4, figures: { unread: 5 } },
    ]);
  });

  test('that is stopped ends with the reason, and is recorded as incomplete', async () => {
    const { url } = await sandbox();
    const reason = new Interrupted();
    expect(await rejection(runAt(url, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(await latestRuns(database.db, { limit: 1 })).toMatchObject([{ exitCode: 4 }]);
  });
});
