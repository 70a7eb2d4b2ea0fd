/** What `npm run bench` answers where it cannot begin: how it is used, and exit code 2. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const MAIN = fileURLToPath(new URL('../../bench/main.ts', import.meta.url));

const bench = (...flags: readonly string[]) =>
  new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) =>
    execFile(process.execPath, [MAIN, ...flags], (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    ),
  );

test('--help names the flags and every measure', async () => {
  const { code, stdout, stderr } = await bench('--help');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^usage: npm run bench -- .*--only/);
  expect(stdout).toMatch(/^names: calls, .*workers\*, workers-many\*/m);
});

test.each([
  [['--only', 'nope'], '--only: there is no measure called "nope"'],
  [['--only', 'calls,'], '--only: there is no measure called ""'],
  [['--fast'], "Unknown option '--fast'"],
  [['calls'], "Unexpected argument 'calls'"],
  [['--part', '3/2'], '--part takes one like 2/3, not "3/2"'],
  [['--only', 'calls', '--part', '2/2'], '--part 2/2 has nothing to measure'],
  [['--only', 'workers-many', '--merchants', '0'], '--merchants takes a number up to 999999, not "0"'],
])('%j: what is wrong, and how it is used', async (flags, problem) => {
  const { code, stdout, stderr } = await bench(...flags);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr.startsWith(problem)).toBe(true);
  expect(stderr).toContain('usage: npm run bench');
  expect(stderr).not.toMatch(/^\s+at /m);
});
