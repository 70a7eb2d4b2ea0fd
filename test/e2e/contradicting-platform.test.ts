/** A platform whose replies contradict each other is shown each night, and after three nights a person is asked. */
import { afterEach, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import { openPlainStage, type PlainStage } from '../support/plain-stage.ts';
import { entriesOfAmounts, type WireReply } from '../support/plain-platform.ts';

const FIRST = '2026-03-01';
let stage: PlainStage;
afterEach(() => stage.close());

const days = Array.from({ length: 10 }, (_, nth) => addDays(FIRST, nth));
const night = (nth: number): string => `${days[nth]!}T18:00:00Z`;

const openLedger = async (perDay: number): Promise<void> => {
  const entries = days.flatMap((day) =>
    Array.from({ length: perDay }, (_, nth): [string, string, number] => {
      const time = new Date(nth * 600_000).toISOString().slice(11, 19);
      return [`${day}-${nth}`, `${day} ${time}`, nth % 3 === 0 ? -50 : 100];
    }),
  );
  stage = await openPlainStage(entriesOfAmounts('USD', entries), night(1));
  expect(await stage.run(FIRST, days[1]!)).toMatchObject({ exitCode: 0 });
};
const nightEnds = async (nth: number) => {
  stage.setNow(night(nth));
  const { exitCode, notes } = await stage.night();
  return [exitCode, ...notes.filter((note) => note.includes('contradicted itself'))];
};
const isLater = ({ body }: { readonly body: Readonly<Record<string, unknown>> }) =>
  Number(body['pageNum']) > 1;
const withTotal = ({ status, body }: WireReply, change: (total: number) => number): WireReply => ({
  status,
  body: { ...(body as object), total: change((body as { total: number }).total) },
});

test('later pages with another total: two nights show it, the third asks a person, and two good nights end it', async () => {
  await openLedger(60);
  stage.platform.alter = (honest, call) => (isLater(call) ? withTotal(honest, () => 0) : honest);
  const shown = expect.stringMatching(
    /^[^:]+: the platform contradicted itself \d+ times? in this run\. The first time: .* page 2 said 0/,
  );
  expect(await nightEnds(2)).toEqual([0, shown]);
  expect(await nightEnds(3)).toEqual([0, shown]);
  expect(await nightEnds(4)).toEqual([3, expect.stringContaining('as in 3 nights in a row')]);
  stage.platform.alter = (honest) => honest;
  expect(await nightEnds(5)).toEqual([0]);
  stage.platform.alter = (honest, call) => (isLater(call) ? withTotal(honest, () => 0) : honest);
  expect(await nightEnds(6)).toEqual([3, expect.stringContaining('as in 4 of the last 5 nights')]);
  stage.platform.alter = (honest) => honest;
  expect(await nightEnds(7)).toEqual([0]);
  expect(await nightEnds(8)).toEqual([0]);
  stage.platform.alter = (honest, call) => (isLater(call) ? withTotal(honest, () => 0) : honest);
  expect(await nightEnds(9)).toEqual([0, shown]);
});

test('a total that grows between two pages is an entry that came, not a contradiction', async () => {
  await openLedger(60);
  let grown = 0;
  stage.platform.alter = (honest, call) =>
    isLater(call) && grown++ === 0 ? withTotal(honest, (total) => total + 1) : honest;
  expect(await nightEnds(2)).toEqual([0]);
  expect(grown).toBeGreaterThan(0);
});

test('a first reply without entries that the next one shows', async () => {
  await openLedger(5);
  let calls = 0;
  stage.platform.alter = (honest) =>
    calls++ === 0 ? { ...honest, body: { ...(honest.body as object), total: 0, list: [] } } : honest;
  const nights = [
    [2, 0],
    [3, 0],
    [4, 3],
  ] as const;
  for (const [nth, exitCode] of nights) {
    calls = 0;
    expect(await nightEnds(nth)).toEqual([exitCode, expect.stringContaining('contradicted itself')]);
  }
});
