import { pagesSlot } from '../../web/pages.ts';
import type { Plugin } from '../../plugin.ts';

export const pages: Plugin = {
  name: 'pages',
  about: 'months, days, breaks and status in a browser, with logins',
  settings: [
    'DAYBOOK_PAGES_LISTEN',
    'DAYBOOK_PAGES_URL',
    'DAYBOOK_COOKIE_KEYS',
    'DAYBOOK_ACCESS_USERS',
    'DAYBOOK_ACCESS_ROLES',
    'DAYBOOK_ACCESS_HOURS',
    'DAYBOOK_ACCESS_IDLE_MINUTES',
    'DAYBOOK_ACCESS_PROXY_HEADER',
    'DAYBOOK_ACCESS_PROXIES',
    'DAYBOOK_OIDC_ISSUER',
    'DAYBOOK_OIDC_CLIENT_ID',
    'DAYBOOK_OIDC_CLIENT_SECRET',
    'DAYBOOK_OIDC_NAME_CLAIM',
    'DAYBOOK_OIDC_GROUPS_CLAIM',
  ],
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
