#!/usr/bin/env node
/** The program's entry. */
import { runCommandLine } from './program.ts';

await runCommandLine(process.argv);
