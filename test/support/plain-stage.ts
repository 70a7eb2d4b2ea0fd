/** The app on a real database and a folder, against the small platform over HTTP, with a clock that the test sets. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { openPlatformApp, runDeps, type PlatformApp } from '../../src/run/app.ts';
import type { RunRequest } from '../../src/run/active-run.ts';
import type { RunReport } from '../../src/run/report.ts';
import { executeRun } from '../../src/run/run.ts';
import { underLeasesAsNeeded } from '../../src/run/leases.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { adoptStore, type AdoptReport } from '../../src/months/adopt.ts';
import { CONNECTIONS_MAX, freshDatabaseUrl } from './database.ts';
import { PLAIN_ZONE, startPlainPlatform, type PlainPlatform, type WireEntry } from './plain-platform.ts';
import { skippingTime } from './virtual-time.ts';

export const PLAIN_MERCHANT = { merchantNo: 'M-PLAIN', token: 'made-up' };

export interface PlainStage {
  readonly platform: PlainPlatform;
  /** What the platform shows from now on. */
  entries: readonly WireEntry[];
  readonly app: () => PlatformApp;
  /** The folder of published files. */
  readonly folder: string;
  readonly now: () => Date;
  readonly setNow: (iso: string) => void;
  readonly run: (from: string, to: string, more?: Partial<RunRequest>) => Promise<RunReport>;
  readonly night: () => Promise<RunReport>;
  /** Goes on with an empty database on the same store. */
  readonly newDatabase: () => Promise<void>;
  readonly adopt: () => Promise<AdoptReport>;
  readonly close: () => Promise<void>;
}

/** `zone` is that of the stamps, if they are not in `PLAIN_ZONE`. */
export async function openPlainStage(
  entries: readonly WireEntry[],
  now: string,
  { zone = PLAIN_ZONE, env = {} }: { readonly zone?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<PlainStage> {
  const platform = await startPlainPlatform();
  const home = await mkdtemp(join(tmpdir(), 'daybook-plain-'));
  const folder = join(home, 'statements');
  let nowMs = Date.parse(now);
  const opened: PlatformApp[] = [];
  const open = async (): Promise<void> => {
    const settings = loadSettings({
      env: {
        PLATFORM_BASE_URL: platform.url,
        PLATFORM_TIME_ZONE: zone,
        PLATFORM_MERCHANT_NO: PLAIN_MERCHANT.merchantNo,
        PLATFORM_TOKEN: PLAIN_MERCHANT.token,
        DATABASE_URL: await freshDatabaseUrl(),
        DAYBOOK_DATA_DIR: home,
        STATEMENTS_URL: pathToFileURL(folder).href,
        DAYBOOK_LOG_LEVEL: 'silent',
        ...env,
      },
      readFile: () => '',
      needs: ['platform'],
    });
    const now = () => new Date(nowMs);
    const few = { ...settings, connectionsMax: CONNECTIONS_MAX };
    opened.push(await openPlatformApp(few, { env: {}, transport: skippingTime(), now }));
  };
  await open();
  const app = () => opened.at(-1)!;
  const execute = (request: Partial<RunRequest>): Promise<RunReport> =>
    executeRun(
      { command: 'run', range: null, merchants: [PLAIN_MERCHANT], currencies: null, ...request },
      runDeps(app(), new AbortController().signal),
    );
  const stage: PlainStage = {
    platform,
    entries,
    app,
    folder,
    now: () => new Date(nowMs),
    setNow: (iso) => void (nowMs = Date.parse(iso)),
    run: (from, to, more = {}) => execute({ range: { from, to }, ...more }),
    night: () => execute({}),
    newDatabase: async () => {
      await open();
      // Test databases are copies of one. A separate database would have its own identity.
      await sql`UPDATE installation SET id = gen_random_uuid()`.execute(app().database.db);
    },
    adopt: () => {
      const { db, holder, signal, objects, now } = runDeps(app(), new AbortController().signal);
      return underLeasesAsNeeded({ db, holder, signal }, (leaseOf, held) =>
        adoptStore({ db, leaseOf, objects, now, signal: held }),
      );
    },
    close: async () => {
      for (const one of opened) await one.close();
      await platform.close();
      await rm(home, { recursive: true, force: true });
    },
  };
  platform.entriesOf = () => stage.entries.filter(({ atMs }) => atMs <= nowMs);
  return stage;
}
