/** `books import`: reads a merchant's own book from a file or a query. */
import type { Command } from 'commander';

export function addImportCommand(_books: Command): void {}
