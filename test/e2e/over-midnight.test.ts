/** Rows of each statement lead from its opening to its closing, or its manifest and the day's summary say at how many places they do not. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { verifyPaths } from '../../src/verify/verify.ts';
import { PLAIN_ZONE, plainMs, type WireEntry } from '../support/plain-platform.ts';
import { openPlainStage, PLAIN_MERCHANT, type PlainStage } from '../support/plain-stage.ts';

const { merchantNo } = PLAIN_MERCHANT;
const [DAY, NEXT] = ['2026-03-02', '2026-03-03'];
const MIDNIGHT_MS = plainMs(`${NEXT} 00:00:00`);
const CURRENCIES = [
  'USD',
  'EUR',
  'GBP',
  'AUD',
  'CAD',
  'CHF',
  'SEK',
  'NOK',
  'DKK',
  'PLN',
  'CZK',
  'SGD',
  'HKD',
  'NZD',
  'ZAR',
];

let stage: PlainStage;
afterEach(() => stage.close());

/** An entry in the order in which it was booked: its amount in cents, and its stamp in seconds after midnight. */
type Booked = readonly [cents: number, afterMidnightS: number];

const stampOf = (afterMidnightS: number): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone: PLAIN_ZONE, dateStyle: 'short', timeStyle: 'medium' }).format(
    MIDNIGHT_MS + afterMidnightS * 1_000,
  );

function entriesOf(currency: string, booked: readonly Booked[]): WireEntry[] {
  let balance = 0;
  return booked.map(([cents, afterMidnightS], nth) => {
    balance += cents;
    return {
      ...{ batchNo: `${currency}-${String(nth).padStart(3, '0')}`, currency, busiType: '01' },
      inAmount: cents > 0 ? cents / 100 : null,
      outAmount: cents > 0 ? null : -cents / 100,
      vailAmount: balance / 100,
      ...{ busiDate: stampOf(afterMidnightS), atMs: MIDNIGHT_MS + afterMidnightS * 1_000 },
    };
  });
}

interface Statement {
  readonly currency: string;
  readonly file: string;
  readonly opening: string;
  readonly closing: string;
  readonly breaks: number;
  readonly overMidnight?: { readonly places: number; readonly lastBalance?: string };
}
const pathOf = (day: string, file: string): string =>
  join(stage.folder, `merchant=${merchantNo}`, `date=${day}`, file);
const statementsOf = async (day: string): Promise<readonly Statement[]> =>
  (JSON.parse(await readFile(pathOf(day, 'manifest.json'), 'utf8')) as { statements: Statement[] })
    .statements;
const tableOf = async (day: string, file: string): Promise<Record<string, string>[]> => {
  const [head = '', ...rows] = (await readFile(pathOf(day, file), 'utf8')).trimEnd().split('\r\n');
  return rows.map((row) =>
    Object.fromEntries(head.split(',').map((name, at) => [name, row.split(',')[at] ?? ''])),
  );
};

/** At how many places the rows do not lead on, and the last balance, from the file alone. */
async function ledOver(day: string, { file, opening, closing }: Statement) {
  let [reached, places] = [Number(opening), 0];
  for (const { credit, debit, balance } of await tableOf(day, file)) {
    if (Math.round((Number(balance) - Number(credit) + Number(debit) - reached) * 100) !== 0) places += 1;
    reached = Number(balance);
  }
  if (reached !== Number(closing)) places += 1;
  return { places, last: reached };
}

/** The law, of both days. Returns how many statements have such places. */
async function differences(): Promise<{ readonly said: number; readonly wrong: string[] }> {
  const wrong: string[] = [];
  let said = 0;
  for (const day of [DAY, NEXT]) {
    const summary = await tableOf(day, 'summary.r1.csv');
    for (const statement of await statementsOf(day)) {
      const { currency, closing, overMidnight } = statement;
      const { places, last } = await ledOver(day, statement);
      const line = summary.find((one) => one['currency'] === currency)!;
      const told = [overMidnight?.places ?? 0, Number(overMidnight?.lastBalance ?? closing)];
      const summed = [Number(line['over_midnight'] ?? 0), Number(line['last_balance'] ?? closing)];
      if (
        JSON.stringify([told, summed]) !==
        JSON.stringify([
          [places, last],
          [places, last],
        ])
      )
        wrong.push(
          `${day} ${currency}: ${places} places, last ${last}, said ${told.join()} and ${summed.join()}`,
        );
      if (places > 0) said += 1;
    }
  }
  const { files, problems } = await verifyPaths([stage.folder]);
  return { said, wrong: [...wrong, ...problems, ...files.flatMap((file) => file.problems)].map(String) };
}

async function publish(all: readonly WireEntry[]): Promise<void> {
  stage = await openPlainStage(
    all.toSorted((a, b) => a.atMs - b.atMs),
    '2026-03-04T01:30:00+08:00',
  );
  await stage.run(DAY, NEXT);
}

const noon: Booked[] = [[10_000, -43_200]];
const evening: Booked[] = [[300, 43_200]];

test('two stamps that cross midnight are said by manifest and summary, and verify reads them back', async () => {
  await publish(entriesOf('USD', [...noon, [1_000, 0], [100, -1], ...evening]));
  const [first, second] = [await statementsOf(DAY), await statementsOf(NEXT)];
  expect(first).toMatchObject([
    { opening: '0.00', closing: '101.00', overMidnight: { places: 2, lastBalance: '111.00' } },
  ]);
  expect(second).toMatchObject([{ opening: '101.00', closing: '114.00', overMidnight: { places: 2 } }]);
  expect(await differences()).toEqual({ said: 2, wrong: [] });
});

test('a manifest that does not say it is not verified', async () => {
  await publish(entriesOf('USD', [...noon, [1_000, 0], [100, -1], ...evening]));
  const path = pathOf(DAY, 'manifest.json');
  const manifest = JSON.parse(await readFile(path, 'utf8')) as { statements: Record<string, unknown>[] };
  delete manifest.statements[0]!['overMidnight'];
  await writeFile(path, JSON.stringify(manifest));
  const { files } = await verifyPaths([stage.folder]);
  expect(files.flatMap(({ problems }) => problems).join()).toContain(
    'its rows do not lead on from the opening to the closing at 2 places, the manifest says 0 places',
  );
});

test('whatever is booked around midnight, with stamps in any order within the tolerance, the law holds', async () => {
  const around = fc.array(
    fc.tuple(
      fc.integer({ min: -50, max: 50 }).map((cents) => cents || 7),
      fc.integer({ min: 0, max: 2 }),
    ),
    {
      minLength: 3,
      maxLength: 9,
    },
  );
  // The time of booking goes on by a second each; stamps lie up to a second off it, so two trade places within two seconds.
  const histories = fc.sample(around, { numRuns: CURRENCIES.length, seed: 11 });
  const all = CURRENCIES.flatMap((currency, at) => {
    const crossing = histories[at]!.map(([cents, off], nth): Booked => [
      cents,
      Math.floor((nth - histories[at]!.length / 2) / 2) + off - 1,
    ]);
    return entriesOf(currency, [...noon, ...crossing, ...evening]);
  });
  await publish(all);
  const { said, wrong } = await differences();
  expect(wrong).toEqual([]);
  expect(said).toBeGreaterThan(5);
});
