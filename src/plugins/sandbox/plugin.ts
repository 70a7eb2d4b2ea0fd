import type { Plugin } from '../../plugin.ts';

export const sandbox: Plugin = {
  name: 'sandbox',
  about: 'a simulated platform to try and test against',
  commands: [
    {
      usage: 'sandbox [options]',
      about: 'a simulated platform on loopback: made-up merchants, and every way it can misbehave',
      load: async () => (await import('./command.ts')).sandboxCommand,
    },
    {
      usage: 'demo [options]',
      about: 'the complete job once, against the sandbox and an embedded database: what `npm start` shows',
      load: async () => (await import('./demo.ts')).demoCommand,
    },
  ],
};
