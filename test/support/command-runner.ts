/**
 * A process that runs one command line after another, each as `src/main.ts` does, so that a test does not pay for a
 * process each time. It is asked over IPC, and marks the end of each command in both streams.
 */
import { PLUGINS } from '../../src/plugins.ts';
import { runCommandLine } from '../../src/cli/program.ts';
import { beginCoverage, endCoverage } from './coverage.ts';
import type { CommandAsked } from './warm-commands.ts';

const folder = process.cwd();
process.umask(0o077);
process.setMaxListeners(0);
process.on('disconnect', () => process.exit());
process.on('message', ({ args, env, cwd, mark, coverage }: CommandAsked) => {
  if (coverage !== null) beginCoverage();
  process.chdir(cwd ?? folder);
  process.env = { ...env };
  process.exitCode = undefined;
  void runCommandLine(PLUGINS, ['node', 'daybook', ...args]).then(() => {
    const code = process.exitCode ?? 0;
    process.exitCode = undefined;
    if (coverage !== null) endCoverage(coverage);
    process.stderr.write(mark);
    process.stdout.write(`${mark}${String(code)}\n`);
  });
});
