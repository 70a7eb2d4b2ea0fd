/** What daybook is made of. A plugin whose two lines are taken away is gone, with its commands, jobs, formats and pages. */
import { registerPlugins } from './plugin.ts';
import { alerts } from './plugins/alerts/plugin.ts';
import { books } from './plugins/books/plugin.ts';
import { embedded } from './plugins/embedded/plugin.ts';
import { formats } from './plugins/formats/plugin.ts';
import { mail } from './plugins/mail/plugin.ts';
import { observe } from './plugins/observe/plugin.ts';
import { onboardingDemo } from './plugins/onboarding-demo/plugin.ts';
import { pages } from './plugins/pages/plugin.ts';
import { queue } from './plugins/queue/plugin.ts';
import { reference } from './plugins/reference/plugin.ts';
import { sandbox } from './plugins/sandbox/plugin.ts';
import { submissions } from './plugins/submissions/plugin.ts';

/** In the order in which `daybook --help` has their commands. Registered before anything else of daybook is loaded. */
export const PLUGINS = registerPlugins([
  books,
  queue,
  alerts,
  mail,
  reference,
  submissions, // sp1101, sp1401, sp3101, sp3401
  pages,
  observe,
  sandbox,
  onboardingDemo,
  embedded,
  formats,
]);
