/**
 * A process that runs one command line after another, so that a test can run many quickly. It reads one line of JSON
 * each time, and writes `END` and the exit code after it.
 */
import { createInterface } from 'node:readline';
import { runCommandLine } from '../../src/cli/program.ts';

interface Line {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

process.setMaxListeners(0);
for await (const text of createInterface({ input: process.stdin })) {
  const { argv, env } = JSON.parse(text) as Line;
  process.env = { ...env };
  process.exitCode = undefined;
  await runCommandLine(['node', 'daybook', ...argv]);
  process.stdout.write(`\nEND ${String(process.exitCode)}\n`);
}
process.exitCode = 0;
