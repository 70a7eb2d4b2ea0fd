/** `statements keygen`: makes the keys that sign. */
import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { print } from './context.ts';
import { lines } from './output/text.ts';
import { download } from './download.ts';
import { bytesOf } from '../objects/object-store.ts';
import { UsageError } from '../run/verdict/exit-codes.ts';
import { ID_BYTES, keyFile, keyPairOf, SEED_BYTES } from '../signing.ts';

const SECRET_FILE = 'daybook.key';
const PUBLIC_FILE = 'daybook.pub';

export function addKeygenCommand(statements: Command): void {
  statements
    .command('keygen')
    .description('make a minisign key pair: the secret key signs each manifest, the public key checks it')
    .option('--out <folder>', `write ${SECRET_FILE} and ${PUBLIC_FILE} there, instead of printing the pair`)
    .addHelpText(
      'after',
      `\nExample:\n  daybook statements keygen --out keys\n  export DAYBOOK_SIGNING_KEY_FILE=keys/${SECRET_FILE}\n\n` +
        'Keep a copy of the secret key where the database’s backup is not. Give the public key to whoever checks the\n' +
        `files: \`daybook verify --public-key ${PUBLIC_FILE} FOLDER\`, or \`minisign -V -p ${PUBLIC_FILE} -m manifest.json\`.`,
    )
    .action(({ out }: { readonly out?: string }, self: Command) => keygen(self, out));
}

/** Prints a new pair, or writes it to files in a folder. Throws `UsageError` where one is there already. */
async function keygen(self: Command, out: string | undefined): Promise<void> {
  const pair = keyPairOf(randomBytes(SEED_BYTES), randomBytes(ID_BYTES));
  if (out === undefined) {
    print(self, {
      document: pair,
      text: lines(`DAYBOOK_SIGNING_KEY=${pair.secretKey}`, `public key: ${pair.publicKey}`),
    });
    return;
  }
  for (const name of [SECRET_FILE, PUBLIC_FILE]) {
    const path = join(out, name);
    if ((await stat(path).catch(() => null)) !== null)
      throw new UsageError(`${path} is there already, and no key is ever overwritten; choose another --out.`);
  }
  const secretFile = await download(bytesOf(Buffer.from(keyFile('secret', pair))), out, SECRET_FILE);
  const publicFile = await download(bytesOf(Buffer.from(keyFile('public', pair))), out, PUBLIC_FILE);
  print(self, {
    document: { id: pair.id, secretFile, publicKey: pair.publicKey, publicFile },
    text: lines(
      `${secretFile}: keep it secret, and set DAYBOOK_SIGNING_KEY_FILE to it`,
      `${publicFile}: ${pair.publicKey}`,
    ),
  });
}
