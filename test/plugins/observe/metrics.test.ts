/** What a real run with trouble does to the metrics. */
import { afterEach, expect, test } from 'vitest';
import { jobs } from '../../../jobs/all.ts';
import { UNTRACED } from '../../../src/host/trace.ts';
import { createMetrics, type CountedProcess } from '../../../src/plugins/observe/metrics.ts';
import { createState } from '../../../src/plugins/observe/state.ts';
import { recordAuditEvent } from '../../../src/store/audit.ts';
import { noteDays } from '../../support/note-days.ts';
import {
  MERCHANT,
  openStage,
  OTHER,
  scenario,
  TO,
  type Stage,
  type StageOptions,
} from '../../support/stage.ts';
import { samplesOf } from './support.ts';

const stages: Stage[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.close();
});

async function open(options: StageOptions = {}): Promise<{ stage: Stage; metrics: CountedProcess }> {
  const metrics = createMetrics();
  const stage = await openStage({ ...options, observer: { ...metrics.observer, trace: UNTRACED } });
  stages.push(stage);
  return { stage, metrics };
}

const scraped = async (
  { app }: Stage,
  metrics: CountedProcess,
  { withMerchants = false }: { readonly withMerchants?: boolean } = {},
): Promise<ReadonlyMap<string, number>> => {
  const ledger = { settings: app.settings, jobs };
  const state = createState({ db: app.database.db, ledger, now: app.now, withMerchants });
  return samplesOf(await metrics.text(await state()));
};

/** Only these of the samples. */
const picked = (samples: ReadonlyMap<string, number>, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, samples.get(name)]));

test('before the first run: what is not known is left out, and no counter has counted', async () => {
  const { stage, metrics } = await open();
  const samples = await scraped(stage, metrics);
  const names = [...samples.keys()];
  expect(names.filter((name) => /^daybook_(last_|oldest_|proven_|queue_|backfill_time)/.test(name))).toEqual(
    [],
  );
  expect(
    picked(samples, [
      'daybook_merchants',
      'daybook_merchants_never_read',
      'daybook_merchants_unproven',
      'daybook_state_read{part="ledger"}',
      'daybook_entries_total{outcome="new"}',
      'daybook_inbox_waiting',
      'daybook_leases_held',
    ]),
  ).toEqual({
    daybook_merchants: 1,
    daybook_merchants_never_read: 1,
    daybook_merchants_unproven: 1,
    'daybook_state_read{part="ledger"}': 1,
    'daybook_entries_total{outcome="new"}': 0,
    daybook_inbox_waiting: 0,
    daybook_leases_held: 0,
  });
});

test('a good night: calls, entries, windows and statements are counted as the report has them', async () => {
  const { stage, metrics } = await open();
  const report = await stage.run({ range: null }, { resweepDays: 3 });
  const samples = await scraped(stage, metrics);
  const { published } = report.publish!;
  expect(
    picked(samples, [
      'daybook_platform_calls_total{operation="sp2404",status="2xx"}',
      'daybook_platform_call_duration_seconds_count{operation="sp2404"}',
      'daybook_entries_total{outcome="new"}',
      'daybook_windows_read_total{outcome="certified"}',
      'daybook_windows_read_total{outcome="uncertified"}',
      'daybook_stage_duration_seconds_count{stage="sync"}',
      'daybook_stage_duration_seconds_count{stage="reconcile"}',
      'daybook_stage_duration_seconds_count{stage="publish"}',
      'daybook_merchants_done_total{outcome="good"}',
      'daybook_merchants_done_total{outcome="trouble"}',
      'daybook_revisions_published_total{kind="first"}',
      'daybook_last_good_night_timestamp_seconds',
      'daybook_oldest_good_reading_timestamp_seconds',
      'daybook_proven_through_age_seconds',
      'daybook_merchants_never_read',
      'daybook_dates_missing',
      'daybook_last_run_exit_code',
      'daybook_last_run_calls',
      'daybook_last_run_entries{outcome="new"}',
      'daybook_last_run_published',
      'daybook_last_run_state{command="run",state="ended"}',
    ]),
  ).toEqual({
    'daybook_platform_calls_total{operation="sp2404",status="2xx"}': report.sync[0]!.report.requests,
    'daybook_platform_call_duration_seconds_count{operation="sp2404"}': report.sync[0]!.report.requests,
    'daybook_entries_total{outcome="new"}': report.sync[0]!.report.inserted,
    'daybook_windows_read_total{outcome="certified"}': report.sync[0]!.report.windows,
    'daybook_windows_read_total{outcome="uncertified"}': 0,
    'daybook_stage_duration_seconds_count{stage="sync"}': 1,
    'daybook_stage_duration_seconds_count{stage="reconcile"}': 1,
    'daybook_stage_duration_seconds_count{stage="publish"}': 1,
    'daybook_merchants_done_total{outcome="good"}': 1,
    'daybook_merchants_done_total{outcome="trouble"}': 0,
    'daybook_revisions_published_total{kind="first"}': published.length,
    daybook_last_good_night_timestamp_seconds: stage.app.now().getTime() / 1_000,
    daybook_oldest_good_reading_timestamp_seconds: stage.app.now().getTime() / 1_000,
    // It is half past one, and the last day ended at midnight.
    daybook_proven_through_age_seconds: 5_400,
    daybook_merchants_never_read: 0,
    daybook_dates_missing: 0,
    daybook_last_run_exit_code: 0,
    daybook_last_run_calls: report.sync[0]!.report.requests,
    'daybook_last_run_entries{outcome="new"}': report.sync[0]!.report.inserted,
    daybook_last_run_published: published.length,
    'daybook_last_run_state{command="run",state="ended"}': 1,
  });
  expect(published.length).toBeGreaterThan(0);
});

test('a platform that refuses, cuts and counts wrongly: statuses, retries, splits, uncertified windows, missing days', async () => {
  const { stage, metrics } = await open();
  stage.sandbox.setHostility({ http500Every: 5, resetEvery: 7, htmlEvery: 11, wrongTotalsEvery: 1 });
  const report = await stage.run({ range: null }, { resweepDays: 3 });
  expect(report.exitCode).toBe(4);
  const samples = await scraped(stage, metrics);
  const of = (name: string) => samples.get(name) ?? 0;
  const calls = (status: string) => of(`daybook_platform_calls_total{operation="sp2404",status="${status}"}`);
  for (const status of ['2xx', '500', 'none']) expect(calls(status), status).toBeGreaterThan(0);
  expect(of('daybook_platform_retries_total{operation="sp2404"}')).toBe(stage.retries.length);
  expect(of('daybook_windows_split_total')).toBeGreaterThan(0);
  expect(of('daybook_windows_read_total{outcome="uncertified"}')).toBe(
    report.sync[0]!.report.uncertified.length,
  );
  expect(of('daybook_windows_uncertified')).toBeGreaterThan(0);
  expect(of('daybook_dates_missing')).toBeGreaterThan(0);
  expect(of('daybook_merchants_incomplete')).toBe(1);
  expect(of('daybook_last_run_exit_code')).toBe(4);
  expect(samples.has('daybook_last_good_night_timestamp_seconds')).toBe(false);
});

test('a platform that is down ends a merchant’s work, and its neighbour’s, as trouble', async () => {
  const { stage, metrics } = await open();
  stage.sandbox.setHostility({ downAfterRequests: 0 });
  expect((await stage.run({ merchants: [MERCHANT, OTHER] })).exitCode).toBe(4);
  const samples = await scraped(stage, metrics);
  expect(samples.get('daybook_merchants_done_total{outcome="trouble"}')).toBe(2);
  expect(samples.get('daybook_platform_calls_total{operation="sp2404",status="none"}')).toBeGreaterThan(0);
});

test('breaks: new after the run that found them, known after the next, taken, and healed', async () => {
  const { stage, metrics } = await open();
  const { db } = stage.app.database;
  await stage.run({ range: null }, { resweepDays: 3 });
  // An entry that the platform does not send any more leaves a hole in the chain.
  const [hidden] = stage.sandbox.entriesOf(MERCHANT.merchantNo).filter(({ busiDate }) => busiDate > TO);
  await db.deleteFrom('ledger_entry').where('batch_no', '=', hidden!.batchNo).execute();
  await noteDays(db, MERCHANT.merchantNo);
  await stage.run({ command: 'reconcile', range: null });
  const breaks = [
    'daybook_breaks_open{state="new"}',
    'daybook_breaks_open{state="known"}',
    'daybook_breaks_taken',
  ];
  const opened = (await scraped(stage, metrics)).get('daybook_breaks_opened_total');
  expect(opened).toBeGreaterThan(0);
  expect(picked(await scraped(stage, metrics), breaks)).toEqual({
    [breaks[0]!]: opened,
    [breaks[1]!]: 0,
    [breaks[2]!]: 0,
  });
  await stage.run({ command: 'publish', range: null });
  expect(picked(await scraped(stage, metrics), breaks)).toEqual({
    [breaks[0]!]: 0,
    [breaks[1]!]: opened,
    [breaks[2]!]: 0,
  });
  const { id } = await db.selectFrom('continuity_break').select('id').executeTakeFirstOrThrow();
  const auditEvent = { by: 'ops', command: 'breaks take', subject: String(id) };
  await recordAuditEvent(db, auditEvent, stage.app.now());
  expect((await scraped(stage, metrics)).get('daybook_breaks_taken')).toBe(1);
  await stage.run({ range: null }, { resweepDays: 3 });
  const healed = await scraped(stage, metrics);
  expect(healed.get('daybook_breaks_open{state="known"}')).toBe(0);
  expect(healed.get('daybook_breaks_healed_total')).toBe(opened);
  expect(healed.get('daybook_breaks_taken')).toBe(0);
  expect(healed.get('daybook_revisions_published_total{kind="later"}')).toBeGreaterThan(0);
});

test('no label tells of a merchant or an entry, unless merchants are asked for', async () => {
  const { stage, metrics } = await open({ scenario: scenario({ entriesPerDay: 20 }) });
  await stage.run({ range: null }, { resweepDays: 3 });
  const without = [...(await scraped(stage, metrics)).keys()].join('\n');
  expect(without).not.toContain(MERCHANT.merchantNo);
  for (const { batchNo } of stage.sandbox.entriesOf(MERCHANT.merchantNo))
    expect(without).not.toContain(batchNo);
  const samples = await scraped(stage, metrics, { withMerchants: true });
  const own = [...samples].filter(([name]) => name.includes('merchant="'));
  expect(Object.fromEntries(own)).toEqual({
    'daybook_merchant_last_good_reading_timestamp_seconds{merchant="SBX-M-1"}':
      stage.app.now().getTime() / 1_000,
    'daybook_merchant_proven_through_timestamp_seconds{merchant="SBX-M-1"}':
      Date.parse('2026-03-06T00:00:00+08:00') / 1_000,
    'daybook_merchant_dates_missing{merchant="SBX-M-1"}': 0,
    'daybook_merchant_breaks_open{merchant="SBX-M-1"}': 0,
    'daybook_merchant_windows_uncertified{merchant="SBX-M-1"}': 0,
    'daybook_merchant_entries_unreadable{merchant="SBX-M-1"}': 0,
  });
});

test('two registries know nothing of each other', async () => {
  const [one, other] = [createMetrics(), createMetrics()];
  one.observer.onSplit();
  expect(samplesOf(await one.registry.metrics()).get('daybook_windows_split_total')).toBe(1);
  expect(samplesOf(await other.registry.metrics()).get('daybook_windows_split_total')).toBe(0);
});
