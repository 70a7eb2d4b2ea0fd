/** A platform that changes the time zone of one ledger: that merchant is named and left as it was, and others go on. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import { daybook, type Ended, type Env } from '../cli/daybook.ts';
import { addMerchants, callerOf, openPlainHome, withKeys } from '../cli/plain-home.ts';
import { entriesOfAmounts, PLAIN_ZONE, type WireEntry } from '../support/plain-platform.ts';

const FIRST = '2026-03-01';
const DAYS = Array.from({ length: 12 }, (_, nth) => addDays(FIRST, nth));
const TIMES = ['03:10:05', '09:20:15', '12:30:25', '17:40:35'];

let env: Env;
let close: () => Promise<void>;
/** By merchant, how many minutes its timestamps are off from the zone in the settings, from an instant on. */
let off: Map<string, { readonly minutes: number; readonly fromMs: number; readonly filtersAlike?: true }>;
let nowMs = 0;

const entriesOf = (merchantNo: string): WireEntry[] => {
  const { minutes, fromMs, filtersAlike = false } = off.get(merchantNo) ?? { minutes: 0, fromMs: 0 };
  return entriesOfAmounts(
    'USD',
    DAYS.flatMap((day) =>
      TIMES.map((time, nth) => [`${merchantNo}${day}-${nth}`, `${day} ${time}`, 1_000 + nth] as const),
    ),
  )
    .filter(({ atMs }) => atMs <= nowMs)
    .map((entry) => {
      const writtenMs = entry.atMs + 8 * 3_600_000 + minutes * 60_000;
      const busiDate = new Date(writtenMs).toISOString().slice(0, 19).replace('T', ' ');
      const atMs = filtersAlike ? entry.atMs + minutes * 60_000 : entry.atMs;
      return entry.atMs < fromMs ? entry : { ...entry, busiDate, atMs };
    });
};

beforeEach(async () => {
  off = new Map();
  const home = await openPlainHome(withKeys());
  home.platform.entriesOf = (call) => entriesOf(callerOf(call));
  ({ env, close } = home);
});
afterEach(() => close());

const add = (...merchants: string[]): Promise<void> => addMerchants(env, merchants);
/** The night after `day`. */
const night = (day: string, args: readonly string[] = []): Promise<Ended> => {
  nowMs = Date.parse(`${day}T01:30:00+08:00`) + 24 * 3_600_000;
  return daybook(['run', ...args], {
    ...env,
    DAYBOOK_MERCHANTS_AT_ONCE: '1',
    DAYBOOK_NOW: new Date(nowMs).toISOString(),
  });
};
const statements = async (): Promise<string[]> => {
  const { stdout } = await daybook(['statements', 'list', '--json'], env);
  const rows = JSON.parse(stdout) as { merchant_no: string; day: string; revision: number }[];
  return rows.map((row) => `${row.merchant_no} ${row.day} r${row.revision}`).sort();
};
const startOf = (day: string): number => Date.parse(`${day}T00:00:00+08:00`);

// A is read before B, so that its proof is there already.
test.each([
  ['all timestamps', 'B', -480, FIRST],
  ['the new ones, an hour ahead', 'B', 60, '2026-03-05'],
  ['the new ones, of the merchant that is read first', 'A', 60, '2026-03-05'],
])(
  '%s of %s change: it is named, nothing of it follows, and the other goes on',
  async (_, changed, minutes, from) => {
    const other = changed === 'A' ? 'B' : 'A';
    await add('A', 'B');
    expect(await night('2026-03-04', ['--from', FIRST, '--to', '2026-03-04'])).toMatchObject({ code: 0 });
    const before = await statements();
    off.set(changed, { minutes, fromMs: startOf(from) });
    const { code, stdout } = await night('2026-03-05');
    expect([code, stdout]).toEqual([
      4,
      expect.stringContaining(`${changed}: the platform changed the time zone`),
    ]);
    expect(stdout).toContain(
      `PLATFORM_TIME_ZONE is ${PLAIN_ZONE}, and was right up to entry ${changed}2026-03-04-3`,
    );
    expect(stdout).not.toContain('set PLATFORM_TIME_ZONE');
    expect(await statements()).toEqual([...before, `${other} 2026-03-05 r1`].sort());
    off.clear();
    expect(await night('2026-03-06')).toMatchObject({ code: 0 });
    expect(await statements()).toEqual(
      ['A', 'B'].flatMap((one) => DAYS.slice(0, 6).map((day) => `${one} ${day} r1`)),
    );
  },
);

test.each([
  ['an hour later', 60],
  ['half an hour earlier', -30],
  ['a day earlier', -1_440],
])(
  'a ledger whose timestamps and filters moved %s together is left as it was, until a person answers for the new zone',
  async (_, minutes) => {
    await add('A', 'B');
    expect(await night('2026-03-04', ['--from', FIRST, '--to', '2026-03-04'])).toMatchObject({ code: 0 });
    const before = await statements();
    off.set('A', { minutes, fromMs: startOf('2026-03-03'), filtersAlike: true });
    for (const [nth, day] of ['2026-03-05', '2026-03-06'].entries()) {
      const { code, stdout } = await night(day);
      expect([code, stdout]).toEqual([
        4,
        expect.stringMatching(
          /A: the platform changed the time zone of this merchant's timestamps: \d+ stored entries came/,
        ),
      ]);
      const others = ['2026-03-05', '2026-03-06'].slice(0, nth + 1).map((one) => `B ${one} r1`);
      expect(await statements()).toEqual([...before, ...others].sort());
    }
    const own = env;
    env = { ...own, PLATFORM_TIME_ZONE_PROOF: 'trusted' };
    await night('2026-03-07', ['--merchant', 'A']);
    env = own;
    expect(await statements()).toContain('A 2026-03-06 r1');
  },
);

test('one entry that was corrected by an hour is amended as any other', async () => {
  await add('B');
  expect(await night('2026-03-04', ['--from', FIRST, '--to', '2026-03-04'])).toMatchObject({ code: 0 });
  off.set('B', { minutes: 60, fromMs: startOf('2026-03-04') + 17 * 3_600_000, filtersAlike: true });
  expect(await night('2026-03-04')).toMatchObject({ code: 3 });
  expect(await statements()).toContain('B 2026-03-04 r2');
});

test('a new merchant in another zone is named beside those that prove the zone, and stops nobody', async () => {
  await add('B');
  expect(await night('2026-03-04', ['--from', FIRST, '--to', '2026-03-04'])).toMatchObject({ code: 0 });
  off.set('A', { minutes: 60, fromMs: 0 });
  await add('A');
  const { code, stdout } = await night('2026-03-05');
  expect([code, stdout]).toEqual([
    4,
    expect.stringMatching(
      /A: the timestamps of this merchant are in another time zone than those of other merchants/,
    ),
  ]);
  expect((await statements()).filter((one) => one.startsWith('A'))).toEqual([]);
  expect(await statements()).toContain('B 2026-03-05 r1');
});

test('a setting that never fitted anybody ends with 2, and so does a setting that was changed', async () => {
  off.set('A', { minutes: 60, fromMs: 0 });
  await add('A');
  expect(await night('2026-03-04', ['--from', FIRST, '--to', '2026-03-04'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/PLATFORM_TIME_ZONE is Asia\/Shanghai, but/),
  });
  off.clear();
  expect(await night('2026-03-04', ['--from', FIRST, '--to', '2026-03-04'])).toMatchObject({ code: 0 });
  env = { ...env, PLATFORM_TIME_ZONE: 'Europe/Berlin' };
  expect(await night('2026-03-05')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/PLATFORM_TIME_ZONE is Europe\/Berlin, but/),
  });
});
