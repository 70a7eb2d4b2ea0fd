#!/usr/bin/env node
/** The program: keeps what is written private, and runs the command that is asked for. */
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Everything that is written (a database, a statement, a download) is for its owner only. */
const OWNER_ONLY = 0o077;

/** Runs the command line of this process. The exit code is in `process.exitCode`. */
export async function main(): Promise<void> {
  process.umask(OWNER_ONLY);
  for (const stream of [process.stdout, process.stderr]) stream.on('error', dropWhenClosed);
  // What is loaded from here on is compiled once for all starts.
  keepCompiledCode();
  const { PLUGINS } = await import('./plugins.ts');
  const { runCommandLine } = await import('./cli/program.ts');
  const { keepHeapSmall } = await import('./cli/heap.ts');
  await runCommandLine(PLUGINS, process.argv, keepHeapSmall);
}

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

if (import.meta.main) await main();
