import type { Option } from '../option.ts';

export const pages: Option = {
  name: 'pages',
  about: 'months, days, breaks and status in a browser, with logins',
  commands: [
    {
      usage: 'access [options]',
      about: 'who may log in at the pages of `serve`',
      load: async () => (await import('./command.ts')).accessCommand,
    },
  ],
  pages: async () => (await import('./shown.ts')).pagesPart,
};
