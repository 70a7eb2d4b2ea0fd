import type { Plugin } from '../../plugin.ts';

export const beneficiaries: Plugin = {
  name: 'beneficiaries',
  about: 'registration of beneficiaries (sp1401)',
  needs: ['reference'],
  settings: async () => (await import('./settings.ts')).beneficiarySettings,
  tables: ['beneficiary'],
  docs: ['platform.md#44-sp1401-register-a-beneficiary'],
  commands: [
    {
      usage: 'beneficiary [options]',
      about: 'register beneficiaries with the platform, and see their state',
      load: async () => (await import('./command.ts')).beneficiaryCommand,
    },
  ],
};
