/**
 * Opens everything a command works with, from the settings, and closes it again. The only file that knows all the
 * parts.
 */
import { randomInt } from 'node:crypto';
import { createCurrencies, type Currencies } from '../ledger/money.ts';
import { openObjectStore } from '../objects/open.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { createLedgerReader } from '../platform/ledger-history.ts';
import {
  createTransport,
  systemTransportDeps,
  type Retry,
  type TransportDeps,
} from '../platform/transport.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';
import type { Settings, SettingsWithoutPlatform } from '../settings/settings.ts';
import { publishedFormats } from '../statements/formats/all.ts';
import { openDatabase } from '../store/engine/connection.ts';
import type { OnWaiting } from '../platform/waits.ts';
import type { Database } from '../store/engine/database.ts';
import { assertSecretKeys } from '../store/secrets/key-check.ts';
import { assertMigrated, migrate } from '../store/engine/migrations.ts';
import { openPlatformLimit } from '../store/platform-limit.ts';
import { thisHolder } from '../host/process-identity.ts';
import { alertsOf, type RunAlerts } from './alerts.ts';
import { createMerchantWaits, type Waits } from './side-by-side.ts';
import { UNOBSERVED, type Observer, type Progress, type RunDeps } from './active-run.ts';

export interface App {
  readonly database: Database;
  readonly objects: ObjectStore;
  readonly currencies: Currencies;
  readonly now: () => Date;
  /** Asks whether leases of this process are still held. */
  readonly close: () => Promise<void>;
}

/** The app, together with the platform's client. */
export interface PlatformApp extends App, Omit<ReturnType<typeof openPlatform>, 'close'> {
  readonly settings: Settings;
  /** Which merchants have nothing but waits for the platform, as it changes. */
  readonly waits: Waits;
  readonly onWaiting: OnWaiting;
  /** Receives the work of this process; no one if it is left out. */
  readonly observer?: Observer;
  /** What its runs tell people with; left out where no alerts are set up. */
  readonly alerts?: RunAlerts;
}

export interface AppOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onRetry?: (retry: Retry) => void;
  /** Receives the work of this process; no one if it is left out. */
  readonly observer?: Observer;
  /** Called with what could not be reported to people. */
  readonly onAlertProblem?: (error: unknown) => void;
  /** Clock, randomness and waiting for calls to the platform. If left out, the machine's own. */
  readonly transport?: TransportDeps;
  /** The current time. If left out: the clock, or the instant set by DAYBOOK_NOW. */
  readonly now?: () => Date;
}

const machineDeps: TransportDeps = {
  ...systemTransportDeps,
  random: () => randomInt(2 ** 31) / 2 ** 31,
};

/** The clock, or the instant that DAYBOOK_NOW sets. */
export const clockOf =
  ({ nowMs }: Pick<SettingsWithoutPlatform, 'nowMs'>) =>
  (): Date =>
    nowMs === null ? new Date() : new Date(nowMs);

/**
 * Opens the database and the object store. The embedded database is migrated to this version. A server's database is
 * not changed; `MigrationsPending` says what to do about it. Throws what opening them throws, and `SecretKeyWrong`.
 */
export async function openApp(settings: SettingsWithoutPlatform, options: AppOptions): Promise<App> {
  const database = await openDatabase(settings);
  try {
    if (database.kind === 'embedded') await migrate(database.db);
    else await assertMigrated(database.db);
    await assertSecretKeys(database.db, settings.secretKeys);
    return {
      database,
      objects: await openObjectStore({ ...settings, env: options.env }),
      currencies: createCurrencies(settings.currencies),
      now: options.now ?? clockOf(settings),
      close: database.close,
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Where the platform's client shares nothing with other processes, `shared` is left out. */
type PlatformOptions = Pick<AppOptions, 'onRetry' | 'observer' | 'transport'> &
  Pick<TransportDeps, 'shared' | 'onWaiting'>;

/** The platform's client: the reader of the ledger, and the transport, on which other operations stand. Opens without connecting. */
export function openPlatform(settings: Settings, options: PlatformOptions) {
  const { transport: deps = machineDeps, onRetry, observer = UNOBSERVED, shared, onWaiting } = options;
  const transport = createTransport(settings.platform, {
    ...deps,
    onRetry: (retry) => {
      observer.onRetry(retry);
      onRetry?.(retry);
    },
    onCall: observer.onCall,
    trace: observer.trace,
    ...(shared && { shared }),
    ...(onWaiting && { onWaiting }),
  });
  return {
    reader: createLedgerReader(transport, {
      zone: settings.platform.timeZone,
      currencies: createCurrencies(settings.currencies),
      pageSize: PAGE_SIZE_MAX,
    }),
    transport,
    close: () => transport.close(),
  };
}

/** Opens the app together with the platform's client. */
export async function openPlatformApp(settings: Settings, options: AppOptions): Promise<PlatformApp> {
  const app = await openApp(settings, options);
  try {
    return await withPlatformOf(app, settings, options);
  } catch (error) {
    await app.close();
    throw error;
  }
}

async function withPlatformOf(app: App, settings: Settings, options: AppOptions): Promise<PlatformApp> {
  const { db, kind } = app.database;
  const onProblem = options.onAlertProblem ?? (() => undefined);
  const alerts = (await alertsOf(settings))?.ofRuns(settings, { now: app.now, onProblem });
  const waits = createMerchantWaits();
  const platform = openPlatform(settings, {
    ...{ ...options, onWaiting: waits.tell },
    // No one else has the embedded database open.
    ...(kind !== 'embedded' && { shared: openPlatformLimit(db) }),
  });
  return {
    ...app,
    ...platform,
    settings,
    waits: waits.listen,
    onWaiting: waits.tell,
    ...(options.observer && { observer: options.observer }),
    ...(alerts !== undefined && { alerts }),
    close: async () => {
      try {
        await platform.close();
      } finally {
        await app.close();
      }
    },
  };
}

/** What a run needs, taken from an open app. */
export function runDeps(
  app: PlatformApp,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void = () => undefined,
): RunDeps {
  const { reader, objects, currencies, waits, onWaiting, now, settings } = app;
  const { merchantsAtOnce, resweepDays, resweepDaysMax, clockToleranceS, checks, signingKey } = settings;
  return {
    db: app.database.db,
    ...{ reader, objects, currencies, waits, onWaiting, now, signal, onProgress },
    holder: thisHolder(),
    ...{ merchantsAtOnce, resweepDays, resweepDaysMax, clockToleranceS, checks, signingKey },
    zone: settings.platform.timeZone,
    timeZoneTrusted: settings.platform.timeZoneProof === 'trusted',
    settleDelayMs: settings.settleDelayS * 1_000,
    formats: publishedFormats(settings.statementFormats, settings.bankCurrencies),
    ...(app.alerts && { alerts: app.alerts }),
    ...(app.observer && { observer: app.observer }),
  };
}
