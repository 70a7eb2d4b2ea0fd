/** A merchant that has a ledger here and that no one reads any more is reported by every command until it is disabled. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../src/store/engine/connection.ts';
import { entriesOfAmounts } from '../support/plain-platform.ts';
import { daybook, type Ended, type Env } from './daybook.ts';
import { callerOf, openPlainHome, withKeys } from './plain-home.ts';

let env: Env;
let folder: string;
let close: () => Promise<void>;
beforeEach(async () => {
  const ledgers = new Map([
    ['1', entriesOfAmounts('USD', [['A1', '2026-03-02 10:00:00', 5_000]])],
    ['2', entriesOfAmounts('USD', [['B1', '2026-03-02 11:00:00', 7_000]])],
  ]);
  const home = await openPlainHome({ ...withKeys(), TOKEN_2: 'token-2' });
  home.platform.entriesOf = (call) => ledgers.get(callerOf(call)) ?? [];
  ({ env, folder, close } = home);
});
afterEach(() => close());

const BY_SETTINGS = { PLATFORM_MERCHANT_NO: 'S1', PLATFORM_TOKEN: 'token-1' };
const at = (now: string, own: Env, change: Env = {}): Env => ({ ...own, ...change, DAYBOOK_NOW: now });
const FIRST_NIGHT = '2026-03-03T01:30:00+08:00';
const LATER = '2026-03-05T01:30:00+08:00';

/** S1 is read by the settings for a night, S2 is added, and the settings name no one any more. */
async function withoutSettings(): Promise<void> {
  const first = await daybook(['run'], at(FIRST_NIGHT, env, BY_SETTINGS));
  expect(first).toMatchObject({ code: 0 });
  const added = await daybook(
    ['merchants', 'add', '--merchant-no', 'S2', '--token-env', 'TOKEN_2'],
    at(LATER, env),
  );
  expect(added).toMatchObject({ code: 0 });
}
const ended = async (...args: string[]): Promise<Ended> => daybook(args, at(LATER, env));

test(
  'a merchant given by settings alone is told once these are gone, until it is disabled or read again',
  { tags: ['long'] },
  async () => {
    await withoutSettings();
    for (const args of [
      ['run'],
      ['status'],
      ['status', '--max-age', '26h'],
      ['doctor'],
      ['backfill', '--from', '2026-02-01', '--to', '2026-02-02', '--now'],
    ]) {
      const { code, stdout } = await ended(...args);
      expect({ args, code, stdout }).toMatchObject({
        code: 4,
        stdout: expect.stringMatching(/S1 .*is not read/),
      });
      expect(stdout).toContain('daybook merchants disable S1');
    }
  },
);

test(
  'until it is read again or disabled; a run of another merchant answers for that alone',
  { tags: ['long'] },
  async () => {
    await withoutSettings();
    // A run of S2 alone answers for S2 alone.
    expect(await ended('run', '--merchant', 'S2')).toMatchObject({ code: 0 });
    expect(await daybook(['run'], at(LATER, env, BY_SETTINGS))).toMatchObject({ code: 0 });
    expect(await ended('run')).toMatchObject({ code: 4 });
    expect(await ended('merchants', 'disable', 'S1')).toMatchObject({ code: 0 });
    for (const args of [['run'], ['status'], ['doctor']])
      expect(await ended(...args)).toMatchObject({ code: 0 });
    expect(await ended('merchants', 'disable', 'S3')).toMatchObject({ code: 2 });
  },
);

test('an active merchant that has lost its token is told, with or without a ledger', async () => {
  await withoutSettings();
  await ended('merchants', 'disable', 'S1');
  const { db, close } = await openDatabase({ databaseUrl: env['DATABASE_URL']!, dataDir: folder });
  await db
    .insertInto('merchant')
    .values({ merchant_no: 'S4', added_at: new Date(LATER), joined_at: new Date(LATER) })
    .execute();
  await close();
  const { code, stdout } = await ended('run');
  expect({ code, stdout }).toMatchObject({ code: 4, stdout: expect.stringMatching(/S4 .*is not read/) });
  expect(await ended('status')).toMatchObject({ code: 4 });
});

test('where nobody else is read, status tells it, and run names it', async () => {
  await daybook(['run'], at(FIRST_NIGHT, env, BY_SETTINGS));
  expect(await ended('status')).toMatchObject({ code: 4, stdout: expect.stringMatching(/S1 .*is not read/) });
  expect(await ended('run')).toMatchObject({ code: 2, stderr: expect.stringContaining('S1') });
});
