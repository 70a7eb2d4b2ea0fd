#!/usr/bin/env node
/** The program's entry. */
import { keepHeapSmall } from './heap.ts';
import { runCommandLine } from './program.ts';

keepHeapSmall();
await runCommandLine(process.argv);
