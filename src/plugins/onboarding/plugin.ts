import type { Plugin } from '../../plugin.ts';

export const onboarding: Plugin = {
  name: 'onboarding',
  about: 'applications for new merchants (sp1101)',
  settings: async () => (await import('./settings.ts')).onboardingSettings,
  tables: ['application'],
  docs: ['platform.md#43-sp1101-merchant-access-application'],
  commands: [
    {
      usage: 'onboard [options]',
      about: 'applications for new merchants: check, submit, and see their state',
      load: async () => (await import('./command.ts')).onboardCommand,
    },
  ],
};
