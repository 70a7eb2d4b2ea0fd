import type { Plugin } from '../../plugin.ts';

export const submissions: Plugin = {
  name: 'submissions',
  about:
    'applications for merchants (sp1101), registrations of beneficiaries (sp1401), and the results that the platform pushes (sp3101, sp3401)',
  needs: ['reference'],
  settings: async () => (await import('./settings.ts')).submissionSettings,
  tables: ['application', 'beneficiary', 'notification'],
  roles: ['inbox.sql'],
  docs: [
    'platform.md#43-sp1101-merchant-access-application',
    'platform.md#44-sp1401-register-a-beneficiary',
    'platform.md#6-events',
    'runbook.md#results-do-not-come-in',
  ],
  commands: [
    {
      usage: 'onboard [options]',
      about: 'applications for new merchants: check, submit, and see their state',
      load: async () => (await import('./onboard-command.ts')).onboardCommand,
    },
    {
      usage: 'beneficiary [options]',
      about: 'register beneficiaries with the platform, and see their state',
      load: async () => (await import('./beneficiary-command.ts')).beneficiaryCommand,
    },
    {
      usage: 'notifications [options]',
      about: 'pushed results that need attention or are not processed yet, newest first',
      load: async () => (await import('./notifications-command.ts')).notificationsCommand,
    },
    {
      usage: 'serve [options]',
      about:
        'take in the results the platform pushes, show pages, and answer /healthz and /readyz; stop it with SIGTERM or Ctrl-C',
      load: async () => (await import('./serve-command.ts')).serveCommand,
    },
  ],
};
