/** Whatever stands in an address after the question mark, it is a page or a refusal in words, and never a fault. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Stage } from '../../support/stage.ts';
import { BROKEN_DAY, openPagesStage, REVISED_DAY } from './stage.ts';
import { handTime, showPages, textOf, type ShownPages } from './support.ts';

let stage: Stage;
let pages: ShownPages;
beforeAll(async () => {
  stage = await openPagesStage();
  pages = await showPages(stage, { timing: unhurried });
});
afterAll(async () => {
  await pages.close();
  await stage.close();
});

/** Time that passes with each question, so that no pace is too fast. */
const time = handTime();
const unhurried = {
  ...time,
  clock: () => {
    time.pass(1_000);
    return time.clock();
  },
};

const PATHS: Readonly<Record<string, readonly string[]>> = {
  '/': ['month', 'q', 'after', 'digits'],
  '/m/SBX-M-1/2026-03': ['close', 'currency', 'done', 'digits'],
  [`/m/SBX-M-1/USD/${BROKEN_DAY}`]: ['q', 'sort', 'page', 'revision', 'against', 'digits'],
  [`/m/SBX-M-1/KWD/${REVISED_DAY}`]: ['revision', 'against', 'page', 'q'],
  '/breaks': ['page', 'all'],
  '/breaks/1': ['done'],
  '/entry': ['number', 'merchant', 'currency', 'amount', 'amountTo', 'type', 'from', 'to', 'after'],
  '/entry.csv': ['merchant', 'number', 'amount', 'from', 'after'],
  '/changes': ['since', 'after'],
  '/status': ['after', 'max-age'],
  '/login': ['to'],
  [`/download/SBX-M-1/USD/${BROKEN_DAY}`]: ['revision', 'format'],
  '/download/SBX-M-1/2026-03.zip': ['format'],
};

const TIMES = [
  '-010000-01-01T00:00:00.000Z',
  '-000001-01-01T00:00:00.000Z',
  '+275760-09-13T00:00:00.000Z',
  '2026-03-07T00:00:00Z',
  '0',
];
const ODD = [
  ...TIMES.flatMap((at) => [at, `${at} SBX-M-1 USD 2026-03-03 1`, `${at} SBX-M-1 USD -000001-01-01 1`]),
  ...['2026-03-07T00:00:00.000Z SBX-M-1 USD 2026-02-30 1', '2026-03-07T00:00:00.000Z a b c 999999999'],
  ...['-1', '0', '1', '2', '999999', '9999999', '999999999', '99999999999999999999', '1e9', '1.5', 'NaN'],
  ...['-0001-01', '0000-01', '2026-13', '9999-12', '2026-03', '-000001-01-01', '2026-03-31', '0001-01-01'],
  ...['99999999d', '999999999999h', '-1d', '1d', '0h', '23:59:59', '24:00', '00:00', '-1:00', '12:40'],
  ...['SBX-M-1 USD', 'SBX-M-1', ' ', '  ', 'a b c', '\u0000', '\ud83d', '\u202e', "'", '%', '_', '\\', '𝄞'],
  ...['csv', 'xlsx', 'zip', '__proto__', 'constructor', 'toString', '1'.repeat(400), 'x'.repeat(3_000)],
  ...['1234567890123456789012345678901234567890.99', '1,5', '.', '-', 'time', 'latest', '//evil.example'],
];

const query = (names: readonly string[]): fc.Arbitrary<string> =>
  fc
    .array(
      fc.tuple(
        fc.constantFrom(...names),
        fc.oneof(fc.constantFrom(...ODD), fc.string({ unit: 'binary', maxLength: 30 })),
      ),
      { minLength: 1, maxLength: 3 },
    )
    .map((pairs) => new URLSearchParams(pairs).toString());

const answer = async (path: string): Promise<readonly [status: number, text: string]> => {
  const response = await pages.get(path);
  return [response.status, textOf(await response.text())];
};

test.each(Object.entries(PATHS))('at %s each odd value of each parameter', async (path, names) => {
  const faults = [];
  for (const name of names)
    for (const value of ODD) {
      const asked = `${path}?${new URLSearchParams({ [name]: value }).toString()}`;
      const [status] = await answer(asked);
      if (status >= 500) faults.push([asked.slice(0, 200), status]);
    }
  expect(faults).toEqual([]);
});

test('at any page any query', async () => {
  const asked = fc
    .constantFrom(...Object.entries(PATHS))
    .chain(([path, names]) => query(names).map((text) => `${path}?${text}`));
  await fc.assert(
    fc.asyncProperty(asked, async (path) => {
      expect((await answer(path))[0]).toBeLessThan(500);
    }),
    { numRuns: 200 },
  );
});

test.each([
  ['/changes?after=-000001-01-01T00:00:00.000Z+SBX-M-1+USD+2026-03-03+1'],
  ['/changes?after=%2B275760-09-13T00:00:00.000Z+SBX-M-1+USD+2026-03-03+1'],
  ['/changes?after=2026-03-07T00:00:00.000Z+SBX-M-1+USD+-000001-01-01+1'],
  ['/changes?after=x'],
  ['/changes?since=-000001-01-01'],
  ['/?after=SBX-M-1'],
  ['/?month=-0001-01'],
])('%s is answered by a page that says that the address is wrong', async (path) => {
  expect(await answer(path)).toEqual([
    400,
    expect.stringContaining('Part of the address or of the form is invalid'),
  ]);
});
