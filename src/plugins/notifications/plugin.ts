import type { Plugin } from '../../plugin.ts';

export const notifications: Plugin = {
  name: 'notifications',
  about: 'results that the platform pushes (sp3101, sp3401): taken in, and processed',
  needs: ['onboarding', 'beneficiaries'],
  tables: ['notification'],
  roles: ['inbox.sql'],
  docs: ['platform.md#6-events', 'runbook.md#results-do-not-come-in'],
  commands: [
    {
      usage: 'notifications [options]',
      about: 'pushed results that need attention or are not processed yet, newest first',
      load: async () => (await import('./command.ts')).notificationsCommand,
    },
    {
      usage: 'serve [options]',
      about:
        'take in the results the platform pushes, show pages, and answer /healthz and /readyz; stop it with SIGTERM or Ctrl-C',
      load: async () => (await import('./serve-command.ts')).serveCommand,
    },
  ],
};
