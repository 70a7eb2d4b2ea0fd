import { alertsSlot } from '../../run/alerts.ts';
import type { Plugin } from '../../plugin.ts';

export const alerts: Plugin = {
  name: 'alerts',
  about: 'alerts by webhook and mail, and the ping of a good night',
  settings: [
    'DAYBOOK_ALERT_URL',
    'DAYBOOK_ALERT_SECRET',
    'DAYBOOK_ALERT_MAIL_TO',
    'DAYBOOK_ALERT_MAIL_FROM',
    'DAYBOOK_SMTP_URL',
    'DAYBOOK_PING_URL',
  ],
  tables: ['alert', 'alert_delivery', 'alert_condition'],
  docs: ['runbook.md#alerts', 'operations.md#7-who-is-alerted', 'decisions/alerts.md'],
  commands: [
    {
      usage: 'alerts [options]',
      about: 'alerts by webhook and mail',
      after: 'audit',
      load: async () => (await import('./command.ts')).alertsCommand,
    },
  ],
  register: () => alertsSlot.fill(async () => (await import('./process.ts')).alertsOfCommands),
};
