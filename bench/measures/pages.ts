/**
 * Times pages as readers get them, over HTTP: a month of one of very many merchants while twenty people read, the grid of
 * months, a very large day, the first byte of a month's ZIP; and weighs them. The pages run in a process of their own,
 * readers and PostgreSQL share the machine with it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addDays } from '../../src/ledger/business-day.ts';
import { count, median, timed, withDatabase, type Bench, type Measure, type Measured } from '../measure.ts';
import { LARGE, merchantNo, seedPages, type PagesPast } from '../pages-past.ts';
import { percentile } from '../post-at-rate.ts';
import { BENCH_KEY } from '../applications.ts';
import { startServing } from '../processes.ts';
import { readPages } from '../readers.ts';

const READERS = 20;
/** The pace of a person who clicks quickly. */
const PERSON_MS = 1_000;
const TO = '2026-03-31';
const NOW = '2026-04-01T01:00:00Z';

export const pages: Measure = {
  name: 'pages',
  isLong: true,
  measure: (bench) =>
    withDatabase(bench, async ({ url: databaseUrl, db, settle }) => {
      const past = pastOf(bench);
      await seedPages(db, past);
      await settle();
      // No page that is measured reads a file.
      const folder = await mkdtemp(join(tmpdir(), 'daybook-bench-'));
      const key = BENCH_KEY.toString('base64');
      const { pagesUrl, stop } = await startServing({ databaseUrl, key, folder, now: NOW });
      try {
        return await measured(pagesUrl, past, bench);
      } finally {
        await stop();
        await rm(folder, { recursive: true, force: true });
      }
    }),
};

const pastOf = ({ short }: Bench): PagesPast =>
  short
    ? { merchants: 20, from: '2026-01-01', to: TO, largeDay: 1_000 }
    : { merchants: 10_000, from: '2023-04-01', to: TO, largeDay: 1_000_000 };

async function measured(url: string, past: PagesPast, bench: Bench): Promise<Measured[]> {
  const monthOf = (nth: number): string => {
    const month = addDays(TO, -(nth * 37) % (bench.short ? 80 : 1_000)).slice(0, 7);
    return `/m/${merchantNo(((nth * 7_919) % past.merchants) + 1)}/${month}`;
  };
  const large = `/m/${LARGE}/USD/${past.to}`;
  const grid = '/?month=2026-03';
  const slowest = slowestAt(url, bench);
  const of = `of one merchant out of ${count(past.merchants)}, three years of days`;
  const busy = `${READERS} readers without a pause`;
  return [
    row(`the page of a month ${of}: ${busy}, 99th percentile`, await slowest(monthOf, null), 100),
    row(
      `the same: ${READERS} readers, a page a second each, 99th percentile`,
      await slowest(monthOf, PERSON_MS),
      100,
    ),
    row(`the grid of months: ${busy}, 99th percentile`, await slowest(() => grid, null), 300),
    await largeDay(url + large, past, bench),
    row('first byte of a month’s ZIP', await firstByte(`${url}/download/${merchantNo(1)}/2026-03.zip`), 300),
    row('the heaviest page', (await heaviest(url, [monthOf(1), grid, large])) / 1_000, 100, 'kB'),
  ];
}

const row = (what: string, figure: number, limit: number, unit = 'ms'): Measured => ({
  ...{ what, figure, limit, unit },
  limitIs: 'fixed',
  ratio: figure / limit,
  target: { atMost: 1 },
});

/** What 99 of 100 pages take at most. The server has answered some before, as one that has run for a while has. */
const slowestAt =
  (url: string, { short }: Bench) =>
  async (path: (nth: number) => string, everyMs: number | null): Promise<number> => {
    const [before, pages] = short ? [50, 200] : [500, 2_000];
    const reading = { url, readers: READERS, path };
    await readPages({ ...reading, pages: before, everyMs: null });
    const paced = everyMs === null ? pages : pages / 4;
    const later = (nth: number) => path(before + nth);
    return percentile(await readPages({ ...reading, path: later, pages: paced, everyMs }), 0.99);
  };

/** Who asks for pages one after the other. */
const PERSON = { headers: { 'x-person': 'reader' } };

const sizeOf = async (address: string): Promise<number> => {
  const response = await fetch(address, PERSON);
  if (response.status !== 200) throw new Error(`${address}: ${response.status}`);
  return (await response.arrayBuffer()).byteLength;
};

/** Its first page, pages far into it, and searches. */
async function largeDay(address: string, past: PagesPast, { short }: Bench): Promise<Measured> {
  const opens: number[] = [];
  await sizeOf(address);
  for (const query of ['', '?page=5000', '?q=12:40', '?q=L000000500000', '?page=10000'])
    for (let round = 0; round < 5; round += 1)
      opens.push(await timed(() => sizeOf(short ? address : address + query)));
  const what = `a day of ${count(past.largeDay)} entries opens, the slowest of ${opens.length}`;
  return row(what, Math.max(...opens), 200);
}

const heaviest = async (url: string, paths: readonly string[]): Promise<number> =>
  Math.max(...(await Promise.all(paths.map((path) => sizeOf(url + path)))));

/** The middle of five. The files themselves are not there, so the rest of the ZIP is not read. */
async function firstByte(url: string): Promise<number> {
  const took: number[] = [];
  for (let round = 0; round < 5; round += 1)
    took.push(
      await timed(async () => {
        const reader = (await fetch(url, PERSON)).body!.getReader();
        await reader.read();
        await reader.cancel().catch(() => undefined);
      }),
    );
  return median(took);
}
