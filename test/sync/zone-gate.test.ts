import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LedgerEntry, Window } from '../../src/ledger/entry.ts';
import { PlatformRejected } from '../../src/platform/errors.ts';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import {
  offsetMinutesOf,
  TimeZoneUnproven,
  TimeZoneWrong,
  type Probe,
} from '../../src/sync/time-zone-proof.ts';
import { createZoneGate } from '../../src/sync/zone-gate.ts';
import { createMemoryPlatform, spread, type Faults, type MemoryPlatformOptions } from './memory-platform.ts';

const MERCHANT = { merchantNo: 'M-TEST', token: 'made-up' };
const DAY: Window = {
  beginMs: Date.parse('2026-03-01T00:00:00Z'),
  endMs: Date.parse('2026-03-01T23:59:59.999Z'),
};
const SUMMER_DAY: Window = {
  beginMs: Date.parse('2026-07-01T00:00:00Z'),
  endMs: Date.parse('2026-07-01T23:59:59.999Z'),
};

const probeOf =
  (reader: LedgerReader): Probe =>
  (batchNo, window) =>
    reader.page({ merchant: MERCHANT, window, pageNum: 1, ...(batchNo === null ? {} : { batchNo }) });
const pageIn = async (reader: LedgerReader, window: Window): Promise<readonly LedgerEntry[]> =>
  (await reader.page({ merchant: MERCHANT, window, pageNum: 1 })).entries;

async function check(options: Partial<MemoryPlatformOptions>, window = DAY) {
  const platform = createMemoryPlatform({ bookings: spread(5, window), ...options });
  const gate = createZoneGate(options.believedZone ?? 'UTC', { clockToleranceS: 2 });
  const entries = await pageIn(platform.reader, window);
  const outcome = await gate.check(probeOf(platform.reader), entries, window).then(
    () => 'proven' as const,
    (error: unknown) => error,
  );
  return { outcome, calls: platform.queries.length - 1, clockSkewMs: gate.clockSkewMs() };
}

test('the right zone is proven by one call, for the second of the entry, where entries of other times are known', async () => {
  const zones = { zone: 'Asia/Shanghai', believedZone: 'Asia/Shanghai' };
  expect(await check(zones)).toEqual({ outcome: 'proven', calls: 1, clockSkewMs: 0 });
});

test.each([
  ['spring', '2026-03-29', 'Africa/Lagos'],
  ['autumn', '2026-10-25', 'Africa/Johannesburg'],
])('in %s the day of the clock change is proven by itself', async (_, day, late) => {
  const begin = Date.parse(`${day}T00:00:00Z`);
  const week = { beginMs: begin - 3 * 86_400_000, endMs: begin + 3 * 86_400_000 };
  const zone = 'Europe/Berlin';
  const bookings = spread(70, week).map((booking) => ({
    ...booking,
    ...(new Date(booking.trueMs).toISOString().startsWith(day) && { zone: late }),
  }));
  const { outcome } = await check({ bookings, zone, believedZone: zone }, week);
  expect(outcome).toMatchObject({ name: 'TimeZoneWrong' });
  expect(await check({ bookings: spread(70, week), zone, believedZone: zone }, week)).toEqual({
    outcome: 'proven',
    calls: 2,
    clockSkewMs: 0,
  });
});

test('a single entry proves it by two calls: at its time, and where it must not be', async () => {
  expect(await check({ bookings: spread(1, DAY) })).toEqual({ outcome: 'proven', calls: 2, clockSkewMs: 0 });
});

const ignoring: Faults = { ignoresWindowBesideBatchNo: true };

test('if dates are ignored in queries with a batchNo, a right zone is proven by windows, in four calls at most', async () => {
  expect(await check({ faults: ignoring })).toEqual({ outcome: 'proven', calls: 1, clockSkewMs: 0 });
  expect(await check({ bookings: spread(1, DAY), faults: ignoring })).toEqual({
    outcome: 'proven',
    calls: 4,
    clockSkewMs: 0,
  });
});

test('if dates are ignored in queries with a batchNo, a wrong zone is never proven', async () => {
  const zones = fc.constantFrom('Asia/Shanghai', 'Asia/Kolkata', 'America/St_Johns', 'Pacific/Kiritimati');
  await fc.assert(
    fc.asyncProperty(zones, fc.integer({ min: 1, max: 400 }), fc.nat(), async (zone, count, seed) => {
      const bookings = spread(count, DAY);
      const { outcome } = await check({ bookings, zone, believedZone: 'UTC', faults: ignoring, seed });
      expect(outcome).not.toBe('proven');
      if (!(outcome instanceof TimeZoneUnproven)) {
        expect(outcome).toMatchObject({ offsetMinutes: offsetMinutesOf(zone, DAY.beginMs) });
      }
    }),
    { numRuns: 60 },
  );
});

test('if dates are ignored in queries with a batchNo, the entries that come show the wrong zone', async () => {
  const bookings = [0, 8].flatMap((hours) =>
    spread(
      3,
      { beginMs: DAY.beginMs + hours * 3_600_000, endMs: DAY.beginMs + hours * 3_600_000 },
      `H${hours}-`,
    ),
  );
  const { outcome } = await check({ bookings, zone: 'Asia/Shanghai', believedZone: 'UTC', faults: ignoring });
  expect(outcome).toMatchObject({ name: 'TimeZoneWrong', offsetMinutes: 480 });
});

test('if the zone is not proven, the message says what a person can do', async () => {
  const { outcome } = await check({ zone: 'Asia/Shanghai', believedZone: 'UTC', faults: ignoring });
  expect(outcome).toBeInstanceOf(TimeZoneUnproven);
  expect((outcome as Error).message).toContain('with a batchNo the platform ignores beginDate and endDate');
  expect((outcome as Error).message).toContain('PLATFORM_TIME_ZONE_PROOF=trusted goes without a proof');
});

test.each(['begin', 'end'] as const)(
  'a platform that uses only the %s date in queries with a batchNo proves no wrong zone',
  async (heeds) => {
    const faults: Faults = { heedsBesideBatchNo: heeds };
    expect((await check({ faults })).outcome).toBe('proven');
    for (const zone of ['Asia/Shanghai', 'America/New_York']) {
      expect((await check({ zone, believedZone: 'UTC', faults })).outcome).not.toBe('proven');
    }
  },
);

test('timestamps off by no more than the clock tolerance prove the zone, and are reported', async () => {
  const bookings = spread(5, { beginMs: DAY.beginMs + 60_000, endMs: DAY.endMs });
  for (const lagMs of [1_000, 2_000, -1_000, -2_000]) {
    expect(await check({ bookings, lagMs })).toEqual({ outcome: 'proven', calls: 5, clockSkewMs: 2_000 });
    expect(await check({ bookings, lagMs, faults: ignoring })).toEqual({
      outcome: 'proven',
      calls: 7,
      clockSkewMs: 2_000,
    });
  }
  expect((await check({ lagMs: 4_000 })).outcome).toBeInstanceOf(TimeZoneUnproven);
});

test('entries that also come for a neighbouring second do not hide that the clock is off', async () => {
  const bookings = spread(60, { beginMs: DAY.beginMs + 60_000, endMs: DAY.beginMs + 119_999 });
  for (const faults of [ignoring, { ignoresBatchNo: true }]) {
    expect(await check({ bookings, lagMs: 1_000, faults })).toMatchObject({
      outcome: 'proven',
      clockSkewMs: 2_000,
    });
  }
});

test('a wrong zone is named even if the clock is off too', async () => {
  for (const lagMs of [2_000, -2_000]) {
    const { outcome } = await check({ zone: 'Asia/Kathmandu', believedZone: 'UTC', lagMs });
    expect(outcome).toMatchObject({ name: 'TimeZoneWrong', offsetMinutes: 345 });
  }
});

test('an entry outside its window, within the tolerance, shows that the clock is off', async () => {
  const window = { beginMs: DAY.beginMs, endMs: DAY.beginMs + 3_599_999 };
  const platform = createMemoryPlatform({
    bookings: spread(3_600, window),
    lagMs: ({ trueMs }) => (trueMs === DAY.beginMs + 3_599_000 ? 1_000 : 0),
  });
  const gate = createZoneGate('UTC', { clockToleranceS: 2 });
  const entries = await pageIn(platform.reader, { ...window, beginMs: window.endMs - 9_999 });
  await gate.check(probeOf(platform.reader), entries, window);
  expect([gate.clockSkewMs(), gate.clockOff()]).toEqual([
    2_000,
    'entry B0003599, booked 2026-03-01 01:00:00, lies outside the window that returned it',
  ]);
});

test('no zone is named where timestamps are off by what no zone is', async () => {
  for (const lagMs of [3_604_000, -3_604_000]) {
    const { outcome } = await check({ lagMs });
    expect(outcome).toBeInstanceOf(TimeZoneUnproven);
    expect((outcome as Error).message).toMatch(
      /: entry B\d+, booked \S+ \S+, is at no instant a time zone could mean\. /,
    );
  }
});

test('a zone trusted without proof costs no call', async () => {
  const platform = createMemoryPlatform({ bookings: spread(5, DAY), faults: ignoring });
  const gate = createZoneGate('UTC', { clockToleranceS: 2, isTrusted: true });
  const entries = await pageIn(platform.reader, DAY);
  await gate.check(probeOf(platform.reader), entries, DAY);
  expect([platform.queries.length, gate.clockSkewMs()]).toEqual([1, 2_000]);
});

test('a wrong zone is named with the offset the platform has, and with zones that fit', async () => {
  const { outcome, calls } = await check({ zone: 'Asia/Shanghai', believedZone: 'UTC' });
  expect(outcome).toBeInstanceOf(TimeZoneWrong);
  expect(outcome).toMatchObject({ zone: 'UTC', offsetMinutes: 480 });
  expect((outcome as TimeZoneWrong).zones.slice(0, 2)).toEqual(['Asia/Shanghai', 'Asia/Hong_Kong']);
  expect((outcome as TimeZoneWrong).message).toContain(
    'the offset +08:00. Zones with that offset then: Asia/Shanghai',
  );
  expect(calls).toBeLessThanOrEqual(20);
});

test('any two zones are distinguished, unless they have the same offset', async () => {
  const zones = fc.constantFrom(
    'UTC',
    'Asia/Shanghai',
    'Asia/Kolkata',
    'Asia/Kathmandu',
    'Pacific/Kiritimati',
    'Pacific/Pago_Pago',
    'America/St_Johns',
    'Europe/London',
  );
  await fc.assert(
    fc.asyncProperty(zones, zones, fc.constantFrom(DAY, SUMMER_DAY), async (zone, believedZone, window) => {
      const { outcome } = await check({ zone, believedZone }, window);
      const [offset, believed] = [zone, believedZone].map((name) => offsetMinutesOf(name, window.beginMs));
      if (offset === believed) expect(outcome).toBe('proven');
      else expect(outcome).toMatchObject({ name: 'TimeZoneWrong', offsetMinutes: offset });
    }),
    { numRuns: 60 },
  );
});

test('a zone proven in winter is proven again before the first entry of summer', async () => {
  const bookings = [...spread(3, DAY, 'W'), ...spread(3, SUMMER_DAY, 'S')];
  const platform = createMemoryPlatform({ bookings, zone: 'UTC', believedZone: 'Europe/London' });
  const gate = createZoneGate('Europe/London');
  const probe = probeOf(platform.reader);
  await gate.check(probe, await pageIn(platform.reader, DAY), DAY);
  const summer = await pageIn(platform.reader, SUMMER_DAY);
  await expect(gate.check(probe, summer, SUMMER_DAY)).rejects.toThrow('Zones with that offset then: UTC');
});

test('one proof serves all windows and merchants of a run', async () => {
  const platform = createMemoryPlatform({ bookings: spread(5, DAY) });
  const gate = createZoneGate('UTC');
  const entries = await pageIn(platform.reader, DAY);
  await Promise.all([1, 2, 3].map(() => gate.check(probeOf(platform.reader), entries, DAY)));
  expect(platform.queries).toHaveLength(2);
});

test('if a merchant is refused during the proof, the next merchant proves the zone', async () => {
  const platform = createMemoryPlatform({ bookings: spread(5, DAY) });
  const gate = createZoneGate('UTC');
  const entries = await pageIn(platform.reader, DAY);
  const refused = gate.check(() => Promise.reject(new PlatformRejected('401')), entries, DAY);
  const next = gate.check(probeOf(platform.reader), entries, DAY);
  await expect(refused).rejects.toThrow('401');
  await next;
});

test('wrong totals neither prevent the proof of a zone nor suggest another one', async () => {
  expect((await check({ faults: { wrongTotals: 1 } })).outcome).toBe('proven');
});

test('if the filter on batchNo is ignored, the filter on time proves a right zone', async () => {
  expect((await check({ faults: { ignoresBatchNo: true } })).outcome).toBe('proven');
});

test('if the filter on batchNo is ignored, no other zone is claimed', async () => {
  const { outcome } = await check({
    zone: 'Asia/Shanghai',
    believedZone: 'UTC',
    faults: { ignoresBatchNo: true },
  });
  expect(outcome).toBeInstanceOf(TimeZoneUnproven);
  expect((outcome as Error).message).toContain('the platform sent others too');
});

test('if all filters are ignored, nothing is claimed', async () => {
  const { outcome } = await check({ faults: { ignoresBatchNo: true, ignoresWindow: true } });
  expect(outcome).toBeInstanceOf(TimeZoneUnproven);
});

test('if all filters are ignored, many entries of one second prove nothing either', async () => {
  const bookings = spread(250, { beginMs: DAY.beginMs, endMs: DAY.beginMs + 999 });
  const faults: Faults = { ignoresBatchNo: true, ignoresWindow: true, order: 'shuffled' };
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    const { outcome } = await check({ bookings, zone: 'Asia/Shanghai', believedZone: 'UTC', faults, seed });
    expect(outcome).toBeInstanceOf(TimeZoneUnproven);
  }
});

test('if all dates are ignored, an entry that disappears during its proof proves nothing', async () => {
  for (const leavesAt of [2, 3, 4, 5, 6, 7]) {
    const { outcome } = await check({
      bookings: spread(1, DAY),
      zone: 'Asia/Shanghai',
      believedZone: 'UTC',
      faults: { ignoresWindow: true },
      onQuery: (_, count, bookings) => {
        if (count === leavesAt) bookings.shift();
      },
    });
    expect(outcome).not.toBe('proven');
  }
});

test.each([1, 2])('if %i entries are gone when they are asked for, another one is used', async (gone) => {
  const { outcome } = await check({
    onQuery: (_, count, bookings) => {
      if (count === 2) bookings.splice(0, gone);
    },
  });
  expect(outcome).toBe('proven');
});

test.each([
  ['with the batchNo', {}, 5],
  ['without the batchNo, as dates would be ignored with it', ignoring, 7],
])(
  'after one short reply to a query for the entry’s own second, that query is repeated: %s',
  async (_, faults, calls) => {
    const platform = createMemoryPlatform({ bookings: spread(1, DAY), faults });
    const entries = await pageIn(platform.reader, DAY);
    const at = Math.floor(entries[0]!.bookedMs / 1_000) * 1_000;
    const besideBatchNo = faults.ignoresWindowBesideBatchNo !== true;
    let shortened = 0;
    const probe: Probe = async (batchNo, window) => {
      const page = await probeOf(platform.reader)(batchNo, window);
      const isOwn =
        window.beginMs === at && window.endMs === at + 999 && (batchNo !== null) === besideBatchNo;
      if (!isOwn || shortened > 0) return page;
      shortened += 1;
      return { ...page, total: 0, entries: [] };
    };
    const gate = createZoneGate('UTC', { clockToleranceS: 2 });
    await gate.check(probe, entries, DAY);
    expect([shortened, gate.clockOff(), gate.clockSkewMs()]).toEqual([1, null, 0]);
    expect(platform.queries.length).toBeLessThanOrEqual(calls);
  },
);
