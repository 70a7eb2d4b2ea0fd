/**
 * Times pages as readers get them, over HTTP: a month of one of very many merchants while twenty people read, the grid of
 * months, a very large day, the first byte of a month's ZIP; and weighs them.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLoopbackAccess } from '../../src/access/loopback.ts';
import { addDays, dayWindow } from '../../src/ledger/business-day.ts';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { createPagesServer } from '../../src/web/pages-server.ts';
import { count, median, timed, withDatabase, type Bench, type Measure, type Measured } from '../measure.ts';
import { LARGE, merchantNo, seedPages, type PagesPast } from '../pages-past.ts';
import { ZONE } from '../scenario.ts';

const READERS = 20;
const TO = '2026-03-31';

export const pages: Measure = {
  name: 'pages',
  measure: (bench) =>
    withDatabase(bench, async ({ db }) => {
      const past = pastOf(bench);
      await seedPages(db, past);
      const folder = await mkdtemp(join(tmpdir(), 'daybook-bench-'));
      const settings = loadSettings({
        env: { PLATFORM_BASE_URL: 'https://platform.example', PLATFORM_TIME_ZONE: ZONE },
        readFile: () => '',
      });
      const server = createPagesServer({
        access: createLoopbackAccess('made-up'),
        canLogOut: false,
        ...{ db, settings, jobs: [], zone: ZONE },
        objects: createDirectoryStore(folder),
        now: () => new Date(dayWindow(addDays(TO, 1), ZONE).beginMs + 3_600_000),
        onRefusal: (event) => {
          throw new Error(`refused: ${JSON.stringify(event)}`);
        },
      });
      try {
        return await measured(await server.listen({ host: '127.0.0.1', port: 0 }), past, bench);
      } finally {
        server.server.closeAllConnections();
        await server.close();
        await rm(folder, { recursive: true });
      }
    }),
};

const pastOf = ({ short }: Bench): PagesPast =>
  short
    ? { merchants: 20, from: '2026-01-01', to: TO, largeDay: 1_000 }
    : { merchants: 10_000, from: '2023-04-01', to: TO, largeDay: 1_000_000 };

async function measured(url: string, past: PagesPast, { short }: Bench): Promise<Measured[]> {
  const requests = short ? 200 : 2_000;
  const page = async (path: string): Promise<number> => {
    const response = await fetch(url + path);
    if (response.status !== 200) throw new Error(`${path}: ${response.status}`);
    return (await response.arrayBuffer()).byteLength;
  };
  const monthOf = (nth: number): string => {
    const month = addDays(TO, -(nth * 37) % (short ? 80 : 1_000)).slice(0, 7);
    return `/m/${merchantNo(((nth * 7_919) % past.merchants) + 1)}/${month}`;
  };
  const large = `/m/${LARGE}/USD/${past.to}`;
  await page(large);
  const bytes = [await page(monthOf(1)), await page('/?month=2026-03'), await page(large)];
  const opens: number[] = [];
  for (const query of ['', '?page=5000', '?q=12:40', '?q=L000000500000', '?page=10000'])
    for (let round = 0; round < 5; round += 1)
      opens.push(await timed(() => page(short ? large : large + query)));
  const of = `of one merchant out of ${count(past.merchants)}, three years of days, ${READERS} readers, 99th percentile`;
  const row = (what: string, figure: number, limit: number, unit = 'ms'): Measured => ({
    ...{ what, figure, limit, unit },
    limitIs: 'fixed',
    ratio: figure / limit,
    target: { atMost: 1 },
  });
  return [
    row(`the page of a month ${of}`, await slowest((nth) => page(monthOf(nth)), requests), 100),
    row(
      `the grid of months, ${READERS} readers, 99th percentile`,
      await slowest(() => page('/?month=2026-03'), requests),
      200,
    ),
    row(
      `a day of ${count(past.largeDay)} entries opens, the slowest of ${opens.length}`,
      Math.max(...opens),
      200,
    ),
    row('first byte of a month’s ZIP', await firstByte(`${url}/download/${merchantNo(1)}/2026-03.zip`), 300),
    row('the heaviest page', Math.max(...bytes) / 1_000, 100, 'kB'),
  ];
}

/** What 99 of 100 requests take at most, while `READERS` ask one after the other. */
async function slowest(ask: (nth: number) => Promise<unknown>, requests: number): Promise<number> {
  const took: number[] = [];
  let next = 0;
  const reader = async (): Promise<void> => {
    while (next < requests) {
      const nth = next;
      next += 1;
      took.push(await timed(() => ask(nth)));
    }
  };
  for (let nth = 0; nth < READERS; nth += 1) await ask(nth);
  await Promise.all(Array.from({ length: READERS }, reader));
  return took.sort((a, b) => a - b)[Math.ceil(took.length * 0.99) - 1]!;
}

/** The middle of five. The files themselves are not there, so the rest of the ZIP is not read. */
async function firstByte(url: string): Promise<number> {
  const took: number[] = [];
  for (let round = 0; round < 5; round += 1)
    took.push(
      await timed(async () => {
        const reader = (await fetch(url)).body!.getReader();
        await reader.read();
        await reader.cancel().catch(() => undefined);
      }),
    );
  return median(took);
}
