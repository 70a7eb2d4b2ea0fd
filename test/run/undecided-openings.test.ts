/** Entries of one second that cancel fit several openings: zero where the ledger begins, else what other entries say. */
import { grouped, moneyText } from '../../src/ledger/money.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RunReport } from '../../src/run/report.ts';
import { readObject } from '../../src/objects/object-store.ts';
import { manifestKey } from '../../src/verify/names.ts';
import { entriesOfAmounts, startPlainPlatform, type PlainPlatform } from '../support/plain-platform.ts';
import { MERCHANT, openStage, type Stage } from '../support/stage.ts';
import { shortAndLong } from '../support/short-and-long.ts';

let platform: PlainPlatform;
let stage: Stage;

beforeEach(async () => {
  platform = await startPlainPlatform();
  stage = await openStage({ platform: { baseUrl: platform.url } });
});
afterEach(async () => {
  await stage.close();
  await platform.close();
});

type Amounts = Parameters<typeof entriesOfAmounts>[1];

const show = (...accounts: readonly (readonly [currency: string, amounts: Amounts])[]): void => {
  const entries = accounts.flatMap(([currency, amounts]) => entriesOfAmounts(currency, amounts));
  platform.entriesOf = () => entries;
};

/** A run over days, in the night after the last one. */
async function read(from: string, to: string): Promise<RunReport> {
  const after = new Date(Date.parse(`${to}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10);
  stage.setNow(`${after}T01:30:00+08:00`);
  return stage.run({ range: { from, to } });
}

interface Shown {
  readonly currency: string;
  readonly revision: number;
  readonly opening: string;
  readonly closing: string;
  readonly otherClosings?: readonly string[];
  readonly superseded: readonly { readonly reason: string }[];
}

async function published(day: string, currency = 'USD'): Promise<Shown> {
  const bytes = await readObject(stage.app.objects, manifestKey(MERCHANT.merchantNo, day));
  const { statements } = JSON.parse(bytes!.toString()) as { readonly statements: readonly Shown[] };
  return statements.find((one) => one.currency === currency)!;
}

const balances = async (day: string, currency?: string): Promise<string> => {
  const { opening, closing, otherClosings } = await published(day, currency);
  return [`${opening} to ${closing}`, ...(otherClosings ?? []).map((other) => `or ${other}`)].join(' ');
};

const DAY = '2026-03-02';
/** A credit and an equal debit in one second. The one whose number sorts last ends the day, as far as balances tell. */
const pair = (day: string, cents: number, numbers: readonly [string, string]): Amounts => [
  [numbers[0], `${day} 10:00:00`, cents],
  [numbers[1], `${day} 10:00:00`, -cents],
];
const BOTH_WAYS = [['B1', 'B2'] as const, ['B2', 'B1'] as const] as const;

describe('where the ledger begins, an account opens on zero', () => {
  test.each(BOTH_WAYS)('with a credit %s and an equal debit %s in one second', async (...numbers) => {
    show(['USD', pair(DAY, 12_345, numbers)]);
    const { exitCode } = await read(DAY, '2026-03-04');
    expect([await balances(DAY), await balances('2026-03-04')]).toEqual(['0.00 to 0.00', '0.00 to 0.00']);
    expect(exitCode).toBe(0);
  });

  test.each(BOTH_WAYS)('with such a pair a day, %s and %s, for two weeks', async (credit, debit) => {
    const days = Array.from({ length: 14 }, (_, nth) => `2026-03-${String(nth + 2).padStart(2, '0')}`);
    show(['USD', days.flatMap((day) => pair(day, 5_000, [`${day}-${credit}`, `${day}-${debit}`]))]);
    expect((await read(DAY, '2026-03-04')).exitCode).toBe(0);
    expect((await read('2026-03-05', days.at(-1)!)).exitCode).toBe(0);
    expect(new Set(await Promise.all(days.map((day) => balances(day))))).toEqual(new Set(['0.00 to 0.00']));
  });

  test.each(BOTH_WAYS)(
    'in a new currency of a merchant with a life before, %s and %s',
    async (...numbers) => {
      const life: Amounts = [
        ['A1', '2026-02-20 09:00:00', 100_000],
        ['A2', `${DAY} 09:00:00`, 100],
      ];
      show(['EUR', life], ['USD', pair(DAY, 12_345, numbers)]);
      const { exitCode } = await read(DAY, '2026-03-03');
      expect(await balances(DAY)).toBe('0.00 to 0.00');
      expect(exitCode).toBe(0);
    },
  );
});

test.each(BOTH_WAYS)('on a day that is not over, %s and %s raise no alarm', async (...numbers) => {
  show(['USD', [['A1', '2026-03-01 09:00:00', 100]]], ['EUR', pair(DAY, 12_345, numbers)]);
  await read('2026-03-01', '2026-03-01');
  stage.setNow(`${DAY}T13:30:00+08:00`);
  const midday = await stage.run({ range: null });
  expect([midday.exitCode, midday.reasons]).toEqual([0, []]);
  expect((await read(DAY, DAY)).exitCode).toBe(0);
  expect(await balances(DAY, 'EUR')).toBe('0.00 to 0.00');
});

for (const { options, cases } of shortAndLong([5_000, -5_000]))
  describe.each(cases)('where the life before is not read, %d and back in one second', options, (cents) => {
    const LIFE: Amounts = [['A1', '2026-02-20 09:00:00', 100_000]];
    const HELD = pair(DAY, cents, ['B1', 'B2']);
    const FITTING = [100_000, 100_000 + cents].map((fits) => (fits / 100).toFixed(2)).sort();

    test('the day says which balances fit, and an exit says it once', async () => {
      show(['USD', [...LIFE, ...HELD]]);
      const { exitCode, reasons } = await read(DAY, DAY);
      const { opening, otherClosings } = await published(DAY);
      expect([opening, ...otherClosings!].sort()).toEqual(FITTING);
      expect(exitCode).toBe(3);
      expect(reasons[0]!.what).toContain(
        `${MERCHANT.merchantNo} USD ${DAY} opens on ${moneyText(opening, 'USD')} or on ${grouped(otherClosings![0]!)}: its entries cancel`,
      );
      const again = await read(DAY, '2026-03-03');
      expect([again.exitCode, again.reasons]).toEqual([0, []]);
      expect(await balances('2026-03-03')).toBe(await balances(DAY));
    });

    test('an entry twenty quiet days later decides, and what it moves is revised with a reason', async () => {
      show(['USD', [...LIFE, ...HELD]]);
      await read(DAY, DAY);
      await read('2026-03-03', '2026-03-22');
      const guessed = await published(DAY);
      show(['USD', [...LIFE, ...HELD, ['C1', '2026-03-23 10:00:00', 100]]]);
      const { exitCode } = await read('2026-03-21', '2026-03-23');
      const { otherClosings, superseded } = await published(DAY);
      expect(await balances(DAY)).toBe('1000.00 to 1000.00');
      expect(await balances('2026-03-22')).toBe('1000.00 to 1000.00');
      expect(await balances('2026-03-23')).toBe('1000.00 to 1001.00');
      expect(otherClosings).toBeUndefined();
      const moved = guessed.opening === '1000.00' ? '' : `opening moved by ${-cents / 100}.00, `;
      expect(superseded.map(({ reason }) => reason)).toEqual([`${moved}balance decided`]);
      expect([0, 3]).toContain(exitCode);
      expect((await read('2026-03-21', '2026-03-23')).exitCode).toBe(0);
    });

    test('days before it that are read later decide', async () => {
      show(['USD', [...LIFE, ...HELD]]);
      await read(DAY, DAY);
      await read('2026-02-20', DAY);
      expect(await balances(DAY)).toBe('1000.00 to 1000.00');
    });

    test('another pair narrows what fits', async () => {
      show(['USD', [...LIFE, ...HELD, ...pair('2026-03-03', 700, ['C1', 'C2'])]]);
      await read(DAY, '2026-03-03');
      expect(await balances(DAY)).toBe('1000.00 to 1000.00');
      expect(await balances('2026-03-03')).toBe('1000.00 to 1000.00');
    });

    test('after days that were never read it is no other', async () => {
      show(['USD', [['A0', '2026-02-18 09:00:00', 30_000], ...pair(DAY, cents, ['B1', 'B2'])]]);
      await read('2026-02-18', '2026-02-18');
      const { reasons } = await read(DAY, DAY);
      expect(reasons.map(({ what }) => what).join()).toMatch(
        /USD 2026-03-02 opens on [\d,]+\.00 USD or on [\d,]+\.00: its entries/,
      );
      expect((await published(DAY)).otherClosings).toHaveLength(1);
      await read('2026-02-19', DAY);
      expect(await balances(DAY)).toBe('300.00 to 300.00');
    });
  });
