/** Days that a person asked for stay open until they are proven, however their run ended. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { planRun } from '../../src/run/plan.ts';
import { statusOf } from '../../src/run/status.ts';
import { closeRequests } from '../../src/store/requests.ts';
import {
  footprints,
  MERCHANT,
  objectsOf,
  openStage,
  publishedIn,
  scenario,
  storedOf,
  truthOf,
  ZONE,
  type Stage,
} from '../support/stage.ts';

const { merchantNo } = MERCHANT;
/** Long enough to be half read: the calls that prove the time zone come first. */
const LONG = { from: '2025-11-10', to: '2025-12-20' };
const OLD = { from: '2025-12-07', to: '2025-12-20' };
let stage: Stage;
const openWith = async (entriesPerDay: number, concurrency = 8) => {
  const usd = { ...MERCHANT, currencies: ['USD'] };
  stage = await openStage({
    scenario: scenario({ from: LONG.from, entriesPerDay, merchants: [usd] }),
    platform: { concurrency },
  });
  // The nightly history is months later than the days that are asked for below.
  expect(await nightly()).toMatchObject({ exitCode: 0 });
};
/** So many entries that a long range is read in several windows, most of the oldest before the next. */
const reopenBusy = async () => {
  await stage.close();
  await openWith(110, 2);
};
beforeEach(() => openWith(2));
afterEach(() => stage.close());

const nightly = () => stage.run({ range: null }, { resweepDays: 1 });
/** The ranges that were asked for. The first is the merchant's first night. */
const ranges = () =>
  stage.app.database.db
    .selectFrom('request')
    .selectAll()
    .where('asked_by', '=', 'run')
    .where('run_id', '>', 1)
    .orderBy('number')
    .execute();
const status = async () => {
  const [row] = await statusOf(stage.app.database.db, [merchantNo], {
    zone: ZONE,
    now: stage.app.now(),
    maxAgeMs: null,
  });
  return row!;
};
/** A run that is cut short: before it writes a row, or with enough `requests` after some days. */
const cutShort = async (request: Parameters<Stage['run']>[0] = {}, requests = 1) => {
  stage.sandbox.setHostility({ downAfterRequests: requests });
  expect(await stage.run({ range: OLD, ...request })).toMatchObject({ exitCode: 4 });
  stage.sandbox.setHostility({});
};

describe('a range that was not completely read', () => {
  test(
    'is shown with its missing days only, not the months between, and the next night reads it',
    { tags: ['long'] },
    async () => {
      await reopenBusy();
      await cutShort({ range: LONG }, 38);
      const before = await status();
      expect(before.requested).toMatchObject([{ ...LONG, runId: 2 }]);
      const [range] = before.requested;
      expect(range!.missing.length).toBeGreaterThan(0);
      expect((await storedOf(stage)).filter(({ booked_at: at }) => at < '2026').length).toBeGreaterThan(0);
      expect(before.missing).toContainEqual(
        expect.objectContaining({ why: expect.stringMatching(/^asked for .*range 2/) }),
      );
      const night = await nightly();
      // These days follow months that were never read. They open as their own first entry shows, and the manifest says
      // so.
      expect(night).toMatchObject({ exitCode: 3, from: '2026-03-04', to: '2026-03-05' });
      for (const note of night.notes)
        expect(note).toMatch(
          /because some days after 2025-12-20 were not read completely: run `daybook run --from 2025-12-21 --to 2026-03-03`$/,
        );
      expect(night.sync[0]!.backlogDays.at(-1)!.to <= LONG.to).toBe(true);
      expect(await ranges()).toMatchObject([{ state: 'ended', finished_at: stage.app.now() }]);
      expect(await status()).toMatchObject({ requested: [], missing: [] });
      const stored = await storedOf(stage);
      const asked = truthOf(stage).filter(
        ({ booked_at: at }) => at.slice(0, 10) <= LONG.to || at.slice(0, 10) >= '2026-03-04',
      );
      expect(stored).toEqual(asked);
      // The months between were never asked for, and are not read.
      expect(await nightly()).toMatchObject({ exitCode: 0, from: '2026-03-04' });
    },
  );

  test('keeps a run of other days from being green', async () => {
    await cutShort();
    const other = await stage.run({ range: { from: '2026-03-05', to: '2026-03-05' } });
    expect(other.exitCode).toBe(4);
    expect(other.notes).toEqual([
      expect.stringMatching(/^SBX-M-1: 2025-12-07 to 2025-12-20 was asked for \(range 2\).*missing/),
    ]);
    // A publish reads nothing, and does not mention the range.
    expect(await stage.run({ command: 'publish', range: null })).toMatchObject({ exitCode: 0 });
  });

  test(
    'whose platform contradicted itself is open again, though earlier runs had proven it',
    { tags: ['long'] },
    async () => {
      const entries = stage.sandbox
        .entriesOf(merchantNo)
        .filter(({ busiDate }) => busiDate >= OLD.from && busiDate < '2025-12-21');
      const [stored, late] = [entries[1]!.batchNo, entries.at(-1)!.batchNo];
      stage.sandbox.takeOut(merchantNo, late);
      await stage.run({ range: OLD });
      expect(await status()).toMatchObject({ requested: [], missing: [] });
      stage.sandbox.putBack(merchantNo, late);
      const published = await objectsOf(stage);

      // All days together lack a stored entry and show a late one; asked for in parts, it is the other way round.
      const { reader } = stage.app;
      const run = await stage.run(
        { range: OLD },
        {
          reader: {
            page: async (query, signal) => {
              const page = await reader.page(query, signal);
              const isWide = query.window.endMs - query.window.beginMs >= 14 * 86_400_000 - 1_000;
              const shown = page.entries.filter(({ batchNo }) => batchNo !== (isWide ? stored : late));
              return { ...page, entries: shown, total: page.total - page.entries.length + shown.length };
            },
          },
        },
      );
      expect(run).toMatchObject({ exitCode: 4, publish: { published: [] } });
      expect(await objectsOf(stage)).toEqual(published);
      expect((await ranges()).map(({ finished_at: at }) => at)).toEqual([stage.app.now(), null]);
      expect((await status()).missing).toContainEqual(
        expect.objectContaining({ why: expect.stringContaining(`showed shortly before, such as ${late}`) }),
      );

      const night = await nightly();
      expect(night.sync[0]).toMatchObject({
        backlogDays: [{ from: OLD.to, to: OLD.to }],
        report: { inserted: 1, uncertified: [] },
      });
      expect(publishedIn(night)).toContain(`USD ${OLD.to} r2`);
      expect(await status()).toMatchObject({ requested: [], missing: [] });
      expect((await storedOf(stage)).map(({ batch_no: batchNo }) => batchNo)).toContain(late);
    },
  );

  test('is closed by any run that certifies it', async () => {
    await cutShort();
    await stage.run({ range: { from: '2025-12-06', to: '2025-12-22' } });
    expect((await ranges()).map(({ finished_at: at }) => at)).toEqual([stage.app.now(), stage.app.now()]);
  });

  test('that is asked for twice is open once; given up, it is neither shown nor read', async () => {
    await cutShort();
    await cutShort();
    const [one, ...others] = await ranges();
    expect(others).toEqual([]);
    const { db } = stage.app.database;
    const giveUp = () =>
      closeRequests(db, [one!.number], { askedBy: 'run', state: 'cancelled', now: stage.app.now() });
    expect(await giveUp()).toBe(1);
    expect(await giveUp()).toBe(0);
    expect(await status()).toMatchObject({ requested: [], missing: [] });
    const night = await nightly();
    expect(night).toMatchObject({ exitCode: 0, sync: [{ backlogDays: [] }] });
  });

  test('up to today is closed once today is over', async () => {
    const today = { from: '2026-03-05', to: '2026-03-06' };
    expect(await stage.run({ range: today })).toMatchObject({ exitCode: 0 });
    expect(await status()).toMatchObject({ requested: [{ ...today, missing: [] }], missing: [] });
    stage.setNow('2026-03-07T01:30:00+08:00');
    expect(await nightly()).toMatchObject({ exitCode: 0 });
    expect(await status()).toMatchObject({ requested: [], provenThrough: '2026-03-06' });
  });

  test('a plan records no range, and reads the same as the night would', async () => {
    await cutShort();
    const tables = ['request', 'run', 'certificate'];
    const before = await footprints(stage, tables);
    const deps = () => stage.deps({ resweepDays: 1 });
    await planRun(
      { range: { from: '2026-01-01', to: '2026-01-02' }, merchants: [MERCHANT], currencies: null },
      deps(),
    );
    const plan = await planRun({ range: null, merchants: [MERCHANT], currencies: null }, deps());
    expect(await footprints(stage, tables)).toEqual(before);
    expect(plan.sync).toEqual((await nightly()).sync);
  });
});

describe('the days shown as proven', () => {
  test('do not extend over a range that is only half read', { tags: ['long'] }, async () => {
    await reopenBusy();
    const early = await status();
    expect(early).toMatchObject({ provenFrom: '2026-03-04', provenThrough: '2026-03-05' });
    await stage.run({ range: { from: '2026-02-01', to: '2026-02-20' } });
    // So little is read that the missing part is longer than the longest gap that counts as one history.
    stage.sandbox.setHostility({ downAfterRequests: 38 });
    const report = await stage.run({ range: { from: LONG.from, to: '2026-01-31' } });
    stage.sandbox.setHostility({});
    expect(report.standing.proven).toEqual([
      { merchantNo, provenFrom: LONG.from, provenThrough: (await status()).provenThrough },
    ]);
    expect((await status()).provenThrough! < '2026-01-31').toBe(true);
    expect(await nightly()).toMatchObject({ exitCode: 0 });
    expect(await status()).toMatchObject({ provenFrom: LONG.from, provenThrough: '2026-03-05' });
  });
});

test(
  'the first night of a merchant, if not completely read, is completed by the next one',
  { tags: ['long'] },
  async () => {
    const first = await openStage({ scenario: scenario({ from: OLD.from, entriesPerDay: 2 }) });
    try {
      const night = (now: string) => first.run({ range: null }, { resweepDays: 0, now: () => new Date(now) });
      first.sandbox.setHostility({ downAfterRequests: 0 });
      expect(await night('2026-03-02T09:00:00Z')).toMatchObject({ exitCode: 4 });
      first.sandbox.setHostility({});
      const { sync, exitCode } = await night('2026-03-03T09:00:00Z');
      expect(exitCode).toBe(0);
      expect(sync[0]!.backlogDays).toEqual([{ from: '2026-03-01', to: '2026-03-01' }]);
      const { db } = first.app.database;
      // The later night is complete, and proof begins with the earlier one. No further range is recorded.
      const asked = db
        .selectFrom('request')
        .select(['from_day', 'finished_at'])
        .where('asked_by', '=', 'run');
      expect(await asked.orderBy('number').execute()).toEqual([
        { from_day: '2026-03-01', finished_at: new Date('2026-03-03T09:00:00Z') },
        { from_day: '2026-03-02', finished_at: new Date('2026-03-03T09:00:00Z') },
      ]);
      expect((await storedOf(first)).map(({ booked_at: at }) => at.slice(0, 10))).toContain('2026-03-01');
    } finally {
      await first.close();
    }
  },
);
