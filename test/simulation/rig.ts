/** What the oracles run daybook on: one real database, emptied between cases, and runs whose time the case sets. */
import type { Kysely } from 'kysely';
import { createCurrencies } from '../../src/ledger/money.ts';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import { openPlatform, runDeps } from '../../src/run/app.ts';
import { createMerchantWaits } from '../../src/run/side-by-side.ts';
import type { RunDeps } from '../../src/run/active-run.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { CONNECTIONS_MAX, emptyTables } from '../support/database.ts';
import { copyDatabase } from '../support/postgres-server.ts';

export const MERCHANT = { merchantNo: 'M-SIM', token: 'made-up' };

export interface RigRun {
  readonly db: Kysely<DB>;
  readonly reader: LedgerReader;
  readonly objects: ObjectStore;
  readonly zone: string;
  readonly nowMs: number;
  readonly resweepDays: number;
  readonly toleranceS: number;
}

export interface Rig {
  readonly db: Kysely<DB>;
  /** Deletes all rows of all tables, and lets their numbers begin at 1 again. */
  readonly empty: () => Promise<void>;
  /** Ends the lease of a run that was killed. */
  readonly endLease: () => Promise<void>;
  readonly deps: (run: RigRun) => RunDeps;
  readonly close: () => Promise<void>;
}

/** Opens a database of its own, copied from the test server's migrated template. */
export async function openRig(serverUrl: string): Promise<Rig> {
  const database = await openDatabase({
    databaseUrl: await copyDatabase(serverUrl),
    dataDir: '',
    connectionsMax: CONNECTIONS_MAX,
  });
  const empty = () => emptyTables(database.db);
  const platforms = new Map<string, ReturnType<typeof platformOf>>();
  return {
    db: database.db,
    empty,
    endLease: async () => {
      await database.db
        .updateTable('lease')
        .set({ expires_at: new Date(0) })
        .execute();
    },
    deps: ({ db, reader, objects, zone, nowMs, resweepDays, toleranceS }) => {
      const platform = platforms.get(zone) ?? platformOf(zone);
      platforms.set(zone, platform);
      const signal = new AbortController().signal;
      const waits = createMerchantWaits();
      const app = {
        ...platform,
        database: { ...database, db },
        reader,
        objects,
        now: () => new Date(nowMs),
        ...{ waits: waits.listen, onWaiting: waits.tell },
      };
      return {
        ...runDeps({ ...app, currencies: createCurrencies({}), close: database.close }, signal),
        resweepDays,
        clockToleranceS: toleranceS,
      };
    },
    close: async () => {
      for (const platform of platforms.values()) await platform.close();
      await database.close();
    },
  };
}

/** Settings of the platform as a user would give them, including those that no ledger run uses. */
function platformOf(zone: string) {
  const env = {
    PLATFORM_BASE_URL: 'http://127.0.0.1:9',
    PLATFORM_TIME_ZONE: zone,
    PLATFORM_MERCHANT_NO: MERCHANT.merchantNo,
    PLATFORM_TOKEN: MERCHANT.token,
  };
  const settings = loadSettings({ env, readFile: () => '' });
  return { settings, ...openPlatform(settings, {}) };
}
