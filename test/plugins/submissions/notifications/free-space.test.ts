/** The embedded database has no automatic vacuum. The space of posts that were dropped must be used again. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { processNotifications } from '../../../../src/plugins/submissions/process.ts';
import { freeSpace } from '../../../../src/store/engine/database.ts';
import { freshEmbedded } from '../../embedded/fresh.ts';
import { KEYS, NOW } from './support.ts';

let database: Awaited<ReturnType<typeof freshEmbedded>>;
beforeAll(async () => (database = await freshEmbedded()));
afterAll(() => database.close());

/** Stores 200 posts to unknown paths and drops all but 20. Returns the size of the table. */
async function flood(): Promise<number> {
  const { db } = database;
  await sql`
    INSERT INTO notification (id, kind, notify_hash, body_ciphertext, body_bytes, received_at, outcome, reason, processed_at)
    SELECT gen_random_uuid(), 'onboarding', repeat('a', 64),
      (SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 100) WHERE n > 0),
      3200, ${NOW}, 'unknown', 'noise', ${NOW}
    FROM generate_series(1, 200) AS n`.execute(db);
  const report = await processNotifications({
    db,
    secretKeys: KEYS,
    now: () => NOW,
    signal: new AbortController().signal,
    unknownKept: { posts: 20, bytes: 1e9, days: 30 },
    freeSpace: () => freeSpace(database, ['notification']),
  });
  expect(report.dropped).toBeGreaterThanOrEqual(180);
  const { rows } = await sql<{ bytes: number }>`
    SELECT pg_total_relation_size('notification')::int AS bytes`.execute(db);
  return rows[0]!.bytes;
}

it('the space of dropped posts is used again', { tags: ['long'] }, async () => {
  const first = await flood();
  for (let round = 0; round < 6; round += 1) await flood();
  expect(await flood()).toBeLessThan(1.5 * first);
});
