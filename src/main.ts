#!/usr/bin/env node
/** daybook: what it is made of. A plugin whose two lines are taken away is gone, with its commands, jobs, formats and pages. */
import { registerPlugins } from './plugin.ts';
import { keepCompiledCode, start } from './program.ts';

// What is loaded from here on is compiled once for all starts.
keepCompiledCode();
const { alerts } = await import('./plugins/alerts/plugin.ts');
const { beneficiaries } = await import('./plugins/beneficiaries/plugin.ts');
const { books } = await import('./plugins/books/plugin.ts');
const { embedded } = await import('./plugins/embedded/plugin.ts');
const { formats } = await import('./plugins/formats/plugin.ts');
const { mail } = await import('./plugins/mail/plugin.ts');
const { notifications } = await import('./plugins/notifications/plugin.ts');
const { observe } = await import('./plugins/observe/plugin.ts');
const { onboarding } = await import('./plugins/onboarding/plugin.ts');
const { onboardingDemo } = await import('./plugins/onboarding-demo/plugin.ts');
const { pages } = await import('./plugins/pages/plugin.ts');
const { queue } = await import('./plugins/queue/plugin.ts');
const { reference } = await import('./plugins/reference/plugin.ts');
const { sandbox } = await import('./plugins/sandbox/plugin.ts');

/** In the order in which `daybook --help` has their commands. Registered before anything else of daybook is loaded. */
export const PLUGINS = registerPlugins([
  books,
  queue,
  alerts,
  mail,
  reference,
  onboarding, // sp1101
  beneficiaries, // sp1401
  notifications, // sp3101, sp3401
  pages,
  observe,
  sandbox,
  onboardingDemo,
  embedded,
  formats,
]);

/** Runs the command line of this process. */
export const main = (): Promise<void> => start(PLUGINS, process.argv);

if (import.meta.main) await main();
