/** Opens everything a command works with, from settings, and closes it again. The only place that knows all the parts. */
import { randomInt } from 'node:crypto';
import { createCurrencies, type Currencies } from '../ledger/money.ts';
import { openObjectStore } from '../objects/open.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { createBeneficiaryClient, type BeneficiaryClient } from '../platform/beneficiary.ts';
import { createLedgerReader } from '../platform/ledger-history.ts';
import type { LedgerReader } from '../platform/ledger-reader.ts';
import { createMerchantAccessClient, type MerchantAccessClient } from '../platform/merchant-access.ts';
import { createReferenceReader, type ReferenceReader } from '../platform/reference-data.ts';
import { createTransport, systemTransportDeps, type Retry } from '../platform/transport.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';
import type { Settings, SettingsWithoutPlatform } from '../settings/settings.ts';
import { openDatabase } from '../store/connection.ts';
import type { Database } from '../store/database.ts';
import { assertSecretKeys } from '../store/key-check.ts';
import { assertMigrated, migrate } from '../store/migrations.ts';
import { thisHolder } from '../store/process-identity.ts';
import type { Progress } from './progress.ts';
import type { RunDeps } from './work.ts';

export interface House {
  readonly database: Database;
  readonly objects: ObjectStore;
  readonly currencies: Currencies;
  readonly now: () => Date;
  readonly close: () => Promise<void>;
}

/** A house that can speak to the platform. */
export interface PlatformHouse extends House {
  readonly reader: LedgerReader;
  readonly references: ReferenceReader;
  readonly applications: MerchantAccessClient;
  readonly beneficiaries: BeneficiaryClient;
  readonly settings: Settings;
}

export interface HouseOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onRetry?: (retry: Retry) => void;
}

/** The clock, or the instant that DAYBOOK_NOW sets. */
export const clockOf =
  ({ nowMs }: Pick<SettingsWithoutPlatform, 'nowMs'>) =>
  (): Date =>
    nowMs === null ? new Date() : new Date(nowMs);

/**
 * Opens database and object store. The embedded database is brought to this version by itself; a server's is not
 * touched, and `MigrationsPending` says what to do. Throws what opening them throws, and `SecretKeyWrong`.
 */
export async function openHouse(settings: SettingsWithoutPlatform, options: HouseOptions): Promise<House> {
  const database = await openDatabase(settings);
  try {
    if (database.kind === 'embedded') await migrate(database.db);
    else await assertMigrated(database.db);
    await assertSecretKeys(database.db, settings.secretKeys);
    return {
      database,
      objects: openObjectStore({ ...settings, env: options.env }),
      currencies: createCurrencies(settings.currencies),
      now: clockOf(settings),
      close: database.close,
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The platform's client, one part for each operation. Opens without connecting. */
export function openPlatform(settings: Settings, { onRetry }: Pick<HouseOptions, 'onRetry'>) {
  const transport = createTransport(settings.platform, {
    ...systemTransportDeps,
    random: () => randomInt(2 ** 31) / 2 ** 31,
    ...(onRetry === undefined ? {} : { onRetry }),
  });
  return {
    reader: createLedgerReader(transport, {
      zone: settings.platform.timeZone,
      currencies: createCurrencies(settings.currencies),
      pageSize: PAGE_SIZE_MAX,
    }),
    references: createReferenceReader(transport),
    applications: createMerchantAccessClient(transport),
    beneficiaries: createBeneficiaryClient(transport),
    close: () => transport.close(),
  };
}

/** Opens the platform's client as well. */
export async function openPlatformHouse(settings: Settings, options: HouseOptions): Promise<PlatformHouse> {
  const house = await openHouse(settings, options);
  const platform = openPlatform(settings, options);
  return {
    ...house,
    ...platform,
    settings,
    close: async () => {
      await platform.close();
      await house.close();
    },
  };
}

/** What a run takes, from an open house. */
export function runDeps(
  house: PlatformHouse,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void = () => undefined,
): RunDeps {
  const { settings } = house;
  return {
    db: house.database.db,
    reader: house.reader,
    objects: house.objects,
    currencies: house.currencies,
    zone: settings.platform.timeZone,
    settleDelayMs: settings.settleDelayS * 1_000,
    resweepDays: settings.resweepDays,
    clockToleranceS: settings.clockToleranceS,
    checks: settings.checks,
    timeZoneTrusted: settings.platform.timeZoneProof === 'trusted',
    now: house.now,
    holder: thisHolder(),
    signal,
    onProgress,
  };
}
