/** `statements keygen`: makes the keys that sign. */
import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { print } from '../../cli/context.ts';
import { lines } from '../../cli/output/text.ts';
import { download } from '../../cli/download.ts';
import { bytesOf } from '../../objects/object-store.ts';
import { UsageError } from '../../run/verdict/exit-codes.ts';
import { ID_BYTES, keyFile, keyPairOf, SEED_BYTES } from './minisign.ts';

/** Prints a new pair, or writes it to files of these names in a folder. Throws `UsageError` where one is there already. */
export async function keygen(
  self: Command,
  out: string | undefined,
  names: { readonly secret: string; readonly public: string },
): Promise<void> {
  const pair = keyPairOf(randomBytes(SEED_BYTES), randomBytes(ID_BYTES));
  if (out === undefined) {
    print(self, {
      document: pair,
      text: lines(`DAYBOOK_SIGNING_KEY=${pair.secretKey}`, `public key: ${pair.publicKey}`),
    });
    return;
  }
  for (const name of [names.secret, names.public]) {
    const path = join(out, name);
    if ((await stat(path).catch(() => null)) !== null)
      throw new UsageError(`${path} is there already, and no key is ever overwritten; choose another --out.`);
  }
  const secretFile = await download(bytesOf(Buffer.from(keyFile('secret', pair))), out, names.secret);
  const publicFile = await download(bytesOf(Buffer.from(keyFile('public', pair))), out, names.public);
  print(self, {
    document: { id: pair.id, secretFile, publicKey: pair.publicKey, publicFile },
    text: lines(
      `${secretFile}: keep it secret, and set DAYBOOK_SIGNING_KEY_FILE to it`,
      `${publicFile}: ${pair.publicKey}`,
    ),
  });
}
