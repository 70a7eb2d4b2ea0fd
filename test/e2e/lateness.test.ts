/** Entries that come late widen the lookback of their own merchant, as long as they count, and no further than allowed. */
import { sql } from 'kysely';
import { afterEach, describe, expect, test } from 'vitest';
import { runText } from '../../src/cli/output/run-text.ts';
import { StatusText } from '../../src/cli/status.ts';
import { timesOf } from '../../src/cli/output/text.ts';
import { addDays } from '../../src/ledger/business-day.ts';
import { runRanges } from '../../src/run/merchant-ranges.ts';
import { planRun } from '../../src/run/plan.ts';
import type { ExtendedLookback } from '../../src/run/range.ts';
import type { RunReport } from '../../src/run/report.ts';
import { statusOf } from '../../src/run/status.ts';
import { manifestKey } from '../../src/verify/names.ts';
import { parseManifest } from '../../src/verify/manifest.ts';
import { readObject } from '../../src/objects/object-store.ts';
import type { Planted } from '../../src/plugins/sandbox/scenario.ts';
import {
  MERCHANT,
  openStage,
  OTHER,
  scenario,
  storedOf,
  truthOf,
  ZONE,
  type Stage,
} from '../support/stage.ts';

const { merchantNo } = MERCHANT;
const BOTH = [MERCHANT, OTHER];
let stage: Stage;
afterEach(() => stage.close());

const nightOf = (day: string): string => `${day}T01:30:00+08:00`;
const late = (day: string, appears: string, merchant = merchantNo): Planted => ({
  ...{ what: 'late', merchant, currency: 'USD', day, nth: 3, appears },
});

/** All of `from` to the day before `day` is read; a night reads its last two days, and at most `most` more. */
async function open(
  { from, day, planted = [], entriesPerDay = 6 }: Opened,
  settings: { readonly resweepDaysMax: number },
): Promise<void> {
  const merchants = BOTH.map((one) => ({ ...one, currencies: ['USD'] }));
  stage = await openStage({
    scenario: scenario({
      ...{ from, to: '2026-03-25', entriesPerDay, planted, merchants },
      now: nightOf(day),
    }),
    settings: { resweepDays: 1, ...settings },
  });
  await stage.run({ range: { from, to: addDays(day, -1) }, merchants: BOTH });
}
interface Opened {
  readonly from: string;
  readonly day: string;
  readonly planted?: Planted[];
  readonly entriesPerDay?: number;
}

async function night(day: string): Promise<RunReport> {
  stage.setNow(nightOf(day));
  return stage.run({ range: null, merchants: BOTH });
}
const sweeps = ({ sync }: Pick<RunReport, 'sync'>): Record<string, [string, ExtendedLookback | undefined]> =>
  Object.fromEntries(sync.map(({ merchantNo: no, from, widerSweep }) => [no, [from, widerSweep]]));
const status = async (day: string) =>
  (
    await statusOf(stage.app.database.db, [merchantNo], {
      zone: ZONE,
      now: new Date(nightOf(day)),
      maxAgeMs: null,
    })
  )[0]!;

describe('an entry that came nine days late', () => {
  const planted = [late('2026-03-04', '2026-03-12T12:00:00+08:00')];
  const found = { days: 8, asked: 8, lateness: { atLeast: expect.any(Number) as number, atMost: 9 } };

  test('has the nights after it read as far back, of this merchant alone, in a plan as well, until it no longer counts', async () => {
    await open({ from: '2026-03-02', day: '2026-03-10', planted }, { resweepDaysMax: 31 });
    expect(sweeps(await night('2026-03-12'))).toEqual({
      [merchantNo]: ['2026-03-10', undefined],
      [OTHER.merchantNo]: ['2026-03-10', undefined],
    });
    await night('2026-03-13');

    stage.setNow(nightOf('2026-03-14'));
    const planned = await planRun({ range: null, merchants: BOTH, currencies: null }, stage.deps());
    const wider = {
      [merchantNo]: ['2026-03-05', found],
      [OTHER.merchantNo]: ['2026-03-12', undefined],
    };
    expect(sweeps(planned)).toEqual(wider);
    const widened = await night('2026-03-14');
    expect([widened.exitCode, sweeps(widened)]).toEqual([0, wider]);
    // Nine days and this one in one page, the comparison of older days, and two calls that prove the zone.
    expect(widened.sync[0]!.report.requests).toBeLessThanOrEqual(4);
    expect(runText(widened, { days: [], location: 'here', zone: ZONE })).toContain(
      `lookback extended, as entries come late: ${merchantNo} 8 days (99 % of its late entries came within 9 days)`,
    );
    const text = new StatusText({
      ...{ times: timesOf(stage.app.settings), merchants: 1, maxAge: undefined, all: false },
    });
    text.add([await status('2026-03-14')]);
    expect(text.toString()).toContain(
      `entries that came late, in the last 13 months:\n  ${merchantNo} 1 late entry (0 entries observed): half came within 9 days, ` +
        '99 % within 9 days, the latest within 9 days. Not yet known when a day can be treated as final.',
    );
    const asked = await stage.run({ range: { from: '2026-03-12', to: '2026-03-13' }, merchants: BOTH });
    expect(sweeps(asked)[merchantNo]).toEqual(['2026-03-12', undefined]);
    expect((await status('2026-03-14')).lateness).toMatchObject({
      ...{ lateEntries: 1, median: found.lateness, p99: found.lateness, worst: found.lateness, final: null },
    });

    const rangeOn = async (day: string) => {
      const now = () => new Date(nightOf(day));
      const { ranges } = await runRanges({ merchants: [MERCHANT], range: null }, { ...stage.deps(), now });
      return ranges.get(merchantNo)!.widerSweep;
    };
    expect(await rangeOn('2027-04-30')).toEqual(found);
    expect(await rangeOn('2027-05-01')).toBeNull();
  });

  test(
    'widens no further than a setting allows, and to no day that was never read',
    { tags: ['long'] },
    async () => {
      await open({ from: '2026-03-02', day: '2026-03-10', planted }, { resweepDaysMax: 4 });
      await night('2026-03-13');
      expect(sweeps(await night('2026-03-14'))[merchantNo]).toEqual(['2026-03-09', { ...found, days: 4 }]);
      const days = await runRanges(
        { merchants: [MERCHANT], range: null },
        { ...stage.deps({ resweepDaysMax: 366 }), now: () => new Date(nightOf('2026-03-09')) },
      );
      expect(days.from).toBe('2026-03-02');
    },
  );

  test(
    'does not widen where a setting allows no more than the days read anyway',
    { tags: ['long'] },
    async () => {
      await open({ from: '2026-03-02', day: '2026-03-10', planted }, { resweepDaysMax: 0 });
      await night('2026-03-13');
      expect(sweeps(await night('2026-03-14'))[merchantNo]).toEqual(['2026-03-12', undefined]);
    },
  );
});

describe('at a month end', () => {
  const history = { from: '2026-01-30', day: '2026-03-10', entriesPerDay: 15 };
  const watched = () =>
    stage.app.database.db
      .selectFrom('lateness_count')
      .select(['merchant_no', 'month', 'entries', 'sampled_on'])
      .where('days_max', '=', 0)
      .orderBy('merchant_no')
      .execute();
  const callsToCompare = ({ sync }: RunReport): number => {
    const { olderDays } = sync[0]!;
    return olderDays?.kind === 'checked' ? olderDays.check.requests : 0;
  };
  const of = (day: string) =>
    stage.sandbox.entriesOf(merchantNo).filter(({ busiDate }) => busiDate.startsWith(day));

  test('the month is compared by its own total, by one call more; then it is watched, and its entries are counted once', async () => {
    await open(history, { resweepDaysMax: 1 });
    // As if each day had been read on the day after it.
    await sql`UPDATE ledger_entry SET first_seen_at = first_seen_at + (booked_at::date + interval '25.5 hours'
      - booked_at - (first_seen_at - to_timestamp(booked_ms / 1000.0)))`.execute(stage.app.database.db);
    const first = await night('2026-03-10');
    expect([first.exitCode, callsToCompare(first)]).toEqual([0, 2]);
    const february = { month: '2026-02-01', entries: 28 * 15, sampled_on: '2026-03-10' };
    expect(await watched()).toEqual([
      { merchant_no: merchantNo, ...february },
      { merchant_no: OTHER.merchantNo, ...february },
    ]);
    expect(callsToCompare(await night('2026-03-10'))).toBe(1);
    expect((await status('2026-03-10')).lateness).toMatchObject({
      watchedEntries: 28 * 15,
      lateEntries: 0,
      final: null,
    });
  });

  test(
    'entries that a backfill brought, or a reading after a downtime, say nothing of lateness',
    { tags: ['long'] },
    async () => {
      await open({ ...history, from: '2025-12-30', entriesPerDay: 120 }, { resweepDaysMax: 1 });
      await night('2026-03-10');
      expect((await watched()).map(({ month, entries }) => [month, entries])).toEqual(
        BOTH.flatMap(() => [
          ['2026-01-01', 0],
          ['2026-02-01', 0],
        ]),
      );
      expect((await status('2026-03-10')).lateness).toMatchObject({ watchedEntries: 0, final: null });
    },
  );

  /** An entry goes and another one comes, so that the total of all older days stays as it was. */
  const openWithExchange = async () => {
    const hidden = late('2026-03-03', '2026-03-11T20:00:00+08:00');
    await open({ ...history, planted: [hidden] }, { resweepDaysMax: 1 });
  };
  const exchange = () => {
    stage.sandbox.takeOut(merchantNo, of('2026-02-27')[4]!.batchNo);
  };

  test(
    'an exchange of entries between months is followed down to the day, which is read again whole',
    { tags: ['long'] },
    async () => {
      await openWithExchange();
      exchange();
      const { sync, notes, exitCode } = await night('2026-03-12');
      expect(exitCode).toBe(3);
      expect(sync[0]!.olderDays).toMatchObject({
        check: { total: expect.any(Number), differing: ['2026-02-27'] },
      });
      expect(notes.join('\n')).toContain(
        `2026-02-27 was read again, as the platform's total of 2026-02-01 to 2026-02-28 is ${28 * 15 - 1} where ${28 * 15} are stored: 1 vanished`,
      );
      expect((await watched()).map((row) => row.merchant_no)).toEqual([OTHER.merchantNo]);
      await night('2026-03-13');
      expect((await watched()).map((row) => row.merchant_no)).toEqual([merchantNo, OTHER.merchantNo]);
      const over = ({ booked_at: bookedAt }: { booked_at: string }) => bookedAt < '2026-03-13';
      expect((await storedOf(stage)).filter(over)).toEqual(truthOf(stage).filter(over));
    },
  );

  test('on another night it is not seen before its page comes', { tags: ['long'] }, async () => {
    await openWithExchange();
    await night('2026-03-11');
    expect(await watched()).toHaveLength(2);
    exchange();
    expect((await night('2026-03-12')).sync[0]!.olderDays).toMatchObject({ check: { differing: [] } });
  });

  test('a history with a gap is compared on both sides of it', { tags: ['long'] }, async () => {
    await open(history, { resweepDaysMax: 1 });
    const [at] = of('2026-01-31');
    // An unreadable entry without a number: no one can say how many entries its day has.
    await sql`
      INSERT INTO quarantined_entry (merchant_no, raw, reason, fingerprint, span, first_seen_at)
      VALUES (${merchantNo}, '{}', 'no batchNo', 'f', int8range(${at!.bookedMs}, ${at!.bookedMs}, '[]')::int8multirange,
        ${new Date(nightOf('2026-03-10'))})`.execute(stage.app.database.db);
    stage.sandbox.takeOut(merchantNo, of('2026-01-30')[4]!.batchNo);
    const { sync } = await night('2026-03-10');
    expect(sync[0]!.olderDays).toMatchObject({
      check: {
        ...{ from: '2026-02-01', differing: ['2026-01-30'] },
        alsoDiffering: [{ from: '2026-01-30', to: '2026-01-30', total: 14, stored: 15 }],
      },
      again: { vanished: 1 },
    });
  });
});

describe('the manifest', () => {
  const day = '2026-03-09';
  const manifest = async (of: string) =>
    parseManifest((await readObject(stage.app.objects, manifestKey(merchantNo, of)))!.toString())!;
  const watch = (entries: number) =>
    stage.app.database.db
      .insertInto('lateness_count')
      .values({
        merchant_no: merchantNo,
        month: '2026-01-01',
        days_min: 0,
        days_max: 0,
        entries,
        sampled_on: '2026-03-09',
      })
      .onConflict((conflict) =>
        conflict.columns(['merchant_no', 'month', 'days_min', 'days_max']).doUpdateSet({ entries }),
      )
      .execute();

  test(
    'says by when a day is final, once enough was measured, and gets no new revision when the measure moves',
    { tags: ['long'] },
    async () => {
      await open({ from: '2026-03-02', day: '2026-03-09' }, { resweepDaysMax: 1 });
      expect(await manifest('2026-03-08')).not.toHaveProperty('final');
      await watch(3_000);
      expect(await night('2026-03-10')).toMatchObject({ exitCode: 0 });
      const final = {
        share: 0.999,
        confidence: 0.95,
        by: '2026-03-10',
        watchedEntries: 3_000,
        laterEntries: 0,
      };
      expect(await manifest(day)).toMatchObject({ revision: 1, final });
      expect(await manifest('2026-03-08')).toMatchObject({ revision: 1 });
      expect(await manifest('2026-03-08')).not.toHaveProperty('final');
      await watch(9_000);
      await stage.app.database.db.updateTable('account_day').set({ published_version: 0 }).execute();
      const next = await night('2026-03-11');
      expect(next.publish!.published.map((one) => one.day)).toEqual(['2026-03-10', '2026-03-10']);
      expect(await manifest(day)).toMatchObject({ revision: 1, final });
      await stage.run({ range: { from: '2026-03-02', to: '2026-03-10' }, merchants: BOTH, repairs: true });
      expect(await manifest(day)).toMatchObject({ revision: 1, final });
      expect(await manifest('2026-03-10')).toMatchObject({
        final: { by: '2026-03-11', watchedEntries: 9_000 },
      });
    },
  );
});
