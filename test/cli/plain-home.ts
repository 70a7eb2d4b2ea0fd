/** What commands need for nights against the small platform: it, a folder, a database, and the environment that names them. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { freshDatabaseUrl } from '../support/database.ts';
import {
  PLAIN_ZONE,
  startPlainPlatform,
  type PlainPlatform,
  type WireCall,
} from '../support/plain-platform.ts';
import { daybook, type Env } from './daybook.ts';

export interface PlainHome {
  readonly platform: PlainPlatform;
  readonly folder: string;
  readonly env: Env;
  readonly close: () => Promise<void>;
}

/** `merchant` says which merchant the settings name, or holds the keys under which tokens of added ones are kept. */
export async function openPlainHome(merchant: Env): Promise<PlainHome> {
  const platform = await startPlainPlatform();
  const folder = await mkdtemp(join(tmpdir(), 'daybook-plain-home-'));
  const env = {
    PLATFORM_BASE_URL: platform.url,
    PLATFORM_TIME_ZONE: PLAIN_ZONE,
    PLATFORM_RETRIES_MAX: '0',
    DATABASE_URL: await freshDatabaseUrl(),
    DAYBOOK_DATA_DIR: folder,
    DAYBOOK_LOG_LEVEL: 'silent',
    ...merchant,
  };
  const close = async (): Promise<void> => {
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { platform, folder, env, close };
}

/** A new key, under which a database can keep tokens of merchants. */
export const withKeys = (): Env => ({
  DAYBOOK_SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
});

/** Adds these merchants, each with a token of its own. */
export async function addMerchants(env: Env, merchants: readonly string[]): Promise<void> {
  for (const merchantNo of merchants) {
    const args = ['merchants', 'add', '--merchant-no', merchantNo, '--token-env', 'TOKEN'];
    expect(await daybook(args, { ...env, TOKEN: `token-${merchantNo}` })).toMatchObject({ code: 0 });
  }
}

/** The added merchant whose token a call has. */
export const callerOf = ({ headers }: WireCall): string =>
  String(headers['authorization']).replace('Bearer token-', '');
