/** The law of the store: it holds what the database says, and `verify` finds no problem. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Kysely } from 'kysely';
import { readWhole, type ObjectStore } from '../../src/objects/object-store.ts';
import { manifestKey, MERCHANTS_PREFIX } from '../../src/statements/keys.ts';
import { verifyPaths } from '../../src/statements/verify.ts';
import type { DB } from '../../src/store/engine/schema.ts';

/** SHA-256 by key, from the database. */
export async function filesOfDatabase(db: Kysely<DB>): Promise<Map<string, string>> {
  const statements = await db.selectFrom('statement').select(['object_key', 'sha256']).execute();
  const summaries = await db.selectFrom('statement_summary').select(['object_key', 'sha256']).execute();
  const manifests = await db
    .selectFrom('statement_manifest')
    .select(['merchant_no', 'day', 'sha256'])
    .execute();
  return new Map(
    [
      ...[...statements, ...summaries].map((row): [string, string] => [row.object_key, row.sha256]),
      ...manifests.map((row): [string, string] => [manifestKey(row.merchant_no, row.day), row.sha256]),
    ].sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** SHA-256 by key, from the stored files. */
export async function filesOfStore(objects: ObjectStore): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for await (const key of objects.list(MERCHANTS_PREFIX)) files.set(key, (await objects.digest(key))!.sha256);
  return files;
}

/** The problems that `verify` finds in a download of the whole store. */
export async function verifyProblems(objects: ObjectStore): Promise<readonly unknown[]> {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-verify-'));
  try {
    for await (const key of objects.list(MERCHANTS_PREFIX)) {
      await mkdir(dirname(join(folder, key)), { recursive: true });
      await writeFile(join(folder, key), (await readWhole(objects, key))!);
    }
    return (await verifyPaths([folder])).problems;
  } finally {
    await rm(folder, { recursive: true });
  }
}
