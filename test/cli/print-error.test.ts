/** How a command prints an error that ends it. */
import { afterEach, expect, test, vi } from 'vitest';
import { printError } from '../../src/cli/print.ts';
import { UsageError } from '../../src/run/verdict/exit-codes.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

/** What is written to stderr at a log level, and the exit code. */
function printed(error: unknown, level: string): [text: string, exitCode: unknown] {
  const before = process.exitCode;
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  vi.stubEnv('DAYBOOK_LOG_LEVEL', level);
  printError(error);
  const text = write.mock.calls.map(([part]) => String(part)).join('');
  write.mockRestore();
  const { exitCode } = process;
  process.exitCode = before;
  return [text, exitCode];
}

test('an internal error asks for a report; its stack is shown at the level debug alone', () => {
  const error = new TypeError('x is no y');
  const sentence =
    'daybook: internal error: TypeError: x is no y\nNo partial work was stored. Please report it; ' +
    'DAYBOOK_LOG_LEVEL=debug shows the stack.\n';
  expect(printed(error, 'info')).toEqual([sentence, 70]);
  expect(printed(error, 'debug')).toEqual([`${sentence}${error.stack!}\n`, 70]);
});

test('an error of wrong usage is its sentence alone, at any level', () => {
  const error = new UsageError('--to is no day.');
  for (const level of ['info', 'debug'])
    expect(printed(error, level)).toEqual(['daybook: --to is no day.\n', 2]);
});
