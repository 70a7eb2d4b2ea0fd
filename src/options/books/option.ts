import type { Option } from '../option.ts';

export const books: Option = {
  name: 'books',
  about: 'a merchant’s own books: importing them, and matching them with the ledger',
  tables: ['book_import', 'book_unreadable', 'book_entry', 'book_match', 'book_match_entry', 'book_day'],
  docs: ['books.md'],
  commands: [
    {
      usage: 'books',
      about: 'a merchant’s own books: import them, match them with the ledger, decide what is open',
      load: async () => (await import('./command.ts')).booksCommand,
    },
  ],
};
