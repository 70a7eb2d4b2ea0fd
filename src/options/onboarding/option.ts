import type { Option } from '../option.ts';

export const onboarding: Option = {
  name: 'onboarding',
  about: 'applications for new merchants (sp1101)',
  needs: ['sandbox', 'notifications', 'beneficiaries', 'reference'],
  commands: [
    {
      usage: 'onboard [options]',
      about: 'applications for new merchants: check, submit, and see their state',
      load: async () => (await import('./command.ts')).onboardCommand,
    },
    {
      usage: 'demo-onboarding [options]',
      about: 'an application, its approval, the first statement and a beneficiary, against the sandbox',
      load: async () => (await import('./demo.ts')).demoOnboardingCommand,
    },
  ],
};
