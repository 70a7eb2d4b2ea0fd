/**
 * Times searches of one merchant's entries among those of very many, over HTTP: for each kind what the first search of a
 * merchant takes, with nothing of the table in the machine's memory, and what the next ones take. Each kind is searched for
 * something that is there and for something that is not, which has to check all that the merchant has.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BENCH_KEY } from '../applications.ts';
import { count, median, timed, withDatabase, type Bench, type Measure, type Measured } from '../measure.ts';
import { percentile } from '../post-at-rate.ts';
import { startServing } from '../processes.ts';
import {
  entriesOf,
  entryOf,
  forgetEntries,
  LARGE,
  merchantNo,
  merchantsApart,
  seedEntries,
  type SearchPast,
} from '../search-past.ts';
import type { BenchDatabase } from '../server.ts';

const TO = '2026-03-31';
const NOW = '2026-04-01T01:00:00Z';
const SEARCH_MS_MAX = 300;

export const search: Measure = {
  name: 'search',
  isLong: true,
  measure: (bench) =>
    withDatabase(bench, async (database) => {
      const past = pastOf(bench);
      await seedEntries(database, past);
      return measureSearch(database, past, bench);
    }),
};

const pastOf = ({ short, merchants }: Bench): SearchPast =>
  short
    ? { merchants: 20, days: 10, to: TO, largeEntriesADay: 40 }
    : { merchants: merchants ?? 10_000, days: 500, to: TO, largeEntriesADay: 2_000 };

async function measureSearch(
  database: BenchDatabase,
  past: SearchPast,
  bench: Pick<Bench, 'short'>,
): Promise<Measured[]> {
  // No page that is measured reads a file.
  const folder = await mkdtemp(join(tmpdir(), 'daybook-bench-'));
  const key = BENCH_KEY.toString('base64');
  const { pagesUrl, stop } = await startServing({ databaseUrl: database.url, key, folder, now: NOW });
  try {
    const kinds = kindsOf(past);
    // The server has answered some before, as one that has run for a while has.
    for (const [round, kind] of kinds.entries()) await measureKind(pagesUrl, past, { kind, round, bench });
    const measured: Measured[] = [];
    for (const [round, kind] of kinds.entries()) {
      await forgetEntries(database);
      measured.push(...(await measureKind(pagesUrl, past, { kind, round: kinds.length + round, bench })));
    }
    return measured;
  } finally {
    await stop();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Kind {
  readonly what: string;
  /** What is asked of the merchant with this number; 0 is `LARGE`. */
  readonly query: (merchant: number) => Readonly<Record<string, string>>;
  /** Whether the answer lists entries. */
  readonly finds: boolean;
  /** It is asked of `LARGE` alone. */
  readonly isOfLarge?: true;
}

/** Entries of the first days, so that a search that goes back in time finds them last. */
function kindsOf(past: SearchPast): Kind[] {
  const old = (merchant: number) => entryOf(past, merchant, 2, 3);
  const plus = (amount: string, more: number): string => (Number(amount) + more).toFixed(2);
  const none = { amount: '99999999.99' };
  return [
    { what: 'an amount', finds: true, query: (of) => ({ amount: old(of).amount }) },
    { what: 'an amount that is not there', finds: false, query: () => none },
    {
      what: 'a range of amounts',
      finds: true,
      query: (of) => ({ amount: old(of).amount, amountTo: plus(old(of).amount, 5) }),
    },
    {
      what: 'a range of amounts that is not there',
      finds: false,
      query: () => ({ ...none, amountTo: '100000000.00' }),
    },
    { what: 'part of a number', finds: true, query: (of) => ({ number: old(of).number.slice(2, 18) }) },
    { what: 'part of a number that is not there', finds: false, query: () => ({ number: 'X-4711' }) },
    { what: 'a type', finds: true, query: () => ({ type: 'fee' }) },
    { what: 'a type that is not there', finds: false, query: () => ({ type: 'chargeback' }) },
    {
      what: 'an amount within a week',
      finds: true,
      query: (of) => ({ amount: old(of).amount, from: old(of).date, to: entryOf(past, of, 8, 1).date }),
    },
    {
      what: 'an amount within a week that is not there',
      finds: false,
      query: (of) => ({ ...none, from: old(of).date, to: entryOf(past, of, 8, 1).date }),
    },
    { what: 'all of a merchant', finds: true, query: () => ({}) },
    { what: 'an amount that is not there', finds: false, query: () => none, isOfLarge: true },
    {
      what: 'a type that is not there',
      finds: false,
      query: () => ({ type: 'chargeback' }),
      isOfLarge: true,
    },
  ];
}

interface Searching {
  readonly kind: Kind;
  readonly round: number;
  readonly bench: Pick<Bench, 'short'>;
}

async function measureKind(
  url: string,
  past: SearchPast,
  { kind, round, bench: { short } }: Searching,
): Promise<Measured[]> {
  const asked = kind.isOfLarge === true ? [0] : merchantsApart(past, short ? 3 : 25, round);
  const searchAll = async (): Promise<number[]> => {
    const took: number[] = [];
    for (const merchant of asked) took.push(await timed(() => searched(url, kind, merchant)));
    return took;
  };
  const first = await searchAll();
  const next: number[] = [];
  for (let again = 0; again < (short ? 1 : 4); again += 1) next.push(...(await searchAll()));
  const whose =
    kind.isOfLarge === true
      ? `of ${count(past.days * past.largeEntriesADay)} entries`
      : `of one merchant out of ${count(past.merchants)}, ${count(entriesOf(past))} entries`;
  const row = (how: string, took: readonly number[], figure: number): Measured => ({
    what: `search for ${kind.what} ${whose}: ${how} of ${took.length} (middle ${Math.round(median(took))} ms)`,
    ...{ figure, limit: SEARCH_MS_MAX, limitIs: 'fixed', unit: 'ms', ratio: figure / SEARCH_MS_MAX },
    target: { atMost: 1 },
  });
  return [
    row('from the disk, the slowest', first, Math.max(...first)),
    row('again, 99th percentile', next, percentile(next, 0.99)),
  ];
}

let people = 0;

/** Throws unless the answer has entries where it should, and none where it should not. */
async function searched(url: string, { what, query, finds }: Kind, merchant: number): Promise<void> {
  const no = merchant === 0 ? LARGE : merchantNo(merchant);
  const address = `${url}/entry?${String(new URLSearchParams({ merchant: no, ...query(merchant) }))}`;
  people += 1;
  const response = await fetch(address, { headers: { 'x-person': `person-${people}` } });
  const html = await response.text();
  if (response.status !== 200 || html.includes(`href="/entry/${no}/`) !== finds)
    throw new Error(`${address}: ${response.status}, ${what} was ${finds ? 'not found' : 'found'}`);
}
