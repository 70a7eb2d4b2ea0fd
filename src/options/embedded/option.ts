import type { Option } from '../option.ts';

export const embedded: Option = {
  name: 'embedded',
  about: 'a database in this process, where DATABASE_URL is not set',
  docs: ['decisions/package.md#pglite-as-the-embedded-database'],
  embeddedDatabase: async (dataDir) => (await import('./database.ts')).openEmbeddedFolder(dataDir),
};
