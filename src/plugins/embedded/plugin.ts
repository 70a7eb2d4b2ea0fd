import { embeddedSlot } from '../../store/engine/embedded-slot.ts';
import type { Plugin } from '../../plugin.ts';

export const embedded: Plugin = {
  name: 'embedded',
  about: 'a database in this process, where DATABASE_URL is not set',
  docs: ['decisions/package.md#pglite-as-the-embedded-database'],
  register: () =>
    embeddedSlot.fill(async (dataDir) => (await import('./database.ts')).openEmbeddedFolder(dataDir)),
};
