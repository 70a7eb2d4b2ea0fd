/** Posts at a fixed rate without waiting for the answers. Latency counts from the time a post was due. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';

export interface Load {
  readonly url: string;
  /** Returns the path for each post. */
  readonly path: () => string;
  readonly body: (n: number) => string;
  readonly ratePerS: number;
  readonly seconds: number;
}

export interface LoadResult {
  /** In ms, in the order of posting. */
  readonly latencies: readonly number[];
  /** How many answers were not 200. */
  readonly refused: number;
}

const CONNECTIONS = 50;

export async function postAtRate({ url, path, body, ratePerS, seconds }: Load): Promise<LoadResult> {
  const pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 });
  const latencies: number[] = [];
  let refused = 0;
  const post = async (n: number, dueMs: number): Promise<void> => {
    const response = await pool.request({
      method: 'POST',
      path: path(),
      headers: { 'content-type': 'application/json' },
      body: body(n),
    });
    await response.body.dump();
    latencies[n] = performance.now() - dueMs;
    if (response.statusCode !== 200) refused += 1;
  };
  const posts: Promise<void>[] = [];
  const startMs = performance.now();
  for (let n = 0; n < ratePerS * seconds; n++) {
    const dueMs = startMs + (n * 1_000) / ratePerS;
    const aheadMs = dueMs - performance.now();
    if (aheadMs > 0) await sleep(aheadMs);
    posts.push(post(n, dueMs));
  }
  await Promise.all(posts);
  await pool.close();
  return { latencies, refused };
}

export function percentile(figures: readonly number[], share: number): number {
  const sorted = [...figures].sort((a, b) => a - b);
  const found = sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)];
  if (found === undefined) throw new RangeError('a percentile of nothing');
  return found;
}
