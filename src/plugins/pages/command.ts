/** `access`: who may log in at the pages of `serve`. */
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { endSessionsOf } from './access/stored.ts';
import { isCommonPassword } from './access/common-passwords.ts';
import { hashPassword, SALT_BYTES } from './access/identity.ts';
import { UsageError } from '../../run/verdict/exit-codes.ts';
import { answer, withBy } from '../../cli/context.ts';
import { counted } from '../../cli/output/text.ts';
import { print } from '../../cli/print.ts';

const PASSWORD_CHARACTERS_MIN = 12;
const PASSWORD_CHARACTERS_MAX = 1_000;

const HASH_HELP = `
Reads the password from stdin; on a terminal it asks, and shows nothing of what is typed. Passwords that many people have are
refused, also with other digits, signs or capitals.

Example:
  daybook access hash < password.txt
  export DAYBOOK_ACCESS_USERS='{"ada":"scrypt:15:8:3:..."}' DAYBOOK_ACCESS_ROLES='{"ada":"operator"}'`;

export function accessCommand(access: Command): void {
  addHash(access);
  addLogout(access);
}

function addHash(access: Command): void {
  access
    .command('hash')
    .description('hash a password for DAYBOOK_ACCESS_USERS')
    .addHelpText('after', HASH_HELP)
    .action(async (_flags: object, self: Command) => {
      const given = process.stdin.isTTY ? await hiddenLine('password: ') : await text(process.stdin);
      const password = given.replace(/\r?\n$/, '');
      if (password.length < PASSWORD_CHARACTERS_MIN || password.length > PASSWORD_CHARACTERS_MAX)
        throw new UsageError(
          `the password has to have ${PASSWORD_CHARACTERS_MIN} to ${PASSWORD_CHARACTERS_MAX} characters; this one has ${password.length}.`,
        );
      if (/\p{C}/u.test(password)) throw new UsageError('the password has to be one line of text.');
      if (isCommonPassword(password))
        throw new UsageError(
          'the password is one that guessers try first, or a simple variation of one: choose another, such as four words drawn at random.',
        );
      const hash = await hashPassword(password, randomBytes(SALT_BYTES));
      print(self, { document: { hash }, text: hash });
    });
}

const LOGOUT_HELP = `
Ends every login of this name at the pages, as after a lost computer. They may log in again: to keep them out, take the name out of
DAYBOOK_ACCESS_ROLES or DAYBOOK_ACCESS_USERS, and start serve again.`;

function addLogout(access: Command): void {
  withBy(access.command('logout'))
    .description('end all logins of a name at the pages')
    .argument('<name>', 'as the pages show it')
    .addHelpText('after', LOGOUT_HELP)
    .action((name: string, _flags: object, self: Command) =>
      answer(self, async ({ recorded }) => {
        const ended = await recorded({ subject: name }, (trx) => endSessionsOf(trx, name));
        return { document: { name, ended }, text: `${counted(ended, 'login')} of ${name} ended` };
      }),
    );
}

async function hiddenLine(question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  process.stderr.write(question);
  try {
    return await lines.question('');
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
