/**
 * `serve` with the pages in the same process, as a process: takes a database's URL, a key and a folder of statements, prints
 * its addresses, and when it is stopped its peak memory and the longest time for which its thread answered no one.
 */
import '../src/plugins.ts';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { keepHeapSmall } from '../src/cli/heap.ts';
import { serve } from '../src/plugins/submissions/serve.ts';
import { pagesShown, shownPages } from '../src/plugins/pages/shown.ts';
import { createDirectoryStore } from '../src/objects/directory.ts';
import { clockOf } from '../src/run/app.ts';
import { loadSettings } from '../src/settings/load.ts';
import { openDatabase } from '../src/store/engine/connection.ts';
import { givenInput } from './input.ts';
import { ZONE } from './scenario.ts';

keepHeapSmall();
const {
  databaseUrl,
  key,
  folder,
  now: at,
  env = {},
} = givenInput() as {
  databaseUrl: string;
  key: string;
  folder: string;
  now?: string;
  env?: Record<string, string>;
};
const settings = loadSettings({
  env: {
    DATABASE_URL: databaseUrl,
    PLATFORM_BASE_URL: 'https://platform.example',
    PLATFORM_TIME_ZONE: ZONE,
    DAYBOOK_SECRET_KEYS: `bench:${key}`,
    DAYBOOK_LISTEN: '127.0.0.1:8080',
    DAYBOOK_PAGES_LISTEN: '127.0.0.1:8082',
    DAYBOOK_PAGES_URL: 'http://127.0.0.1:8082',
    DAYBOOK_ACCESS_PROXY_HEADER: 'x-person',
    DAYBOOK_ACCESS_PROXIES: '127.0.0.1',
    DAYBOOK_ACCESS_ROLES: '{"*":"viewer"}',
    ...(at !== undefined && { DAYBOOK_NOW: at }),
    ...env,
  },
  readFile: () => '',
});
const database = await openDatabase(settings);
const now = clockOf(settings);
const pages = shownPages(
  await pagesShown(
    { ...settings, pagesListen: settings.pagesListen! },
    { database, objects: createDirectoryStore(folder), now },
  ),
);
const anyPort = { host: '127.0.0.1', port: 0 };
const { url, pagesUrl } = await serve(
  { database, now, pages },
  { secretKeys: settings.secretKeys, listen: anyPort, pagesListen: { ...anyPort } },
  new AbortController().signal,
  {
    onRefusal: ({ status, reason }) => process.stderr.write(`refused with ${status}: ${reason}\n`),
    onProcessed: () => undefined,
    onFault: (error) => process.stderr.write(`${String(error)}\n`),
  },
);
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
process.once('SIGTERM', () => {
  const [peakMegabytes, blockedMs] = [process.resourceUsage().maxRSS / 1_024, delay.max / 1_000_000];
  process.stdout.write(`${JSON.stringify({ peakMegabytes, blockedMs })}\n`, () => process.exit());
});
process.stdout.write(`${JSON.stringify({ url, pagesUrl })}\n`);
