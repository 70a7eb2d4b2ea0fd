/** Keeps who is logged in at the pages. A session ends with its row: at logout, or when its time is over. */
import { type Db, rowsOf } from '../../../store/engine/database.ts';

export interface PageSession {
  /** Of the random number in the cookie, in hex. */
  readonly tokenSha256: string;
  readonly way: 'password' | 'oidc' | 'link';
  readonly name: string;
  readonly groups: readonly string[];
  /** Of the hashed password that was right, or of what the settings say of the provider. Null in old rows. */
  readonly proofSha256: string | null;
  readonly begunAt: Date;
  readonly endsAt: Date;
}

/** Sessions that are over are taken out some time later, so that clocks of several servers need not agree. */
const KEPT_MS = 24 * 3_600_000;

/** Deletes the sessions that are over. Uses the index. */
export async function deleteOverSessions(db: Db, now: Date): Promise<void> {
  await db
    .deleteFrom('page_session')
    .where('ends_at', '<', new Date(now.getTime() - KEPT_MS))
    .execute();
}

export async function beginSession(db: Db, session: PageSession): Promise<void> {
  await db
    .insertInto('page_session')
    .values({
      token_sha256: session.tokenSha256,
      way: session.way,
      name: session.name,
      groups: [...session.groups],
      proof_sha256: session.proofSha256,
      begun_at: session.begunAt,
      ends_at: session.endsAt,
    })
    .execute();
}

/** The session, unless it is over; undefined if there is none. Uses the primary key. */
export async function findSession(db: Db, tokenSha256: string, now: Date): Promise<PageSession | undefined> {
  const [session] = await rowsOf(db)<PageSession>`
    SELECT token_sha256 AS "tokenSha256", way, name, groups, proof_sha256 AS "proofSha256", begun_at AS "begunAt",
      ends_at AS "endsAt"
    FROM page_session WHERE token_sha256 = ${tokenSha256} AND ends_at > ${now}`;
  return session;
}

/** Moves the end of a session that is used. */
export async function extendSession(db: Db, tokenSha256: string, endsAt: Date): Promise<void> {
  await db
    .updateTable('page_session')
    .set({ ends_at: endsAt })
    .where('token_sha256', '=', tokenSha256)
    .execute();
}

/** Ends all sessions of a name, however it logged in. Returns how many there were. */
export async function endSessionsOf(db: Db, name: string): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('page_session')
    .where('name', '=', name)
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

export async function endSession(db: Db, tokenSha256: string): Promise<void> {
  await db.deleteFrom('page_session').where('token_sha256', '=', tokenSha256).execute();
}
