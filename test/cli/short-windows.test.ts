/**
 * A platform that refuses long windows, cuts them short or refuses old days: nothing old is left uncompared without a word.
 *
 * @module-tag long
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import { freshDatabaseUrl } from '../support/database.ts';
import {
  entriesOfAmounts,
  PLAIN_ZONE,
  plainMs,
  startPlainPlatform,
  type PlainPlatform,
  type WireEntry,
} from '../support/plain-platform.ts';
import { daybook, type Env } from './daybook.ts';

const FIRST = '2026-03-01';
const DAYS = 30;
const DAY_MS = 86_400_000;
const REFUSAL = { status: 200, body: { respCode: 'E10031', respMsg: 'the date range is too long' } };

let platform: PlainPlatform;
let home: string;
let env: Env;
let entries: WireEntry[];
let nowMs: number;

beforeEach(async () => {
  platform = await startPlainPlatform();
  home = await mkdtemp(join(tmpdir(), 'daybook-short-'));
  const days = Array.from({ length: DAYS + 10 }, (_, nth) => addDays(FIRST, nth));
  entries = entriesOfAmounts(
    'USD',
    days.flatMap((day) =>
      ['09', '13', '17'].map((hour): [string, string, number] => [
        `${day}-${hour}`,
        `${day} ${hour}:00:00`,
        100,
      ]),
    ),
  );
  platform.entriesOf = () => entries.filter(({ atMs }) => atMs <= nowMs);
  env = {
    PLATFORM_BASE_URL: platform.url,
    PLATFORM_TIME_ZONE: PLAIN_ZONE,
    PLATFORM_MERCHANT_NO: 'M-PLAIN',
    PLATFORM_TOKEN: 'made-up',
    PLATFORM_RETRIES_MAX: '0',
    DATABASE_URL: await freshDatabaseUrl(),
    DAYBOOK_DATA_DIR: home,
    STATEMENTS_URL: pathToFileURL(join(home, 'statements')).href,
    DAYBOOK_RESWEEP_DAYS: '3',
  };
  await night(0, ['--from', FIRST, '--to', addDays(FIRST, DAYS - 1)]);
});
afterEach(async () => {
  await platform.close();
  await rm(home, { recursive: true, force: true });
});

const night = (nth: number, args: readonly string[] = []) => {
  nowMs = plainMs(`${addDays(FIRST, DAYS + nth)} 02:00:00`);
  return daybook(['run', ...args], { ...env, DAYBOOK_NOW: new Date(nowMs).toISOString() });
};
const amendOld = () => {
  entries = entries.map((one) =>
    one.batchNo === `${addDays(FIRST, 1)}-13` ? { ...one, busiType: '09' } : one,
  );
};
const lengthOf = (body: Readonly<Record<string, unknown>>) =>
  Number(body['endDate']) - Number(body['beginDate']);

test('windows over nine days are refused: an old amendment is found in the same night', async () => {
  platform.alter = (honest, { body }) => (lengthOf(body) > 9 * DAY_MS ? REFUSAL : honest);
  amendOld();
  const { code, stdout } = await night(1);
  expect(code).toBe(3);
  expect(stdout).toContain(`${addDays(FIRST, 1)} was read again`);
});

test('windows over nine days are answered empty, amended after the first night: found within seven nights', async () => {
  platform.alter = (honest, { body }) =>
    lengthOf(body) > 9 * DAY_MS
      ? { status: 200, body: { pageNum: 1, pageSize: 100, total: 0, list: [] } }
      : honest;
  expect(await night(1)).toMatchObject({ code: 0 });
  amendOld();
  let ended = await night(2);
  for (let nth = 3; nth <= 9 && ended.code === 0; nth += 1) ended = await night(nth);
  expect(ended).toMatchObject({ code: 3 });
  expect(ended.stdout).toContain(
    `${addDays(FIRST, 1)} was read again, as an entry of it differs from what is stored: 1 amended`,
  );
});

test('a month longer than the windows that are answered is not asked for as one: few calls, and no word', async () => {
  platform.alter = (honest, { body }) =>
    lengthOf(body) > 9 * DAY_MS
      ? { status: 200, body: { pageNum: 1, pageSize: 100, total: 0, list: [] } }
      : honest;
  for (let nth = 1; nth <= 5; nth += 1) expect(await night(nth)).toMatchObject({ code: 0 });
  // The month ended, and the lookback is past it.
  platform.calls.splice(0);
  const { code, stdout } = await night(6);
  expect([code, stdout]).toEqual([0, expect.not.stringContaining('halves')]);
  expect(platform.calls.length).toBeLessThanOrEqual(5);
});

test('days that the platform refuses to show for seven nights are a reason with 3', async () => {
  const until = plainMs(`${addDays(FIRST, 2)} 23:59:59`);
  platform.alter = (honest, { body }) => (Number(body['beginDate']) <= until ? REFUSAL : honest);
  const first = await night(1);
  expect(first).toMatchObject({ code: 0 });
  expect(first.stdout).toContain(`the platform refuses to show ${FIRST} to ${addDays(FIRST, 2)}`);
  const last = await night(8);
  expect(last.code).toBe(3);
  expect(last.stdout).toContain('these older days were not compared for 7 nights');
});

test('an entry that appears after the first call of a night is published in that night', async () => {
  const { batchNo } = entries.find(({ busiDate }) => busiDate === `${addDays(FIRST, DAYS)} 17:00:00`)!;
  const all = entries;
  const before = platform.calls.length;
  platform.entriesOf = ({ nth }) =>
    all.filter((one) => one.atMs <= nowMs && (one.batchNo !== batchNo || nth > before));
  expect(await night(1)).toMatchObject({ code: 0 });
  const { code, stdout } = await night(2);
  expect([code, stdout]).toEqual([0, expect.not.stringContaining('revised')]);
});

test.each<[string, readonly number[]]>([
  ['its first nine days', Array.from({ length: DAYS }, (_, nth) => nth)],
  ['nine days without entries', [20]],
  ['days after which none comes for ten', [1, 12]],
])('a first reading that is cut to %s is read in parts', async (_, days) => {
  entries = entriesOfAmounts(
    'USD',
    days.map((nth) => [`E${nth}`, `${addDays(FIRST, nth)} 13:00:00`, 100]),
  );
  const other = {
    ...env,
    DATABASE_URL: await freshDatabaseUrl(),
    STATEMENTS_URL: pathToFileURL(join(home, 'again')).href,
  };
  platform.alter = (honest, { body }) => {
    const endMs = Number(body['beginDate']) + 9 * DAY_MS - 1;
    if (Number(body['endDate']) <= endMs) return honest;
    const { list, ...page } = honest.body as { list: readonly { busiDate: string }[] };
    const shown = list.filter(({ busiDate }) => plainMs(busiDate) <= endMs);
    return { status: 200, body: { ...page, total: shown.length, list: shown } };
  };
  const range = ['--from', FIRST, '--to', addDays(FIRST, DAYS - 1)];
  const { code, stdout } = await daybook(['run', ...range], {
    ...other,
    DAYBOOK_NOW: new Date(nowMs).toISOString(),
  });
  expect([code, stdout]).toEqual([0, expect.stringContaining(`${days.length} new`)]);
});
