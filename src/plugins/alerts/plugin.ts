import { alertsSlot } from '../../run/alerts.ts';
import type { Plugin } from '../../plugin.ts';

export const alerts: Plugin = {
  name: 'alerts',
  about: 'alerts by webhook and mail, and the ping of a good night',
  settings: async () => (await import('./settings.ts')).alertSettings,
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
