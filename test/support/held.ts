/** What a person does with `daybook amendments accept`, for tests that are about what follows. */
import type { Kysely } from 'kysely';
import type { DB } from '../../src/store/engine/schema.ts';
import { acceptHeld } from '../../src/store/absent-entries.ts';

/** Accepts all that is held, of every merchant. The next reading that misses it marks it as vanished. */
export const acceptAllHeld = (db: Kysely<DB>, now: Date) =>
  db
    .transaction()
    .execute((trx) =>
      acceptHeld(trx, { merchants: null, currencies: null, from: undefined, to: undefined }, now),
    );
