/** Entries of another merchant are compared before anything is published, whichever merchant is read first. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { daybook, type Ended, type Env } from '../cli/daybook.ts';
import { addMerchants, callerOf, openPlainHome, withKeys } from '../cli/plain-home.ts';
import { entriesOfAmounts, type WireEntry } from '../support/plain-platform.ts';
import { shortAndLong } from '../support/short-and-long.ts';

let env: Env;
let close: () => Promise<void>;
/** What the platform answers under each merchant's token. */
let answers: Map<string, readonly WireEntry[]>;
beforeEach(async () => {
  const home = await openPlainHome(withKeys());
  home.platform.entriesOf = (call) => answers.get(callerOf(call)) ?? [];
  ({ env, close } = home);
});
afterEach(() => close());

const add = (...merchants: string[]): Promise<void> => addMerchants(env, merchants);
/** The night after `day`, of merchants one after the other, so that the first is ready long before the last. */
const night = (day: string, change: Env = {}): Promise<Ended> =>
  daybook(['run'], {
    ...env,
    ...change,
    DAYBOOK_MERCHANTS_AT_ONCE: '1',
    DAYBOOK_NOW: new Date(Date.parse(`${day}T01:30:00+08:00`) + 24 * 3_600_000).toISOString(),
  });
const statements = async (): Promise<string[]> => {
  const { stdout } = await daybook(['statements', 'list', '--json'], env);
  const rows = JSON.parse(stdout) as { merchant_no: string; currency: string; day: string }[];
  return rows.map((row) => `${row.merchant_no} ${row.currency} ${row.day}`).sort();
};

const euros = entriesOfAmounts('EUR', [['Q1', '2026-03-01 09:00:00', 1_000]]);
const busy = entriesOfAmounts('USD', [
  ['B1', '2026-03-01 10:00:00', 5_000],
  ['B2', '2026-03-02 10:00:00', 700],
  ['B3', '2026-03-02 11:00:00', -200],
  ['B4', '2026-03-03 11:00:00', 300],
]);

// A: quiet, sorted before or after the busy merchant, so read first or last.
for (const { options, cases } of shortAndLong([
  ['A', 'B'],
  ['Z', 'B'],
] as const))
  test.each(cases)(
    'a quiet merchant %s answered from the ledger of %s is withheld, and the honest one is published',
    options,
    async (quiet, other) => {
      answers = new Map([
        [quiet, euros],
        [other, busy],
      ]);
      await add(quiet, other);
      expect(await night('2026-03-01')).toMatchObject({ code: 0 });
      answers.set(quiet, [...euros, ...busy.filter(({ busiDate }) => busiDate > '2026-03-02')]);
      const wrong = await night('2026-03-02');
      const reported = wrong.stdout.slice(wrong.stdout.indexOf('stored under two'));
      expect(wrong).toMatchObject({ code: 4 });
      expect(reported).toMatch(/do not pass these statements on/);
      const published = await statements();
      expect(published).toContain(`${other} USD 2026-03-02`);
      expect(published).toContain(`${quiet} EUR 2026-03-02`);
      expect(published.filter((one) => one.startsWith(`${quiet} USD`))).toEqual([]);
      // It stays so while the answers do, on days without new entries as well.
      expect(await night('2026-03-03')).toMatchObject({ code: 4 });
      expect((await statements()).filter((one) => one.startsWith(`${quiet} USD`))).toEqual([]);
      expect(await statements()).toContain(`${other} USD 2026-03-03`);
    },
  );

test(
  'once the platform answers right, the honest merchant goes on, and what the other one got is held for a person',
  { tags: ['long'] },
  async () => {
    answers = new Map([
      ['A', euros],
      ['B', busy],
    ]);
    await add('A', 'B');
    expect(await night('2026-03-01')).toMatchObject({ code: 0 });
    answers.set('A', busy.slice(0, 3));
    expect(await night('2026-03-02')).toMatchObject({ code: 4 });
    answers.set('A', euros);
    const right = await night('2026-03-03');
    expect(right).toMatchObject({ code: 4 });
    expect(await statements()).toContain('B USD 2026-03-03');
    expect(right.stdout).toContain('or is held until `daybook amendments accept --note TEXT`');
    const range = ['--currency', 'USD', '--from', '2026-03-01', '--to', '2026-03-02'];
    const accepted = await daybook(
      ['amendments', 'accept', '--merchant', 'A', ...range, '--note', 'of B'],
      env,
    );
    expect(accepted).toMatchObject({ code: 0 });
    expect(await night('2026-03-04')).toMatchObject({ code: 3 });
    expect(await night('2026-03-05')).toMatchObject({ code: 0 });
  },
);

test('two merchants that both begin with the same entries are both withheld', async () => {
  answers = new Map([
    ['A', busy],
    ['B', busy],
  ]);
  await add('A', 'B');
  expect(await night('2026-03-02')).toMatchObject({ code: 4 });
  expect(await statements()).toEqual([]);
});

test('where the other merchant is read on a later night, the statement that is published already is named', async () => {
  answers = new Map([
    ['A', busy],
    ['B', busy],
  ]);
  await add('A');
  expect(await night('2026-03-02')).toMatchObject({ code: 0 });
  await add('B');
  const { code, stdout } = await night('2026-03-03');
  expect(code).toBe(4);
  expect(stdout).toMatch(/published already: A USD 2026-03-01, A USD 2026-03-02/);
  expect((await statements()).filter((one) => one.startsWith('B'))).toEqual([]);
});

test('entries mixed in among the own ones are held back; equal numbers with other content are not', async () => {
  const own = entriesOfAmounts('USD', [
    ['C1', '2026-03-01 10:30:00', 9_000],
    ['B2', '2026-03-02 10:30:00', 50],
  ]);
  answers = new Map([
    ['A', own],
    ['B', busy],
  ]);
  await add('A', 'B');
  expect(await night('2026-03-02')).toMatchObject({ code: 0 });
  answers.set('A', [...own, busy.at(-1)!]);
  expect(await night('2026-03-03')).toMatchObject({ code: 4 });
  expect(await statements()).not.toContain('A USD 2026-03-03');
  expect(await statements()).toContain('B USD 2026-03-03');
});
