/**
 * A day of an account, or most of several days, is gone all at the same time: nothing is believed by repetition, a person decides.
 *
 * @module-tag long
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { entriesOfAmounts, type PlainPlatform, type WireEntry } from '../support/plain-platform.ts';
import { daybook, type Env } from './daybook.ts';
import { openPlainHome } from './plain-home.ts';

const BOOKED: readonly (readonly [string, string, number])[] = [
  ['B1', '2026-03-02 10:00:00', 12_345],
  ['B2', '2026-03-02 11:00:00', -2_345],
  ['B3', '2026-03-03 10:00:00', 700],
  ['B4', '2026-03-03 11:00:00', 800],
  ['B5', '2026-03-03 12:00:00', -100],
  ['B9', '2026-03-03 13:00:00', 100],
  ['B6', '2026-03-04 10:00:00', -50],
  ['B7', '2026-03-04 11:00:00', 60],
  ['B8', '2026-03-04 12:00:00', 70],
  ['B10', '2026-03-04 13:00:00', 20],
];
const ALL = entriesOfAmounts('USD', BOOKED);
const EVERYTHING = () => true;

let platform: PlainPlatform;
let folder: string;
let env: Env;
let close: () => Promise<void>;

beforeEach(async () => {
  const merchant = { PLATFORM_MERCHANT_NO: 'M1', PLATFORM_TOKEN: 'made-up-token' };
  ({ platform, folder, env, close } = await openPlainHome(merchant));
  platform.entriesOf = () => ALL;
});
afterEach(() => close());

const at = (time: string): Env => ({ ...env, DAYBOOK_NOW: `${time}:00+08:00` });
const hide = (hasExited: (entry: WireEntry) => boolean) => {
  platform.entriesOf = () => ALL.filter((entry) => !hasExited(entry));
};
const bookedOn =
  (...days: string[]) =>
  ({ busiDate }: WireEntry) =>
    days.includes(busiDate.slice(0, 10));
const firstNight = async () => {
  const { code, stdout } = await daybook(
    ['run', '--from', '2026-03-02', '--to', '2026-03-04'],
    at('2026-03-05T01:30'),
  );
  expect(code, stdout).toBe(0);
};

async function published(): Promise<Record<string, string>> {
  const files = await readdir(join(folder, 'statements'), { recursive: true, withFileTypes: true });
  const texts = files
    .filter((file) => file.isFile() && /\.r\d+\.csv$/.test(file.name))
    .map(async ({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path, await readFile(path, 'utf8')] as const;
    });
  return Object.fromEntries((await Promise.all(texts)).sort());
}

/** Another ledger's entry in place of a day's own. */
const replaced = (): WireEntry[] => [
  ...ALL.filter((entry) => !bookedOn('2026-03-03')(entry)),
  ...entriesOfAmounts('USD', [['X1', '2026-03-03 10:30:00', 5]]),
];

/** More than half of each of several days; of one day it would be believed by a second reading. */
const MOST = (entry: WireEntry) => ['B3', 'B4', 'B5', 'B6', 'B7', 'B8'].includes(entry.batchNo);

const FORMS: readonly [string, (entry: WireEntry) => boolean, string, number][] = [
  ['a day of an account', bookedOn('2026-03-03'), '2026-03-03', 4],
  ['all entries of all days', EVERYTHING, '2026-03-02 to 2026-03-04', 10],
];

describe.each(FORMS)('%s gone all at the same time', (_, hasExited, days, count) => {
  test('is held however often it is read: exit 4, the statements stand, and what to type is said', async () => {
    await firstNight();
    const before = await published();
    hide(hasExited);
    for (const time of ['05T02:30', '05T04:30', '06T01:30', '07T01:30', '08T01:30']) {
      const { code, stdout } = await daybook(['run'], at(`2026-03-${time}`));
      expect(code, stdout).toBe(4);
      expect(stdout).toContain(`M1 USD ${days}: ${count} entries are gone all at the same time`);
      expect(stdout).toContain('since 2026-03-05 02:30:00');
      expect(stdout).toContain('daybook amendments accept --merchant M1 --currency USD --from 2026-03-0');
      expect(stdout).not.toMatch(/\d+ vanished/);
    }
    const now = await published();
    for (const [name, text] of Object.entries(before)) expect(now[name]).toBe(text);
    expect(Object.keys(now).filter((name) => /r[2-9]\.csv/.test(name))).toEqual([]);
    const status = await daybook(['status'], at('2026-03-08T02:00'));
    expect(status.code, status.stdout).toBe(4);
    expect(status.stdout).toContain(`M1 USD ${days}: ${count} entries are gone all at the same time`);
    expect(status.stdout).toContain('daybook amendments accept');
    const list = await daybook(['amendments', '--json'], at('2026-03-08T02:00'));
    const { held } = JSON.parse(list.stdout) as { held: { entries: number }[] };
    expect(held.reduce((sum, { entries }) => sum + entries, 0)).toBe(count);
    // The platform shows them again.
    hide(() => false);
    const after = await daybook(['run'], at('2026-03-08T04:30'));
    expect(after.code, after.stdout).toBe(0);
    expect(Object.keys(await published()).filter((name) => /r[2-9]\.csv/.test(name))).toEqual([]);
    expect((await daybook(['status'], at('2026-03-08T05:00'))).stdout).not.toContain(
      'gone all at the same time',
    );
    expect((await daybook(['amendments'], at('2026-03-08T05:00'))).stdout).toContain('nothing is held');
  });
});

test('most of several days is held, and most of one day is believed by a second reading', async () => {
  await firstNight();
  hide(MOST);
  await daybook(['run'], at('2026-03-05T02:30'));
  const { code, stdout } = await daybook(['run'], at('2026-03-05T04:30'));
  expect([code, stdout]).toEqual([4, expect.stringContaining('gone all at the same time')]);
  expect(Object.keys(await published()).filter((name) => /r[2-9]\.csv/.test(name))).toEqual([]);
});

/** Three entries on each of three days. Two of three are few enough to be believed of one day alone. */
const SMALL = entriesOfAmounts(
  'USD',
  ['02', '03', '04'].flatMap((day) =>
    [10, 11, 12].map((hour) => [`S${day}${hour}`, `2026-03-${day} ${hour}:00:00`, 500] as const),
  ),
);

test.each([
  [
    'two of three entries of each of three small days',
    ({ batchNo }: WireEntry) => !batchNo.endsWith('10'),
    6,
  ],
  [
    'a complete day and two of three of another',
    ({ batchNo }: WireEntry) => batchNo.startsWith('S02') || ['S0310', 'S0311'].includes(batchNo),
    5,
  ],
])('%s are judged together, although each day is read by itself: held', async (_, isGone, count) => {
  platform.entriesOf = () => SMALL;
  await firstNight();
  const before = await published();
  platform.entriesOf = () => SMALL.filter((entry) => !isGone(entry));
  for (const time of ['05T02:30', '05T04:30']) {
    const { code, stdout } = await daybook(['run'], at(`2026-03-${time}`));
    expect([code, stdout]).toEqual([
      4,
      expect.stringContaining(`${count} entries are gone all at the same time`),
    ]);
    expect(await published()).toEqual(before);
  }
});

test('a night that ends for what is held alone is not tried again before a person has acted', async () => {
  await firstNight();
  hide(EVERYTHING);
  const reasonsOf = async (time: string) => {
    const { stdout } = await daybook(['run', '--json'], at(`2026-03-${time}`));
    const { reasons } = JSON.parse(stdout) as {
      reasons: { exitCode: number; what: string; awaitsPerson?: true }[];
    };
    return reasons.filter(({ exitCode }) => exitCode === 4);
  };
  const held = await reasonsOf('05T02:30');
  expect(held.length).toBeGreaterThan(0);
  expect(held.every(({ awaitsPerson }) => awaitsPerson === true)).toBe(true);
});

test('held days are read every night, however old they are, until they are back', async () => {
  const old = entriesOfAmounts('USD', [
    ['A1', '2026-02-02 10:00:00', 5_000],
    ['A2', '2026-02-03 10:00:00', -1_000],
    ['A3', '2026-02-04 10:00:00', 300],
  ]);
  platform.entriesOf = () => old;
  const first = await daybook(['run', '--from', '2026-02-01', '--to', '2026-02-04'], at('2026-02-05T01:30'));
  expect(first.code, first.stdout).toBe(0);
  const before = await published();
  platform.entriesOf = () => [];
  // The first of these nights reads these days again; the last ones do not of themselves.
  for (const night of ['02-06', '02-20', '02-21'])
    expect((await daybook(['run'], at(`2026-${night}T01:30`))).stdout).toContain('gone all at the same time');
  const reads = async (day: string) => {
    platform.calls.length = 0;
    const { code, stdout } = await daybook(['run'], at(`2026-${day}T01:30`));
    const ms = old[0]!.atMs;
    const isRead = platform.calls.some(
      ({ body }) => Number(body['beginDate']) <= ms && Number(body['endDate']) >= ms && body['pageNum'] === 1,
    );
    return { code, stdout, isRead };
  };
  expect(await reads('02-22')).toMatchObject({ code: 4, isRead: true });
  platform.entriesOf = () => old;
  expect(await reads('02-23')).toMatchObject({ code: 0 });
  expect((await daybook(['amendments'], at('2026-02-23T02:00'))).stdout).toContain('nothing is held');
  expect(await published()).toMatchObject(before);
});

test('a person accepts what is held: the next run marks it as vanished and revises', async () => {
  await firstNight();
  hide(bookedOn('2026-03-03'));
  await daybook(['run'], at('2026-03-05T02:30'));
  const flags = ['--merchant', 'M1', '--currency', 'USD', '--from', '2026-03-03', '--to', '2026-03-03'];
  const accepted = await daybook(
    ['amendments', 'accept', ...flags, '--note', 'letter 4711', '--by', 'Ada'],
    at('2026-03-05T03:00'),
  );
  expect(accepted.code, accepted.stderr).toBe(0);
  expect(accepted.stdout).toContain('4 entries');
  const audit = await daybook(['audit', '--json'], at('2026-03-05T03:00'));
  expect(audit.stdout).toContain('amendments accept');
  expect(audit.stdout).toContain('letter 4711');
  const { code, stdout } = await daybook(['run'], at('2026-03-05T04:30'));
  expect(code, stdout).toBe(3);
  expect(stdout).toContain('4 vanished');
  expect(Object.keys(await published()).filter((name) => /USD_2026-03-03\.r2\.csv$/.test(name))).toHaveLength(
    1,
  );
  expect((await daybook(['status'], at('2026-03-05T05:00'))).stdout).not.toContain(
    'gone all at the same time',
  );
});

test('what was accepted and is back by the next run leaves no trace in a statement', async () => {
  await firstNight();
  const before = await published();
  hide(EVERYTHING);
  await daybook(['run'], at('2026-03-05T02:30'));
  // One merchant alone has held entries, so it need not be named.
  const flags = ['--note', 'said by telephone', '--by', 'Ada', '--json'];
  const accepted = await daybook(['amendments', 'accept', ...flags], at('2026-03-05T03:00'));
  expect(JSON.parse(accepted.stdout)).toMatchObject({ accepted: [{ merchantNo: 'M1', entries: 2 }, {}, {}] });
  hide(() => false);
  const { code, stdout } = await daybook(['run'], at('2026-03-05T04:30'));
  expect(code, stdout).toBe(0);
  expect(await published()).toEqual(before);
  // Later the same is gone again: what was accepted then does not count.
  hide(EVERYTHING);
  expect((await daybook(['run'], at('2026-03-05T06:30'))).code).toBe(4);
  expect((await daybook(['run'], at('2026-03-05T08:30'))).code).toBe(4);
});

test('what is held stays so while some of its entries come and go', async () => {
  await firstNight();
  const before = await published();
  hide(bookedOn('2026-03-03'));
  await daybook(['run'], at('2026-03-05T02:30'));
  for (const [time, left] of [
    ['05T04:30', 'B3'],
    ['05T06:30', 'B4'],
    ['05T08:30', 'B5'],
  ] as const) {
    hide((entry) => bookedOn('2026-03-03')(entry) && entry.batchNo !== left);
    const { code, stdout } = await daybook(['run'], at(`2026-03-${time}`));
    expect(code, stdout).toBe(4);
  }
  expect(await published()).toEqual(before);
});

test('a wrong request is told what to write', async () => {
  const accept = (...args: string[]) => daybook(['amendments', 'accept', ...args], at('2026-03-05T03:00'));
  await firstNight();
  const nothing = await accept('--merchant', 'M1', '--note', 'x');
  expect([nothing.code, nothing.stderr]).toEqual([
    2,
    expect.stringContaining('no held entry and no silent account there waits'),
  ]);
  expect((await accept('--note', 'x')).stderr).toContain('no held entry and no silent account there waits');
  expect((await accept('--merchant', 'M1', '--note', ' ')).stderr).toContain('--note is empty');
  expect((await accept('--merchant', 'M1')).stderr).toContain('--note');
  const help = await daybook(['amendments', 'accept', '--help'], at('2026-03-05T03:00'));
  expect([help.code, help.stdout]).toEqual([0, expect.stringContaining('held')]);
});

test('a day whose own entries all gave way to another one is held as well, however often it is read', async () => {
  await firstNight();
  const before = await published();
  platform.entriesOf = replaced;
  for (const time of ['05T02:30', '05T04:30', '06T01:30']) {
    const { code, stdout } = await daybook(['run'], at(`2026-03-${time}`));
    expect(code, stdout).toBe(4);
    expect(stdout).toContain('M1 USD 2026-03-03: 4 entries are gone all at the same time');
    expect(stdout).not.toMatch(/\d+ vanished/);
  }
  for (const [name, text] of Object.entries(before)) expect((await published())[name]).toBe(text);
});
