import type { Option } from '../option.ts';

export const mail: Option = {
  name: 'mail',
  about: 'statements by mail, to named people, once their days are proven',
  // The server is that of alerts, and links lead to the pages.
  needs: ['alerts', 'pages'],
  settings: ['DAYBOOK_STATEMENT_MAIL'],
  tables: ['statement_mail'],
  docs: ['operations.md#statements-by-mail'],
  commands: [
    {
      usage: 'mail [options]',
      about: 'statements by mail',
      after: 'audit',
      load: async () => (await import('./command.ts')).mailCommand,
    },
  ],
  statementMail: async () => (await import('./process.ts')).statementMail,
};
