#!/usr/bin/env node
/** The entry of the program. */
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Everything that is written (a database, a statement, a download) is for its owner only. */
const OWNER_ONLY = 0o077;

process.umask(OWNER_ONLY);
for (const stream of [process.stdout, process.stderr]) stream.on('error', dropWhenClosed);
keepCompiledCode();
const { runCommandLine } = await import('./program.ts');
const { keepHeapSmall } = await import('./heap.ts');
await runCommandLine(process.argv, keepHeapSmall);

/**
 * A reader that takes only the first lines (`| head`) closes the pipe. The output is then dropped, and the work goes
 * on.
 */
function dropWhenClosed(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

/**
 * The next start takes the compiled code from the user's own cache. Not from the folder for temporary files, where others
 * could put code. `NODE_COMPILE_CACHE` names another folder, `NODE_DISABLE_COMPILE_CACHE=1` ends it.
 */
function keepCompiledCode(): void {
  try {
    enableCompileCache(join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'daybook'));
  } catch {
    // A user without a home has no cache.
  }
}
