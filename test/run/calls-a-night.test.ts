/**
 * What a night over many merchants costs of calls, against the pages that their entries fill.
 *
 * @module-tag long
 */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { dayWindow } from '../../src/ledger/business-day.ts';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import { executeRun } from '../../src/run/run.ts';
import type { MerchantSync } from '../../src/run/report.ts';
import { below, seeded } from '../../src/plugins/sandbox/ledger.ts';
import { openRig, type Rig } from '../simulation/rig.ts';
import { createMemoryPlatform, spread, type MemoryPlatform } from '../sync/memory-platform.ts';

const DAY_MS = 86_400_000;
const MERCHANTS = 40;
const FIRST_NIGHT_MS = Date.parse('2026-03-20T01:30:00Z');
const BOOKS = { beginMs: Date.parse('2026-03-01T00:00:00Z'), endMs: Date.parse('2026-03-30T00:00:00Z') };
/** The settle delay, and ten minutes for a platform whose clock is behind. */
const UNSETTLED_MS = 15 * 60_000;

let rig: Rig;
beforeAll(async () => {
  rig = await openRig(inject('postgresUrl'));
});
afterAll(() => rig.close());

/** Merchants with up to 60 entries a day, every eighth with up to 500. */
function platformsOf(seed: string): Map<string, MemoryPlatform> {
  const random = seeded(seed);
  return new Map(
    Array.from({ length: MERCHANTS }, (_, nth) => {
      const perDay = below(random, nth % 8 === 0 ? 500 : 60);
      const entries = Math.round((perDay * (BOOKS.endMs - BOOKS.beginMs)) / DAY_MS);
      const merchantNo = `M${String(nth).padStart(3, '0')}`;
      return [merchantNo, createMemoryPlatform({ bookings: spread(entries, BOOKS, `${merchantNo}-`) })];
    }),
  );
}

async function night(platforms: ReadonlyMap<string, MemoryPlatform>, nowMs: number): Promise<MerchantSync[]> {
  const reader: LedgerReader = {
    page: (query, signal) => platforms.get(query.merchant.merchantNo)!.reader.page(query, signal),
  };
  const deps = rig.deps({
    db: rig.db,
    reader,
    // Never opened, as a sync publishes nothing.
    objects: createDirectoryStore('/nonexistent'),
    zone: 'UTC',
    nowMs,
    resweepDays: 7,
    toleranceS: 2,
  });
  const merchants = [...platforms.keys()].map((merchantNo) => ({ merchantNo, token: 'made-up' }));
  const report = await executeRun({ command: 'sync', range: null, merchants, currencies: null }, deps);
  return [...report.sync];
}

test(
  'a merchant’s night costs a call for each page of its range and two more; over all merchants within 5 %, in the first night 7 %',
  { timeout: 240_000 },
  async () => {
    await rig.empty();
    const platforms = platformsOf('calls');
    for (let nights = 0; nights < 9; nights += 1) {
      const nowMs = FIRST_NIGHT_MS + nights * DAY_MS;
      const read = await night(platforms, nowMs);
      const costs = read.map(({ merchantNo, from, report }) => {
        expect(report).toMatchObject({ failure: null, uncertified: [] });
        const { beginMs } = dayWindow(from, 'UTC');
        const window = { beginMs, endMs: nowMs - UNSETTLED_MS - 1 };
        const entries = platforms.get(merchantNo)!.truth(window).length;
        return { entries, calls: report.requests, least: Math.ceil(entries / 100) + 2 };
      });
      const calls = costs.reduce((sum, one) => sum + one.calls, 0);
      const least = costs.reduce((sum, one) => sum + one.least, 0);
      // One call proves the merchant's zone, and 4,000 entries need three windows. The first night does not know that: one call
      // counts them, and two search for the newest entry.
      for (const one of costs)
        expect(one.calls - one.least).toBeLessThanOrEqual(nowMs === FIRST_NIGHT_MS ? 5 : 2);
      expect(calls / least).toBeLessThan(nowMs === FIRST_NIGHT_MS ? 1.07 : 1.05);
    }
  },
);
