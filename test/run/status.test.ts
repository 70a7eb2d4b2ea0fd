import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { jobs } from '../../jobs/all.ts';
import { healthOf } from '../../src/run/health.ts';
import { statusOf, type MerchantStatus } from '../../src/run/status.ts';
import { FROM, MERCHANT, openStage, OTHER, TO, ZONE, type Stage } from '../support/stage.ts';

const HOUR_MS = 3_600_000;
const { merchantNo } = MERCHANT;
let stage: Stage;
beforeEach(async () => {
  stage = await openStage();
});
afterEach(() => stage.close());

const status = async (
  change: { merchants?: string[]; maxAgeMs?: number | null } = {},
): Promise<MerchantStatus[]> =>
  statusOf(stage.app.database.db, change.merchants ?? [merchantNo], {
    zone: ZONE,
    now: stage.app.now(),
    maxAgeMs: change.maxAgeMs ?? null,
  });
const NOTHING_LATE = {
  ...{ since: '2025-02-01', watchedEntries: 0, lateEntries: 0 },
  ...{ median: null, p99: null, worst: null, final: null },
};
const midnight = (day: string) => Date.parse(`${day}T00:00:00+08:00`);

describe('status', () => {
  test('of a merchant never read: no good run, nothing proven, too old for any age', async () => {
    expect(await status({ maxAgeMs: 26 * HOUR_MS })).toEqual([
      {
        merchantNo,
        lastGoodRunAt: null,
        checked: [],
        provenFrom: null,
        provenThrough: null,
        missing: [],
        requested: [],
        openBreaks: 0,
        newBreaks: 0,
        uncertified: 0,
        daysMissing: 0,
        quarantined: 0,
        notices: [],
        olderDays: null,
        adjustments: [],
        ownBooks: [],
        preparations: [],
        lateness: NOTHING_LATE,
        discrepancies: [],
        held: [],
        silent: [],
        tooOld: true,
      },
    ]);
  });

  test('after a good run: proven through yesterday, nothing missing', async () => {
    await stage.run();
    expect(await status({ maxAgeMs: 26 * HOUR_MS })).toEqual([
      {
        merchantNo,
        lastGoodRunAt: stage.app.now(),
        checked: ['zone', 'empty', 'first', 'shared'],
        provenFrom: FROM,
        provenThrough: TO,
        missing: [],
        requested: [],
        openBreaks: 0,
        newBreaks: 0,
        uncertified: 0,
        daysMissing: 0,
        quarantined: 0,
        notices: [],
        olderDays: null,
        adjustments: [],
        ownBooks: [],
        preparations: [],
        lateness: NOTHING_LATE,
        discrepancies: [],
        held: [],
        silent: [],
        tooOld: false,
      },
    ]);
  });

  test('after a nightly run: which checks it made, as in each manifest it wrote', async () => {
    await stage.run({ range: null }, { checks: ['frontier'] });
    const [row] = await status({});
    expect(row).toMatchObject({ provenThrough: TO, missing: [], checked: ['frontier'] });
    const manifests = await stage.app.database.db
      .selectFrom('artifact')
      .select(['day', 'revision', 'content'])
      .where('kind', '=', 'manifest')
      .execute();
    expect(manifests.map(({ day }) => day)).toContain(TO);
    for (const { content } of manifests)
      expect(JSON.parse(content!)).toMatchObject({ revision: 1, checked: ['frontier'] });
    // A run with fewer checks does not write manifests again.
    await stage.run({ range: null }, { checks: [] });
    expect(
      await stage.app.database.db
        .selectFrom('artifact')
        .select(['day', 'revision', 'content'])
        .where('kind', '=', 'manifest')
        .execute(),
    ).toEqual(manifests);
    expect((await status({}))[0]).toMatchObject({ checked: [] });
  });

  test('two nights later without a run: the unread days are missing, and it is too old', async () => {
    await stage.run();
    stage.setNow('2026-03-08T09:00:00+08:00');
    const [row] = await status({ maxAgeMs: 26 * HOUR_MS });
    expect(row).toMatchObject({ provenThrough: TO, tooOld: true, daysMissing: 2 });
    expect(row!.missing).toEqual([
      { beginMs: midnight('2026-03-06'), endMs: midnight('2026-03-08') - 1, why: 'not read yet' },
    ]);
    expect(await status()).toMatchObject([{ tooOld: false }]);
    // Exactly as old as allowed is not too old.
    const ageMs = stage.app.now().getTime() - row!.lastGoodRunAt!.getTime();
    expect(await status({ maxAgeMs: ageMs })).toMatchObject([{ tooOld: false }]);
    expect(await status({ maxAgeMs: ageMs - 1 })).toMatchObject([{ tooOld: true }]);
  });

  test('a day that was left out in between is missing, and proof ends before it', async () => {
    await stage.run({ range: { from: FROM, to: FROM } });
    await stage.run({ range: { from: '2026-03-04', to: TO } });
    const [row] = await status();
    expect(row).toMatchObject({ provenThrough: FROM });
    expect(row!.missing).toEqual([
      { beginMs: midnight('2026-03-03'), endMs: midnight('2026-03-04') - 1, why: 'not read yet' },
    ]);
  });

  test('no day that an open break may lie in is proven, be it between its two entries', async () => {
    const between = stage.sandbox
      .entriesOf(merchantNo)
      .filter(({ currency, busiDate }) => currency === 'USD' && /^2026-03-0[34]/.test(busiDate));
    for (const { batchNo } of between) stage.sandbox.takeOut(merchantNo, batchNo);
    await stage.run();
    const breaks = stage.app.database.db.selectFrom('continuity_break').select('day');
    expect(await breaks.execute()).toEqual([{ day: TO }]);
    expect(await status()).toMatchObject([{ provenFrom: null, provenThrough: null, missing: [] }]);
    const { db } = stage.app.database;
    expect(await healthOf(db, { settings: stage.app.settings, jobs, now: stage.app.now() })).toMatchObject({
      provenThrough: null,
    });
  });

  test('for a half-read day, proof ends the day before', async () => {
    stage.setNow('2026-03-05T12:00:00+08:00');
    await stage.run();
    expect(await status()).toMatchObject([{ provenThrough: '2026-03-04', missing: [] }]);
    stage.setNow('2026-03-06T12:00:00+08:00');
    const [row] = await status();
    expect(row!.provenThrough).toBe('2026-03-04');
    expect(row!.missing).toEqual([
      {
        beginMs: Date.parse('2026-03-05T11:55:00+08:00'),
        endMs: midnight('2026-03-06') - 1,
        why: 'not read yet',
      },
    ]);
  });

  test('an incomplete run is not good; what could not be certified is missing, with the reason, once', async () => {
    stage.sandbox.setHostility({ wrongTotalsEvery: 1 });
    expect(await stage.run()).toMatchObject({ exitCode: 4 });
    const [row] = await status({ maxAgeMs: 26 * HOUR_MS });
    expect(row).toMatchObject({ lastGoodRunAt: null, provenThrough: null, tooOld: true });
    expect(row!.missing.length).toBeGreaterThan(0);
    for (const { why } of row!.missing) expect(why).toMatch(/could not be certified/);
    stage.sandbox.setHostility({});
    await stage.run();
    expect(await status()).toMatchObject([{ provenThrough: TO, missing: [] }]);
  });

  test('a run is good for each completed merchant, even if another merchant made it incomplete', async () => {
    const token = 'another-made-up-one';
    expect(await stage.run({ merchants: [MERCHANT, { ...OTHER, token }] })).toMatchObject({ exitCode: 4 });
    const both = { merchants: [merchantNo, OTHER.merchantNo], maxAgeMs: 26 * HOUR_MS };
    expect(await status(both)).toMatchObject([
      { merchantNo, lastGoodRunAt: stage.app.now(), tooOld: false },
      { merchantNo: OTHER.merchantNo, lastGoodRunAt: null, tooOld: true },
    ]);
  });

  test('open breaks are counted per merchant, and a run of one merchant does not count for another', async () => {
    const [, entry] = stage.sandbox.entriesOf(merchantNo).filter(({ currency }) => currency === 'USD');
    stage.sandbox.takeOut(merchantNo, entry!.batchNo);
    await stage.run();
    expect(await status({ merchants: [merchantNo, OTHER.merchantNo] })).toMatchObject([
      { merchantNo, openBreaks: 1, lastGoodRunAt: stage.app.now() },
      { merchantNo: OTHER.merchantNo, openBreaks: 0, lastGoodRunAt: null },
    ]);
  });
});
