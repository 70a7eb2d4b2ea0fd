import { ownBooksSlot } from '../../months/own-books.ts';
import type { Plugin } from '../../plugin.ts';

export const books: Plugin = {
  name: 'books',
  about: 'a merchant’s own books: importing them, and matching them with the ledger',
  tables: [
    'book_import',
    'book_import_waiting',
    'book_unreadable',
    'book_entry',
    'book_match',
    'book_match_entry',
    'book_day',
  ],
  settings: async () => (await import('./settings.ts')).bookSettings,
  docs: ['books.md'],
  commands: [
    {
      usage: 'books [options]',
      about: 'a merchant’s own books: import them, match them with the ledger, decide what is open',
      load: async () => (await import('./command.ts')).booksCommand,
    },
  ],
  register: () =>
    ownBooksSlot.fill({
      counts: async (...asked) => (await import('./open.ts')).openCounts(...asked),
      figures: async (...asked) => (await import('./figures.ts')).bookFigures(...asked),
      desk: () => import('./desk.ts'),
    }),
  jobs: [
    {
      name: 'books',
      what: 'own books matched with the ledger, after the night; nothing where no merchant has any',
      when: ({ books, nightly }) => (books === undefined ? nightly : books),
      isLedger: false,
      run: async (...asked) => (await import('./match-command.ts')).executeMatchJob(...asked),
    },
  ],
};
