import { once } from 'node:events';
import { expect, test } from 'vitest';
import { startDaybook } from './daybook.ts';

test('a reader that closes the output after its first line causes no error', async () => {
  const { child, ended } = startDaybook(['--help'], {});
  child.stdout!.destroy();
  await once(child, 'close');
  expect(await ended).toMatchObject({ code: 0, stderr: '' });
});
