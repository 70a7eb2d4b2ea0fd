import { pagesSlot } from '../../web/pages.ts';
import type { Plugin } from '../../plugin.ts';

export const pages: Plugin = {
  name: 'pages',
  about: 'months, days, breaks and status in a browser, with logins',
  settings: async () => (await import('./settings.ts')).pagesSettings,
  tables: ['page_session'],
  roles: ['pages.sql', 'sessions.sql'],
  docs: ['operations.md#the-pages-and-who-may-see-them'],
  commands: [
    {
      usage: 'access [options]',
      about: 'who may log in at the pages of `serve`',
      load: async () => (await import('./command.ts')).accessCommand,
    },
  ],
  register: () => pagesSlot.fill(async () => (await import('./shown.ts')).pagesPart),
};
