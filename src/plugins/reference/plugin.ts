import type { Plugin } from '../../plugin.ts';

export const reference: Plugin = {
  name: 'reference',
  about: 'the platform’s lists (sp2502): banks, payout methods, occupations, natures, purposes',
  settings: async () => (await import('./settings.ts')).referenceSettings,
  tables: ['reference_list', 'reference_item'],
  docs: ['platform.md#42-sp2502-metadata-lists'],
  commands: [
    {
      usage: 'reference [options]',
      about: 'the platform’s lists: banks, occupations, business natures, purposes, payout methods',
      load: async () => (await import('./command.ts')).referenceCommand,
    },
  ],
  jobs: [
    {
      name: 'reference',
      what: 'the platform’s lists: banks and payout methods of the countries in the settings, occupations, natures, purposes',
      when: ({ reference: times }) => times ?? null,
      // Without credentials of the agent the platform refuses each call.
      isSetUp: ({ platform }) => Object.keys(platform.agentHeaders).length > 0,
      isLedger: false,
      run: async (app, due, signal) => {
        const { executeReferenceRun, referenceWork } = await import('./run.ts');
        return executeReferenceRun({ ...referenceWork(app, signal), scheduled: due });
      },
    },
  ],
};
