import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const HEAP = new URL('../../src/cli/heap.ts', import.meta.url).href;

/** The size in MB of the young generation, after many batches of objects that live just long enough to be copied. */
async function youngMegabytes(before: string): Promise<number> {
  const script = `
    import { getHeapSpaceStatistics } from 'node:v8';
    import { keepHeapSmall } from '${HEAP}';
    ${before}
    let held = [];
    for (let batch = 0; batch < 300; batch += 1) {
      held.push(Array.from({ length: 5_000 }, (_, index) => ({ batch, text: String(index) })));
      if (held.length > 30) held = [];
    }
    const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
    console.log(young.space_size / 1e6);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  return Number(stdout);
}

test('this version of Node knows the flags, and they limit the young generation', async () => {
  const kept = await youngMegabytes('keepHeapSmall();');
  expect(kept).toBeLessThan(10);
  expect(await youngMegabytes('')).toBeGreaterThan(2 * kept);
});
