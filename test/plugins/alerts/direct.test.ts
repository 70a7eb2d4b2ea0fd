/** What is reported without the database: once a day, and again as long as no one took it. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { forgetDirectlySent, sendDirectOnceADay } from '../../../src/plugins/alerts/deliver.ts';
import type { AlertSettings } from '../../../src/plugins/alerts/settings.ts';
import { targetsOf } from '../../../src/plugins/alerts/targets.ts';
import { createFailingTicks } from '../../../src/plugins/alerts/process.ts';
import type { AlertContent } from '../../../src/run/alerts.ts';
import { loadSettings } from '../../../src/settings/load.ts';
import { startReceiver, type Receiver } from '../../support/receivers.ts';

let folder: string;
let hook: Receiver;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'daybook-direct-'));
  hook = await startReceiver();
});
afterEach(async () => {
  await hook.close();
  await rm(folder, { recursive: true, force: true });
});

const HOUR_MS = 3_600_000;
const CONTENT: AlertContent = {
  ...{ kind: 'failed-night', title: 'daybook could not begin', sentences: ['It was away.'], todo: 'look' },
  ...{ merchants: [], merchantCount: 0, days: [], since: null, runId: null },
};
const alertsTo = (url: string): AlertSettings => ({
  ...{ webhooks: [{ kind: 'json', url }], secret: null, mail: null, pingUrl: null },
});
const tell = (hours: number) =>
  sendDirectOnceADay(
    targetsOf({
      alerts: alertsTo(hook.url),
      allowInsecure: [],
      statementsUrl: 's3://statements',
    }),
    CONTENT,
    { dataDir: join(folder, 'made', 'when needed'), now: () => new Date(hours * HOUR_MS) },
  );

test('is told once a day also where nobody has made the data folder, and again once it was over', async () => {
  await tell(0);
  await tell(23);
  expect(hook.received).toHaveLength(1);
  await tell(24);
  expect(hook.received).toHaveLength(2);
  await forgetDirectlySent(join(folder, 'made', 'when needed'));
  await tell(25);
  expect(hook.received).toHaveLength(3);
});

test('is told again as long as nobody took it', async () => {
  hook.answer = (response) => response.writeHead(503).end();
  await tell(0);
  hook.answer = (response) => response.writeHead(204).end();
  await tell(1);
  await tell(2);
  expect(hook.received).toHaveLength(2);
});

test('a schedule that cannot ask what is due tells it at a later tick if the network was away, and once a day', async () => {
  const settings = loadSettings({
    readFile: () => '',
    env: {
      PLATFORM_BASE_URL: 'http://127.0.0.1:1',
      PLATFORM_TIME_ZONE: 'Asia/Shanghai',
      DAYBOOK_ALERT_URL: hook.url,
      DAYBOOK_ALERT_SECRET: 'a secret of the receiver, long enough',
      DAYBOOK_DATA_DIR: join(folder, 'data'),
    },
  });
  let nowMs = 0;
  const ticks = createFailingTicks(settings, pino({ level: 'silent' }), () => nowMs);
  const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  hook.answer = (response) => response.destroy();
  for (let tick = 0; tick < 6; tick += 1) await ticks.failed(away);
  expect(hook.received).toHaveLength(2);
  hook.answer = (response) => response.writeHead(204).end();
  for (let tick = 0; tick < 6; tick += 1) await ticks.failed(away);
  expect(hook.received).toHaveLength(3);
  await forgetDirectlySent(join(folder, 'data'));
  nowMs += 24 * HOUR_MS;
  await ticks.failed(away);
  expect(hook.received).toHaveLength(4);
  // Once it has worked, the next trouble is told on the same day.
  const remembered = () => readdir(join(folder, 'data'));
  ticks.worked();
  await expect.poll(remembered).toEqual([]);
  for (let tick = 0; tick < 5; tick += 1) await ticks.failed(away);
  expect(hook.received).toHaveLength(5);
  ticks.worked();
  await expect.poll(remembered).toEqual([]);
});
