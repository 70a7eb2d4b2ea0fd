import { statementMailSlot } from '../../run/statement-mail.ts';
import type { Plugin } from '../../plugin.ts';

export const mail: Plugin = {
  name: 'mail',
  about: 'statements by mail, to named people, once their days are proven',
  // The server is that of alerts, and links lead to the pages.
  needs: ['alerts', 'pages'],
  settings: async () => (await import('./settings.ts')).mailSettings,
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
  register: () => statementMailSlot.fill(async () => (await import('./process.ts')).statementMail),
};
