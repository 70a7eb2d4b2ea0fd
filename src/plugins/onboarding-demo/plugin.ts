import type { Plugin } from '../../plugin.ts';

export const onboardingDemo: Plugin = {
  name: 'onboarding-demo',
  about: 'the way from an application to a first statement and a beneficiary, against the sandbox',
  needs: ['reference', 'submissions', 'sandbox'],
  commands: [
    {
      usage: 'demo-onboarding [options]',
      about: 'an application, its approval, the first statement and a beneficiary, against the sandbox',
      load: async () => (await import('./command.ts')).demoOnboardingCommand,
    },
  ],
};
