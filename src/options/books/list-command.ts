/** `books list` and `books unreadable`: what was imported, and which rows could not be read. */
import type { Command } from 'commander';

export function addListCommands(_books: Command): void {}
