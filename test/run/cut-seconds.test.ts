/** A platform that cuts the seconds from its timestamps some nights: nothing is stored under them, and the reason says so. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RunReport } from '../../src/run/report.ts';
import {
  entriesOfAmounts,
  startPlainPlatform,
  type PlainPlatform,
  type WireEntry,
} from '../support/plain-platform.ts';
import { openStage, type Stage } from '../support/stage.ts';
import { shortAndLong } from '../support/short-and-long.ts';

let platform: PlainPlatform;
let stage: Stage;

beforeEach(async () => {
  platform = await startPlainPlatform();
  stage = await openStage({ platform: { baseUrl: platform.url } });
});
afterEach(async () => {
  await stage.close();
  await platform.close();
});

const DAYS = ['2026-03-02', '2026-03-03', '2026-03-04', '2026-03-05'] as const;

/** A night's run, which reads the last `again` days again. */
async function night(after: string, again = 2): Promise<RunReport> {
  const at = DAYS.indexOf(after as (typeof DAYS)[number]);
  stage.setNow(`2026-03-0${at + 3}T01:30:00+08:00`);
  return stage.run({ range: { from: DAYS[Math.max(0, at - again)]!, to: after } });
}

/** The entries of each day, at these times. */
const ledger = (times: readonly string[]): WireEntry[] =>
  entriesOfAmounts(
    'USD',
    DAYS.flatMap((day) => times.map((time, nth) => [`${day}-${nth}`, `${day} ${time}`, 100 + nth] as const)),
  );

const CUTS = {
  'in its stamps alone': (entry: WireEntry): WireEntry => ({
    ...entry,
    busiDate: `${entry.busiDate.slice(0, -2)}00`,
  }),
  'in what it filters by as well': (entry: WireEntry): WireEntry => ({
    ...entry,
    busiDate: `${entry.busiDate.slice(0, -2)}00`,
    atMs: entry.atMs - (entry.atMs % 60_000),
  }),
} as const;

const stored = () =>
  stage.app.database.db
    .selectFrom('ledger_entry')
    .select(['batch_no', 'booked_at', 'booked_ms'])
    .where('vanished_at', 'is', null)
    .orderBy('booked_ms')
    .execute();

const asBooked = (entries: readonly WireEntry[]) =>
  entries.map(({ batchNo, busiDate, atMs }) => ({ batch_no: batchNo, booked_at: busiDate, booked_ms: atMs }));

for (const { options, cases } of shortAndLong(Object.entries(CUTS)))
  describe.each(cases)('seconds cut %s', options, (_, cut) => {
    test.each([
      ['of several entries a day', ['09:10:11', '10:00:01', '13:07:59', '17:30:00']],
      ['of one entry a day, found within what clocks may differ', ['10:00:01']],
    ])('%s', async (_name, times) => {
      const entries = ledger(times);
      platform.entriesOf = () => entries;
      expect((await night(DAYS[0])).exitCode).toBe(0);
      expect((await night(DAYS[1])).exitCode).toBe(0);

      platform.entriesOf = () => entries.map(cut);
      const { exitCode, reasons } = await night(DAYS[2]);
      expect([exitCode, reasons[0]!.what]).toEqual([
        4,
        expect.stringContaining('The platform has cut the seconds from its timestamps'),
      ]);
      expect(await stored()).toEqual(asBooked(entries.slice(0, 2 * times.length)));

      platform.entriesOf = () => entries;
      const after = await night(DAYS[3]);
      expect([after.exitCode, after.reasons]).toEqual([0, []]);
      expect(await stored()).toEqual(asBooked(entries));
    });
  });

test('seconds cut where no earlier entry is read again, and on the first night of all', async () => {
  const entries = ledger(['09:10:11', '10:00:02', '13:07:59']);
  platform.entriesOf = () => entries.map(CUTS['in its stamps alone']);
  expect((await night(DAYS[0])).reasons[0]!.what).toContain('has cut the seconds');
  expect(await stored()).toEqual([]);
  platform.entriesOf = () => entries;
  expect((await night(DAYS[0])).exitCode).toBe(0);
  platform.entriesOf = () => entries.map(CUTS['in its stamps alone']);
  expect((await night(DAYS[1], 0)).reasons[0]!.what).toContain('has cut the seconds');
  expect(await stored()).toHaveLength(3);
});

/** Each on another minute. */
const times = (count: number, second: string): string[] =>
  Array.from({ length: count }, (_, nth) => `${String(8 + nth).padStart(2, '0')}:0${nth % 7}:${second}`);

test('seconds cut in new entries alone, and in what they are filtered by, are stored and need a person', async () => {
  const entries = ledger(times(9, '17'));
  const cut = CUTS['in what it filters by as well'];
  platform.entriesOf = () => entries.map((entry) => (entry.busiDate < DAYS[2] ? entry : cut(entry)));
  expect((await night(DAYS[1])).exitCode).toBe(0);
  const { exitCode, reasons } = await night(DAYS[2]);
  expect([exitCode, reasons.map(({ what }) => what)]).toEqual([
    3,
    [
      expect.stringContaining(
        `: the newest 9 timestamps, from ${DAYS[2]} 08:00:00 on, end in :00, and those before did not.`,
      ),
    ],
  ]);
  expect(await stored()).toHaveLength(27);
});

describe('no alarm where entries truly are on whole minutes', () => {
  for (const { options, cases } of shortAndLong(
    [
      ['always', ['09:00:00', '12:00:00', '18:30:00']],
      ['one a day', ['12:00:00']],
      ['nine at the end of each day', ['07:00:01', '07:10:59', ...times(9, '00')]],
    ] as const,
    2,
  ))
    test.each(cases)('%s', options, async (_name, daily) => {
      const entries = ledger(daily);
      platform.entriesOf = () => entries;
      for (const day of DAYS) expect((await night(day)).exitCode).toBe(0);
      expect(await stored()).toEqual(asBooked(entries));
    });

  test('on a day after days with seconds', async () => {
    const entries = [
      ...ledger(['09:10:11', '10:00:02']).slice(0, 4),
      ...ledger(['09:00:00', '12:00:00']).slice(4),
    ];
    let balance = 0;
    const booked = entries.map((entry) => ({
      ...entry,
      vailAmount: (balance += entry.inAmount! * 100) / 100,
    }));
    platform.entriesOf = () => booked;
    for (const day of DAYS) expect((await night(day, 0)).exitCode).toBe(0);
    expect(await stored()).toEqual(asBooked(booked));
  });

  test('and asks no more than for entries with seconds, once they are known', async () => {
    const calls = [];
    for (const times of [
      ['09:00:00', '12:00:00'],
      ['09:00:07', '12:00:09'],
    ]) {
      const other = await openStage({ platform: { baseUrl: platform.url } });
      const entries = ledger(times);
      platform.entriesOf = () => entries;
      for (const now of ['2026-03-05', '2026-03-06']) {
        other.setNow(`${now}T01:30:00+08:00`);
        platform.calls.length = 0;
        await other.run({ range: { from: DAYS[0], to: now === '2026-03-05' ? DAYS[2] : DAYS[3] } });
      }
      calls.push(platform.calls.length);
      await other.close();
    }
    expect(calls[0]).toBe(calls[1]);
  });
});
