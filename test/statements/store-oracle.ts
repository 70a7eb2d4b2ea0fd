/** The law of the store: it holds what the database says, and `verify` finds no problem. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Kysely } from 'kysely';
import { readObject, type ObjectStore } from '../../src/objects/object-store.ts';
import { sha256Of } from '../../src/host/sha256.ts';
import { MERCHANTS_PREFIX, SIGNATURE_EXTENSION } from '../../src/verify/names.ts';
import { STATEMENT_FORMATS } from '../../src/statements/formats/all.ts';
import { verifyPaths } from '../../src/verify/verify.ts';
import type { PublicKey } from '../../src/ledger/signature.ts';
import type { DB } from '../../src/store/engine/schema.ts';

/** SHA-256 by key, from the database. */
export async function filesOfDatabase(db: Kysely<DB>): Promise<Map<string, string>> {
  const statements = await db.selectFrom('statement').select(['object_key', 'sha256']).execute();
  const artifacts = await db
    .selectFrom('artifact')
    .select(['object_key', 'sha256', 'signature'])
    .where('kind', 'in', ['summary', 'manifest'])
    .execute();
  return new Map(
    [
      ...[...statements, ...artifacts].map((row): [string, string] => [row.object_key, row.sha256]),
      ...artifacts.flatMap(({ object_key, signature }): [string, string][] =>
        signature === null ? [] : [[object_key + SIGNATURE_EXTENSION, sha256Of(signature)]],
      ),
    ].sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** SHA-256 by key, from the stored files. */
export async function filesOfStore(objects: ObjectStore): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for await (const { key } of objects.survey(MERCHANTS_PREFIX))
    files.set(key, (await objects.digest(key))!.sha256);
  return files;
}

/** The problems that `verify` finds in a download of the entire store. */
export async function verifyProblems(
  objects: ObjectStore,
  publicKeys: readonly PublicKey[] = [],
): Promise<readonly unknown[]> {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-verify-'));
  try {
    for await (const { key } of objects.survey(MERCHANTS_PREFIX)) {
      await mkdir(dirname(join(folder, key)), { recursive: true });
      await writeFile(join(folder, key), (await readObject(objects, key))!);
    }
    return (await verifyPaths([folder], STATEMENT_FORMATS, publicKeys)).problems;
  } finally {
    await rm(folder, { recursive: true });
  }
}
