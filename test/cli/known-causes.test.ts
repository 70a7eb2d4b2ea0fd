/** What is known of entries, for example that they vanished, is named as the cause of the break it leaves. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freshDatabaseUrl } from '../support/database.ts';
import {
  entriesOfAmounts,
  PLAIN_ZONE,
  startPlainPlatform,
  type PlainPlatform,
  type WireEntry,
} from '../support/plain-platform.ts';
import { daybook, type Env } from './daybook.ts';

const FIRST_NIGHT = '2026-03-04T01:30:00+08:00';
const SECOND_NIGHT = '2026-03-05T01:30:00+08:00';
const LEDGER = entriesOfAmounts('USD', [
  ['N1', '2026-03-02 09:00:00', 500_000],
  ['N2', '2026-03-02 10:00:00', -12_345],
  ['N3', '2026-03-03 09:00:00', 20_011],
  ['N4', '2026-03-03 10:00:00', -85_037],
  ['N5', '2026-03-03 11:00:00', 4_000_000],
  ['N6', '2026-03-03 12:00:00', -777],
  ['N7', '2026-03-03 13:00:00', 3_333],
]);

let platform: PlainPlatform;
let folder: string;
let env: Env;

beforeAll(async () => {
  platform = await startPlainPlatform();
  folder = await mkdtemp(join(tmpdir(), 'daybook-known-'));
});
afterAll(async () => {
  await platform.close();
  await rm(folder, { recursive: true });
});

const at = (now: string): Env => ({ ...env, DAYBOOK_NOW: now });

/** A night over `LEDGER`, and the next one over what it has become. */
async function nights(changed: readonly WireEntry[]): Promise<string> {
  env = {
    PLATFORM_BASE_URL: platform.url,
    PLATFORM_TIME_ZONE: PLAIN_ZONE,
    PLATFORM_MERCHANT_NO: 'P-M-1',
    PLATFORM_TOKEN: 'made-up-token',
    PLATFORM_RETRIES_MAX: '0',
    DATABASE_URL: await freshDatabaseUrl(),
    DAYBOOK_DATA_DIR: folder,
    STATEMENTS_URL: `file://${join(folder, crypto.randomUUID())}`,
  };
  platform.entriesOf = () => LEDGER;
  const first = await daybook(['run', '--from', '2026-03-02', '--to', '2026-03-03'], at(FIRST_NIGHT));
  expect(first.code, first.stdout + first.stderr).toBe(0);
  platform.entriesOf = () => changed;
  const second = await daybook(['run'], at(SECOND_NIGHT));
  expect(second.code, second.stdout + second.stderr).toBe(3);
  return second.stdout;
}

const shown = async (...args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await daybook(args, at(SECOND_NIGHT));
  expect(code, stderr).toBe(0);
  return stdout.replace(/\s+/g, ' ');
};

const without = (...gone: readonly string[]) => LEDGER.filter(({ batchNo }) => !gone.includes(batchNo));
test('a vanished entry is the cause of the break it leaves, in the report, the case, the letter and on its own page', async () => {
  const report = await nights(without('N4'));
  const cause =
    'Vanished entry N4 explains it: the platform showed exactly that amount there, and shows it no longer';
  expect(report.replace(/\s+/g, ' ')).toContain(cause);
  expect(await shown('breaks', 'list')).toContain(cause);
  const found = await shown('breaks', 'show', '1');
  expect(found).toContain(cause);
  expect(found).not.toMatch(/is (?:off|wrong) by/);
  expect(found).toContain(
    'You showed us ledger order N4 there, a debit of 850.37 USD with balance 4,226.29 USD, booked at 2026-03-03 10:00:00. ' +
      'On 2026-03-05 at 01:30:00 you no longer showed it. Its amount equals the unexplained difference.',
  );
  expect(found).toContain('Please tell us why you no longer show what was booked, or show it again.');
  expect(await shown('entries', 'find', 'N4')).toContain('break 1 (open) may come from it');
  expect(report.indexOf(cause.slice(0, 20))).toBeLessThan(report.indexOf('1 new break'));
});
