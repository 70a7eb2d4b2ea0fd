/** Who did what by hand, kept beside what it changed. Rows are added, never changed. */
import type { Kysely, Selectable } from 'kysely';
import type { AuditEntry, DB } from './engine/schema.ts';

export type AuditRow = Selectable<AuditEntry>;

/** Something a person did. */
export interface Deed {
  /** Who says to have done it. */
  readonly by: string;
  /** As it is typed, without options: `breaks resolve`. */
  readonly command: string;
  /** What it was about, a number or a file's name; never a secret or personal data. */
  readonly subject: string;
  readonly note?: string | undefined;
}

/** Adds a deed and returns its number; in the transaction of what it changed, where there is one, so that neither stands without the other. */
export async function recordDeed(db: Kysely<DB>, deed: Deed, now: Date): Promise<number> {
  const { by, command, subject, note } = deed;
  const { id } = await db
    .insertInto('audit_entry')
    .values({ at: now, by_whom: by, command, subject, note: note ?? null })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** Newest first. */
export const listDeeds = (db: Kysely<DB>, limit: number): Promise<AuditRow[]> =>
  db.selectFrom('audit_entry').selectAll().orderBy('at', 'desc').orderBy('id', 'desc').limit(limit).execute();
