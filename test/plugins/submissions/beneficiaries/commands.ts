/** `daybook` for the tests of a file about beneficiaries: on a database that is emptied before each of them, with a folder for files. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { stringify } from 'yaml';
import { emptyTables, freshDatabase, type ServerDatabase } from '../../../support/database.ts';
import { daybook, type Ended, type Env } from '../../../cli/daybook.ts';
import type { File } from './files.ts';

export interface Commands {
  readonly database: () => ServerDatabase;
  readonly folder: () => string;
  readonly run: (args: readonly string[], env?: Env) => Promise<Ended>;
  /** Writes a registration, as JSON where the name ends so; its path. */
  readonly written: (file: File, name?: string) => Promise<string>;
}

/** `merchant` and `env` are what commands are given unless a test says otherwise. No platform is there. */
export function useCommands(
  merchant: { readonly merchantNo: string; readonly token: string },
  env: Env = {},
): Commands {
  const secretKeys = `k1:${randomBytes(32).toString('base64')}`;
  let database: ServerDatabase;
  let folder: string;
  beforeAll(async () => {
    database = await freshDatabase();
    folder = await mkdtemp(join(tmpdir(), 'daybook-beneficiary-'));
  });
  beforeEach(() => emptyTables(database.db));
  afterAll(async () => {
    await database.close();
    await rm(folder, { recursive: true });
  });
  return {
    database: () => database,
    folder: () => folder,
    run: (args, own = {}) =>
      daybook(args, {
        DATABASE_URL: database.url,
        DAYBOOK_DATA_DIR: folder,
        DAYBOOK_SECRET_KEYS: secretKeys,
        PLATFORM_BASE_URL: 'http://127.0.0.1:1',
        PLATFORM_TIME_ZONE: 'UTC',
        PLATFORM_RETRIES_MAX: '0',
        PLATFORM_MERCHANT_NO: merchant.merchantNo,
        PLATFORM_TOKEN: merchant.token,
        ...env,
        ...own,
      }),
    written: async (file, name = 'payee.yaml') => {
      const path = join(folder, name);
      await writeFile(
        path,
        name.endsWith('.json') ? JSON.stringify(file) : stringify(file, { lineWidth: 0 }),
      );
      return path;
    },
  };
}
