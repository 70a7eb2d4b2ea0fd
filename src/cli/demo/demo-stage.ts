/**
 * What the onboarding demo runs on: an embedded database of its own, and a server to which the sandbox pushes
 * results.
 */
import { randomBytes } from 'node:crypto';
import { rmSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPlatformApp, type PlatformApp } from '../../run/app.ts';
import type { ScenarioInput } from '../../sandbox/scenario.ts';
import { loadSettings } from '../../settings/load.ts';
import type { Settings } from '../../settings/settings.ts';
import type { Serving } from '../../web/serve.ts';
import { stopSignal } from '../context.ts';
import { PORT_DEFAULT } from '../sandbox.ts';

export const SETTINGS_FILE = '.daybook/demo-onboarding.yaml';
const DATA_DIR = '.daybook/demo-onboarding';
/** A review of the sandbox takes a second or less. */
const RESULT_MS_MAX = 20_000;
const CHECK_EVERY_MS = 50;

/** A platform without the demo's merchant: the application makes this merchant. */
export const SCENARIO: ScenarioInput = {
  seed: 1101,
  timeZone: 'Asia/Shanghai',
  from: '2026-03-01',
  to: '2026-03-31',
  now: '2026-04-01T01:30:00+08:00',
  merchants: [{ merchantNo: 'SANDBOX-10001', token: 'made-up-token-of-10001', currencies: ['USD'] }],
};

export interface Stage {
  readonly app: PlatformApp;
  readonly serving: Serving;
  readonly signal: AbortSignal;
}

/** Settings from `SETTINGS_FILE`, which is written if there is none. Deletes what an earlier demo stored. */
export function demoSettings(url: string): Settings {
  rmSync(DATA_DIR, { recursive: true, force: true });
  return settingsForDemo(SETTINGS_FILE, settingsText, url);
}

const settingsText = (): string => `# Written by \`npm run demo:onboarding\`.
platform:
  baseUrl: ${SANDBOX_URL}
  timeZone: ${SCENARIO.timeZone ?? ''}
  referralChannel: A0001
daybook:
  now: ${SCENARIO.now ?? ''}
  dataDir: ${DATA_DIR}
  listen: 127.0.0.1:0
  referenceCountries: HK
  secretKeys: demo:${randomBytes(32).toString('base64')}
`;

/** Opens the app and serves its notifications on a free port, which is also the public address here. */
export async function withServing<Result>(
  settings: Settings,
  work: (stage: Stage) => Promise<Result>,
): Promise<Result> {
  const app = await openPlatformApp(settings, { env: {} });
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopSignal(), stopping.signal]);
  try {
    const { serve } = await import('../../web/serve.ts');
    const serving = await serve(app, settings, signal, {
      onRefusal: () => undefined,
      onProcessed: () => undefined,
      onFault: (error) => process.stderr.write(`processing failed: ${String(error)}\n`),
    });
    try {
      const reachable = { ...settings, publicUrl: serving.url };
      return await work({ app: { ...app, settings: reachable }, serving, signal });
    } finally {
      stopping.abort();
      await serving.ended;
    }
  } finally {
    await app.close();
  }
}

/** Calls `find` until it returns something. Throws after `RESULT_MS_MAX`. */
export async function until<Found>(find: () => Promise<Found | undefined>): Promise<Found> {
  for (let waitedMs = 0; waitedMs < RESULT_MS_MAX; waitedMs += CHECK_EVERY_MS) {
    const found = await find();
    if (found !== undefined) return found;
    await sleep(CHECK_EVERY_MS);
  }
  throw new Error(`the sandbox pushed no result within ${RESULT_MS_MAX / 1_000} s`);
}

/** The address that `daybook sandbox` listens on. */
export const SANDBOX_URL = `http://127.0.0.1:${PORT_DEFAULT}`;

/**
 * Reads settings from the file at `path`; if there is none, writes it from `text` first. The platform is at `url`.
 * The environment is ignored, as it may belong to a real installation. Throws `SettingsInvalid`.
 */
export function settingsForDemo(path: string, text: () => string, url: string): Settings {
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text(), { mode: 0o600 });
  }
  const settings = loadSettings({
    env: {},
    configPath: path,
    readFile: (file) => readFileSync(file, 'utf8'),
    needs: ['platform'],
  });
  return { ...settings, platform: { ...settings.platform, baseUrl: url } };
}
