/** A process that runs one command line after the other, so that a test can walk many: a line of JSON in, `END` and the exit code out. */
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
