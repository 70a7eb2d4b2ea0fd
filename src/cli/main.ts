#!/usr/bin/env node
/** The entry of the program. */
import { keepHeapSmall } from './heap.ts';
import { runCommandLine } from './program.ts';

/** Everything that is written (a database, a statement, a download) is for its owner only. */
const OWNER_ONLY = 0o077;

process.umask(OWNER_ONLY);
for (const stream of [process.stdout, process.stderr]) stream.on('error', dropWhenClosed);
keepHeapSmall();
await runCommandLine(process.argv);

/**
 * A reader that takes only the first lines (`| head`) closes the pipe. The output is then dropped, and the work goes
 * on.
 */
function dropWhenClosed(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
