/** `books`: a merchant's own books. Its subcommands are in files of their own, which load what they work with when they are called. */
import type { Command } from 'commander';
import { addImportCommand } from './import-command.ts';
import { addListCommands } from './list-command.ts';
import { addMatchCommand } from './match-command.ts';
import { addReportCommand } from './report-command.ts';
import { addWorkCommands } from './work-command.ts';

export function booksCommand(books: Command): void {
  addImportCommand(books);
  addListCommands(books);
  addMatchCommand(books);
  addWorkCommands(books);
  addReportCommand(books);
}
