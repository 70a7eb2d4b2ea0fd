/** `books unmatched`, `propose`, `accept`, `undo` and `writeoff`: what people do about entries that no rule matches. */
import type { Command } from 'commander';

export function addWorkCommands(_books: Command): void {}
