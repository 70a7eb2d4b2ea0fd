#!/usr/bin/env node
/** The program's entry. */
import { keepHeapSmall } from './heap.ts';
import { runCommandLine } from './program.ts';

/** Whatever is written, a database, a statement or a download, is for its owner alone. */
const OWNER_ONLY = 0o077;

process.umask(OWNER_ONLY);
for (const stream of [process.stdout, process.stderr]) stream.on('error', dropWhenClosed);
keepHeapSmall();
await runCommandLine(process.argv);

/** Who reads only the first lines (`| head`) wants no more; the work itself goes on to its end. */
function dropWhenClosed(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
