/** Words that readers stumbled over stay out of the code and the pages. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { wordsIn } from '../../scripts/words.ts';

test('a planted word is found in a comment, a name, a message and a column, with what to write in its place', () => {
  const planted = [
    '/** What is told of it. */',
    'const untoldChanges = lookAtWide(WHOLE_DAYS);',
    "throw new Error('nobody looked');",
    'SELECT told_at FROM alert_fact',
  ].join('\n');
  expect(wordsIn('planted.ts', planted).map(({ line, word }) => `${line} ${word}`)).toEqual([
    '1 told',
    '2 untold',
    '2 WHOLE',
    '2 look',
    '3 looked',
    '3 nobody',
    '4 told',
  ]);
  expect(wordsIn('planted.ts', planted)[0]).toEqual({
    ...{ file: 'planted.ts', line: 1, word: 'told', instead: 'reported, shown, named' },
  });
});

test('words of the field and of the command line are no such words', () => {
  expect(wordsIn('a.md', 'the lookback, a look-up, `verify --whole`, onlookers, wholesale')).toEqual([]);
});

test('the lint step ends with 1 where a page has one, and names the place', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-words-'));
  const script = new URL('../../scripts/words.ts', import.meta.url).pathname;
  const run = promisify(execFile);
  await run('git', ['init', '-q', folder]);
  await writeFile(join(folder, 'README.md'), '# A page\n\nIt was told.\n');
  await expect(run(process.execPath, [script, 'README.md'], { cwd: folder })).rejects.toMatchObject({
    code: 1,
    stdout: 'README.md:3: "told": write reported, shown, named\n1 words to replace in 1 files\n',
  });
  await writeFile(join(folder, 'README.md'), '# A page\n');
  expect((await run(process.execPath, [script, 'README.md'], { cwd: folder })).stdout).toBe(
    '0 words to replace in 1 files\n',
  );
  await rm(folder, { recursive: true });
});
