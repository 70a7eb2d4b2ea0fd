/** People who read pages: each asks for the next one when it has the last, or one every so often. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';

export interface Reading {
  readonly url: string;
  readonly readers: number;
  /** Pages that all of them ask for together. */
  readonly pages: number;
  /** The path of each page, from 0. */
  readonly path: (nth: number) => string;
  /** Time from one page of a reader to the next; null: as soon as the last one is there. */
  readonly everyMs: number | null;
}

/** What a browser asks with. */
const HEADERS = { 'accept-language': 'en-GB,en;q=0.9', 'accept-encoding': 'gzip, deflate, br, zstd' };

/** No one clicks as quickly as all of these readers together without a pause, so they are very many people. */
const PEOPLE = 1_000;

/** How long each page took, in ms, until its last byte was there. Counts from when it was to be asked for. */
export async function readPages({ url, readers, pages, path, everyMs }: Reading): Promise<number[]> {
  const pool = new Pool(url, { connections: readers, pipelining: 1 });
  const took: number[] = [];
  let next = 0;
  const ask = async (nth: number, dueMs: number): Promise<void> => {
    const { statusCode, body } = await pool.request({
      ...{ method: 'GET', path: path(nth) },
      headers: { ...HEADERS, 'x-person': `reader-${nth % PEOPLE}` },
    });
    await body.dump({ limit: Number.MAX_SAFE_INTEGER });
    if (statusCode !== 200) throw new Error(`${path(nth)}: ${statusCode}`);
    took.push(performance.now() - dueMs);
  };
  const startMs = performance.now();
  const read = async (reader: number): Promise<void> => {
    // They do not begin all at once.
    for (let round = reader / readers; next < pages; round += 1) {
      const nth = next;
      next += 1;
      if (everyMs !== null) await sleep(Math.max(0, startMs + round * everyMs - performance.now()));
      await ask(nth, everyMs === null ? performance.now() : startMs + round * everyMs);
    }
  };
  try {
    await Promise.all(Array.from({ length: readers }, (_, reader) => read(reader)));
  } finally {
    await pool.destroy();
  }
  return took;
}
