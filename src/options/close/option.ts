import type { Option } from '../option.ts';

export const close: Option = {
  name: 'close',
  about: 'closing a month: its statements are frozen, and what changes later shows as an adjustment',
  tables: ['month_close', 'month_preparation'],
  docs: ['decisions/month-close.md'],
  commands: [
    {
      usage: 'close [options] [month]',
      about: 'close a month: freeze its statements, so that later revisions show as adjustments',
      after: 'statements',
      load: async () => (await import('./command.ts')).closeCommand,
    },
  ],
  closes: {
    list: async (...asked) => (await import('./stored.ts')).listCloses(...asked),
    preparations: async (...asked) => (await import('./approval.ts')).listPreparations(...asked),
    ofMonth: async (...asked) => (await import('./files.ts')).closesWithFiles(...asked),
    frozen: async (...asked) => (await import('./files.ts')).frozenBy(...asked),
    closedMonths: async (...asked) => (await import('./stored.ts')).closedMonths(...asked),
    adjustmentsOfEach: async (...asked) => (await import('./stored.ts')).adjustmentsOfEach(...asked),
    close: async (...asked) => (await import('./close.ts')).closeMonth(...asked),
    repair: async (options) => (await import('./files.ts')).repairCloses(options),
    adopt: async (...asked) => (await import('./adopt.ts')).adoptCloses(...asked),
  },
  closeCheck: async () => (await import('./verify.ts')).createCloseCheck(),
};
