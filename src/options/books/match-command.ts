/** `books match`: matches a merchant's own books with the ledger. */
import type { Command } from 'commander';

export function addMatchCommand(_books: Command): void {}
