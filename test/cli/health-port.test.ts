/**
 * The port of `schedule`, `worker` and `serve` for health checks and metrics, and `metrics` where there is no port.
 *
 * @module-tag long
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { helpOf, samplesOf } from '../plugins/observe/support.ts';
import { installQueue } from '../../src/plugins/queue/queue.ts';
import { openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, startDaybook, type Env, type Started } from './daybook.ts';

let stage: Stage;
let env: Env;
const started: Started[] = [];
beforeEach(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 5 }) });
  env = {
    ...envOf(stage),
    DAYBOOK_HEALTH_LISTEN: '127.0.0.1:0',
    DAYBOOK_SCHEDULE_RESWEEP: '30 1 * * *',
    DAYBOOK_SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
  };
});
afterEach(async () => {
  for (const { child, ended } of started.splice(0)) {
    child.kill('SIGTERM');
    await ended;
  }
  await stage.close();
});

const begin = (args: readonly string[], change: Env = {}): Started => {
  const one = startDaybook(args, { ...env, ...change });
  started.push(one);
  return one;
};
const urlOf = async ({ reported }: Started): Promise<string> => {
  const url = await vi.waitFor(
    () =>
      /"url":"([^"]+)","msg":"health checks and metrics"/.exec(reported())?.[1] ?? expect.fail(reported()),
    { timeout: 30_000 },
  );
  return url;
};
const get = async (url: string) => {
  const response = await fetch(url);
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
};
/** Scrapes until the sample has the value. */
const scrapedUntil = (url: string, name: string, value: number) =>
  vi.waitFor(
    async () => {
      const samples = samplesOf((await get(`${url}/metrics`)).text);
      expect(samples.get(name)).toBe(value);
      return samples;
    },
    { timeout: 40_000, interval: 500 },
  );

it('schedule answers while it works, and its night shows', async () => {
  const url = await urlOf(begin(['schedule']));
  expect(await get(`${url}/healthz`)).toMatchObject({ status: 200, text: '{"alive":true}' });
  expect(await get(`${url}/readyz`)).toMatchObject({ status: 200 });
  expect(await get(`${url}/notify/onboarding/x`)).toMatchObject({ status: 404 });
  const samples = await scrapedUntil(url, 'daybook_last_run_exit_code', 0);
  expect(samples.get('daybook_revisions_published_total{kind="first"}')).toBeGreaterThan(0);
  expect(samples.get('daybook_dates_missing')).toBe(0);
  expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(0);
  const page = await get(`${url}/metrics`);
  expect(page.type).toContain('text/plain; version=0.0.4');
  expect(page.text).not.toContain('SBX-M-1');
  for (const [name, help] of helpOf(page.text)) expect(help, name).toMatch(/\w/);
}, 90_000);

it('an address that is taken is told, and the night is done all the same', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const schedule = begin(['schedule'], { DAYBOOK_HEALTH_LISTEN: `127.0.0.1:${port}` });
  await vi.waitFor(() => expect(schedule.reported()).toContain('job ended'), { timeout: 40_000 });
  expect(schedule.reported()).toMatch(/cannot listen on [^ ]+: EADDRINUSE.*no health checks/);
  taken.close();
}, 90_000);

it('a worker and a serving process answer as well, each with what it does', async () => {
  await installQueue(stage.app.database.db);
  const queued = { DAYBOOK_WORKERS: 'queue' };
  begin(['schedule'], queued);
  const worker = await urlOf(begin(['worker'], { ...queued, DAYBOOK_METRICS_MERCHANTS: 'true' }));
  await scrapedUntil(worker, 'daybook_last_run_exit_code', 0);
  const samples = await scrapedUntil(worker, 'daybook_queue_jobs{lane="night",state="active"}', 0);
  // The sweep around midday may be made up for by then, too.
  expect(samples.get('daybook_merchants_done_total{outcome="good"}')).toBeGreaterThanOrEqual(1);
  expect(samples.get('daybook_merchant_dates_missing{merchant="SBX-M-1"}')).toBe(0);
  const serving = begin(['serve', '--json'], { DAYBOOK_LISTEN: '127.0.0.1:0' });
  let reported = '';
  serving.child.stdout!.on('data', (text: string) => (reported += text));
  await vi.waitFor(() => expect(reported).toContain('"healthUrl"'), { timeout: 30_000 });
  const { url, healthUrl } = JSON.parse(reported) as { url: string; healthUrl: string };
  expect((await get(`${url}/metrics`)).status).toBe(404);
  const inbox = samplesOf((await get(`${healthUrl}/metrics`)).text);
  expect(inbox.get('daybook_inbox_waiting')).toBe(0);
}, 120_000);

it('`metrics` tells the state after a run from cron, and ends with 0', async () => {
  const none = { ...env, DAYBOOK_HEALTH_LISTEN: '' };
  expect((await daybook(['run'], none)).code).toBe(0);
  const { code, stdout } = await daybook(['metrics'], none);
  expect(code).toBe(0);
  const samples = samplesOf(stdout);
  expect(samples.get('daybook_last_run_exit_code')).toBe(0);
  expect(samples.get('daybook_last_good_night_timestamp_seconds')).toBe(stage.app.now().getTime() / 1_000);
  expect([...samples.keys()].filter((name) => name.startsWith('process_'))).toEqual([]);
  const document = JSON.parse((await daybook(['metrics', '--json'], none)).stdout);
  expect(document).toMatchObject({ ledger: { merchants: 1, daysMissing: 0 }, inbox: { waiting: 0 } });
}, 60_000);
