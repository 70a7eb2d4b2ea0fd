#!/usr/bin/env node
/** The program's entry. */
import { keepHeapSmall } from './heap.ts';
import { runCommandLine } from './program.ts';

/** Whatever is written, a database, a statement or a download, is for its owner alone. */
const OWNER_ONLY = 0o077;

process.umask(OWNER_ONLY);
keepHeapSmall();
await runCommandLine(process.argv);
