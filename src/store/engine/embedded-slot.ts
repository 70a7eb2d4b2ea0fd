/** The database without a server. A plugin has it. */
import { slot } from '../../host/slot.ts';
import type { Database } from './database.ts';

/**
 * Opens the database without a server, in a folder below `dataDir`. Throws `EmbeddedDatabaseBusy`, `DatabaseFull` or
 * `DatabaseUnusable`.
 */
export const embeddedSlot = slot<(dataDir: string) => Promise<Database>>('an embedded database');
