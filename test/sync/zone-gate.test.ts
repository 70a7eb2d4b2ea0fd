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
import { createMemoryPlatform, spread, type MemoryPlatformOptions } from './memory-platform.ts';

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
  const gate = createZoneGate(options.believedZone ?? 'UTC');
  const entries = await pageIn(platform.reader, window);
  const outcome = await gate.check(probeOf(platform.reader), entries, window).then(
    () => 'proven' as const,
    (error: unknown) => error,
  );
  return { outcome, calls: platform.queries.length - 1 };
}

test('the right zone is proven by one call', async () => {
  expect(await check({ zone: 'Asia/Shanghai', believedZone: 'Asia/Shanghai' })).toEqual({
    outcome: 'proven',
    calls: 1,
  });
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

test('any two zones are told apart, or have the same offset', async () => {
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

test('a merchant refused while proving leaves the proof to the next', async () => {
  const platform = createMemoryPlatform({ bookings: spread(5, DAY) });
  const gate = createZoneGate('UTC');
  const entries = await pageIn(platform.reader, DAY);
  const refused = gate.check(() => Promise.reject(new PlatformRejected('401')), entries, DAY);
  const next = gate.check(probeOf(platform.reader), entries, DAY);
  await expect(refused).rejects.toThrow('401');
  await next;
});

test('wrong totals do not keep a zone from being proven, nor point to another one', async () => {
  expect((await check({ faults: { wrongTotals: 1 } })).outcome).toBe('proven');
});

test('where the filter on batchNo is ignored, the filter on time proves a right zone', async () => {
  expect((await check({ faults: { ignoresBatchNo: true } })).outcome).toBe('proven');
});

test('where the filter on batchNo is ignored, no other zone is claimed', async () => {
  const { outcome } = await check({
    zone: 'Asia/Shanghai',
    believedZone: 'UTC',
    faults: { ignoresBatchNo: true },
  });
  expect(outcome).toBeInstanceOf(TimeZoneUnproven);
  expect((outcome as Error).message).toContain('the platform sent others too');
});

test('where all filters are ignored, nothing is claimed', async () => {
  const { outcome } = await check({ faults: { ignoresBatchNo: true, ignoresWindow: true } });
  expect(outcome).toBeInstanceOf(TimeZoneUnproven);
});

test('an entry that is gone by the time it is asked for is passed over for another', async () => {
  const { outcome } = await check({
    onQuery: (_, count, bookings) => {
      if (count === 2) bookings.shift();
    },
  });
  expect(outcome).toBe('proven');
});
