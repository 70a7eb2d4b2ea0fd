/** Work in the background is done piece by piece, one at a time, and none is begun after the stop. */
import { expect, test } from 'vitest';
import { createBackgroundWork } from '../../src/run/schedule/schedule.ts';

/** Pieces that end when the test says so; `ends` has the end of each that was begun. */
function openWork() {
  const ends: ((isMore: boolean) => void)[] = [];
  const stop = new AbortController();
  const work = createBackgroundWork({
    ...{ jobs: [], zone: 'UTC', now: () => new Date(0), signal: stop.signal },
    slotEnds: () => Promise.resolve([]),
    runJob: () => expect.unreachable('no job is due'),
    background: () => new Promise((resolve) => ends.push(resolve)),
    onFault: (error) => expect.unreachable(String(error)),
  });
  return { ends, stop, work };
}

test('while a piece is at work no second one is begun, and the next one once it has ended', async () => {
  const { ends, work } = openWork();
  work.goOn();
  await expect.poll(() => ends).toHaveLength(1);
  work.goOn();
  await work.giveWay();
  expect(ends).toHaveLength(1);
  ends[0]!(true);
  await expect.poll(() => ends).toHaveLength(2);
  ends[1]!(false);
  await work.stop();
  work.goOn();
  await expect.poll(() => ends).toHaveLength(3);
});

test('after the stop no piece is begun, though the last one said that there is more', async () => {
  const { ends, stop, work } = openWork();
  work.goOn();
  await expect.poll(() => ends).toHaveLength(1);
  stop.abort();
  const stopped = work.stop();
  ends[0]!(true);
  await stopped;
  work.goOn();
  await work.stop();
  expect(ends).toHaveLength(1);
});
