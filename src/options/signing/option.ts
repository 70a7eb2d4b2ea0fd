import type { Command } from 'commander';
import type { Option } from '../option.ts';
import { isSecretKey, isSignature, readPublicKey, readSigningKey } from './minisign.ts';

const SECRET_FILE = 'daybook.key';
const PUBLIC_FILE = 'daybook.pub';

function addKeygen(statements: Command): void {
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
    .action(async ({ out }: { readonly out?: string }, self: Command) => {
      const { keygen } = await import('./keygen.ts');
      await keygen(self, out, { secret: SECRET_FILE, public: PUBLIC_FILE });
    });
}

export const signing: Option = {
  name: 'signing',
  about: 'signatures of manifests and closes, as minisign has them',
  settings: ['DAYBOOK_SIGNING_KEY'],
  docs: ['operations.md#8-signed-statements'],
  signatures: { readSigningKey, isSecretKey, readPublicKey, isSignature, addKeygen },
};
