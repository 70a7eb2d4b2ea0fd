import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { EVERY_ACCOUNT } from '../../src/ledger/account-filter.ts';
import type { Check } from '../../src/ledger/checks.ts';
import { addDays, dayOf, dayWindow } from '../../src/ledger/business-day.ts';
import { knownAhead } from '../../src/run/known-ahead.ts';
import { frontierWindows } from '../../src/run/stages/sync-stage.ts';
import { listAccountDays } from '../../src/store/account-days.ts';
import { executeRun } from '../../src/run/run.ts';
import { statementsOfDay } from '../../src/store/statements/statements.ts';
import { balanced, type Booking } from '../catch-rate/books.ts';
import { callsANight } from '../catch-rate/calls.ts';
import { OWN } from '../catch-rate/form.ts';
import { playSteps, type Product, type Seen } from '../catch-rate/play.ts';
import type { Lies } from '../catch-rate/platform.ts';
import { drawHistory, type Drawn } from '../catch-rate/scene.ts';
import { openRig, type Rig } from '../simulation/rig.ts';

const MINUTE_MS = 60_000;
const TIMEOUT_MS = 120_000;
let rig: Rig;
beforeAll(async () => {
  rig = await openRig(inject('postgresUrl'));
});
afterAll(() => rig.close());

const checking =
  (...checks: readonly Check[]): Product =>
  (request, deps) =>
    executeRun(request, { ...deps, checks });

describe('what is read of today', () => {
  const zone = 'Asia/Shanghai';
  const { beginMs } = dayWindow('2026-05-20', zone);
  const windowsAt = async (
    minutes: number,
    more: { checks?: readonly Check[]; range?: null | 'asked' } = {},
  ) => {
    const known = await knownAhead(rig.db, OWN, '2026-05-20');
    const windows = frontierWindows(
      { range: more.range === 'asked' ? { from: '2026-05-19', to: '2026-05-19' } : null },
      {
        zone,
        settleDelayMs: 5 * MINUTE_MS,
        now: () => new Date(beginMs + minutes * MINUTE_MS),
        ...(more.checks === undefined ? {} : { checks: more.checks }),
      },
      known.busiestDay,
    );
    return windows.map((window) => [
      (window.beginMs - beginMs) / MINUTE_MS,
      (window.endMs + 1 - beginMs) / MINUTE_MS,
    ]);
  };
  /** The figures of a day with that many entries. */
  const busyDay = (day: string, entries: number) =>
    rig.db
      .insertInto('account_day')
      .values({
        merchant_no: OWN,
        currency: 'USD',
        day,
        opening: '0',
        credit_total: String(entries),
        credit_count: entries,
        debit_total: '0',
        debit_count: 0,
        closing: String(entries),
        verdict: 'continuous',
      })
      .execute();
  beforeEach(() => rig.empty());

  test('at night it is all that has settled, even if the platform’s clock is ten minutes behind', async () => {
    expect(await windowsAt(90)).toEqual([[0, 75]]);
    expect(await windowsAt(16)).toEqual([[0, 1]]);
    expect(await windowsAt(15)).toEqual([]);
  });

  test('at midday it is the time that one page covered on the busiest recent day, and at least two hours', async () => {
    expect(await windowsAt(13 * 60)).toEqual([[0, 13 * 60 - 15]]);
    await busyDay('2026-05-12', 90_000);
    expect(await windowsAt(13 * 60)).toEqual([[0, 13 * 60 - 15]]);
    await busyDay('2026-05-14', 400);
    await busyDay('2026-05-19', 7);
    expect(await windowsAt(13 * 60)).toEqual([[0, 6 * 60]]);
    await busyDay('2026-05-18', 9_000);
    expect(await windowsAt(13 * 60)).toEqual([[0, 120]]);
  });

  test('a run with dates reads nothing of today, and the check can be switched off', async () => {
    expect(await windowsAt(90, { range: 'asked' })).toEqual([]);
    expect(await windowsAt(90, { checks: ['wide', 'zone'] })).toEqual([]);
    expect(await windowsAt(90, { checks: ['frontier'] })).toEqual([[0, 75]]);
  });
});

test(
  'a night costs at most one call more, which is below two percent if a day has many pages',
  { timeout: TIMEOUT_MS, tags: ['long'] },
  async () => {
    const calls = async (pages: number, ...checks: readonly Check[]) =>
      (await callsANight(rig, pages, checking(...checks))).calls;
    expect(await calls(1)).toBe(6);
    expect(await calls(1, 'frontier')).toBe(6);
    const many = await calls(20);
    expect((await calls(20, 'frontier')) / many).toBeLessThan(1.02);
  },
);

describe('a last entry that is not shown', () => {
  /** A ledger in which each account has an entry twenty minutes after midnight each day. */
  const earlyLedger = (seed: string): Drawn => {
    const drawn = drawHistory({ zone: 'Europe/Berlin', firstDay: '2026-05-11', currencies: 1 }, seed);
    const { scene } = drawn;
    const early = scene.days.map((day, index): Booking => {
      const atMs = dayWindow(day, scene.zone).beginMs + 20 * MINUTE_MS;
      const currency = scene.currencies[0]!;
      return {
        batchNo: `A0${index}`,
        currency,
        type: 'T1',
        net: 900_000 + index,
        balance: 0,
        atMs,
        stampMs: atMs,
      };
    });
    const kept = scene.books.filter(
      ({ atMs }) => !early.some((one) => Math.abs(one.atMs - atMs) < MINUTE_MS),
    );
    const books = balanced([...kept, ...early]);
    return { ...drawn, scene: { ...scene, books }, booksOf: () => books };
  };
  const lastOf = ({ scene }: Drawn): Booking =>
    scene.books.findLast(({ stampMs }) => dayOf(stampMs, scene.zone) === scene.target)!;
  const hidden = ({ batchNo }: Booking, until: number): Lies => ({
    lines: (lines, { since }) =>
      since >= 0 && since < until ? lines.filter((line) => line.batchNo !== batchNo) : lines,
  });
  const played = (drawn: Drawn, lies: Lies, product: Product): Promise<Seen[]> =>
    playSteps(rig, drawn, { lies }, { product });
  const statementsOf = async ({ scene }: Drawn) =>
    (await statementsOfDay(rig.db, OWN, scene.target)).map((row) => [
      row.revision,
      row.verdict,
      row.break_count,
      row.breaks_after,
    ]);

  test('breaks its day in the same night, before the day is published', { timeout: TIMEOUT_MS }, async () => {
    const drawn = earlyLedger('for good');
    const steps = { ...drawn, steps: drawn.steps.filter(({ since }) => since <= 0) };
    const seen = await played(steps, hidden(lastOf(drawn), 99), checking('frontier'));
    const night = seen.at(-1)!;
    expect(seen.map(({ exitCode }) => exitCode)).toEqual([0, 3]);
    expect(night.wrongAsContinuous).toEqual([]);
    expect(night.report!.reasons.map(({ what }) => what)).toEqual(['1 new break: see `daybook breaks`']);
    expect(await statementsOf(drawn)).toEqual([[1, 'broken', 1, 1]]);
    const { scene } = drawn;
    const { target } = scene;
    const days = (await listAccountDays(rig.db, { ...EVERY_ACCOUNT, fromDay: target })).map(
      ({ day, verdict }) => [day, verdict],
    );
    expect(days).toEqual([
      [target, 'broken'],
      [addDays(target, 1), 'broken'],
    ]);
    // Today is no complete day. It is not published, withheld or missing, and the proof ends before the break.
    expect(night.report!.publish).toMatchObject({ withheld: [], unlinked: [] });
    expect(night.report!.standing.proven).toMatchObject([{ provenThrough: addDays(target, -1) }]);
    expect(night.report!.checked).toEqual(['frontier']);
  });

  test('is not noticed without the check', { timeout: TIMEOUT_MS }, async () => {
    const drawn = earlyLedger('for good');
    const steps = { ...drawn, steps: drawn.steps.filter(({ since }) => since <= 0) };
    const seen = await played(steps, hidden(lastOf(drawn), 99), checking());
    expect(seen.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    expect(await statementsOf(drawn)).toEqual([[1, 'continuous', 0, 0]]);
    expect(seen.at(-1)!.report!.checked).toEqual([]);
  });

  test('heals when it comes, and the revised day is reported once', { timeout: TIMEOUT_MS }, async () => {
    const drawn = earlyLedger('one night');
    const { scene } = drawn;
    const seen = await played(drawn, hidden(lastOf(drawn), 1), checking('frontier'));
    expect(seen.map(({ step, exitCode }) => [step.name, exitCode])).toEqual([
      ['first reading', 0],
      ['night', 3],
      ['midday', 3],
      ['night', 0],
      ['night', 0],
    ]);
    expect(seen[2]!.report!.reasons.map(({ what }) => what)).toEqual([
      `1 published day was revised: ${OWN} ${scene.currencies[0]!} ${scene.target} from r1 to r2 ` +
        `(1 late entry (${lastOf(drawn).batchNo}), 1 break healed between it and the next entry, ` +
        `r1 held ${scene.books.filter(({ stampMs }) => dayOf(stampMs, scene.zone) === scene.target).length - 1} where ` +
        `${scene.books.filter(({ stampMs }) => dayOf(stampMs, scene.zone) === scene.target).length} were due)`,
    ]);
    expect(await statementsOf(drawn)).toEqual([
      [1, 'broken', 1, 1],
      [2, 'continuous', 0, 0],
    ]);
  });
});
