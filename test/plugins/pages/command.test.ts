/** `access hash` makes what the settings take, and serve's pages accept the password by. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { isCommonPassword } from '../../../src/plugins/pages/access/common-passwords.ts';
import { createPasswordCheck } from '../../../src/plugins/pages/access/identity.ts';
import { accessSettings } from './access/support.ts';
import { shortAndLong } from '../../support/short-and-long.ts';

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

async function hash(password: string, ...flags: string[]) {
  const child = spawn(process.execPath, [MAIN, 'access', 'hash', ...flags], {
    env: { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
  });
  child.stdin.end(password);
  const [stdout, stderr] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    ...(child.exitCode === null ? [once(child, 'exit')] : []),
  ]);
  return { code: child.exitCode, stdout, stderr };
}

describe('access hash', () => {
  it('prints a hash by which the password, and no other, is right', async () => {
    const { code, stdout } = await hash('a password of some length\n', '--json');
    expect(code).toBe(0);
    const { hash: made } = JSON.parse(stdout) as { hash: string };
    const { users } = accessSettings({
      accessUsers: JSON.stringify({ ada: made }),
      accessRoles: '{"ada":"operator"}',
    });
    const isRight = createPasswordCheck(users);
    expect(await isRight('ada', 'a password of some length')).toBe(true);
    expect(await isRight('ada', 'a password of some lengtH')).toBe(false);
    expect(await isRight('eve', 'a password of some length')).toBe(false);
    expect((await hash('a password of some length\n')).stdout).not.toContain(made);
  });

  for (const { options, cases } of shortAndLong([
    ['short', '12 to 1000 characters; this one has 5'],
    ['two lines of\ntext in it', 'one line of text'],
    ['password1234', 'guessers try first'],
    ['daybook1234?', 'guessers try first'],
    ['finance12345', 'guessers try first'],
    ['1234567890ab', 'guessers try first'],
    ['a1b2c3d4e5f6', 'guessers try first'],
    ['PassWord2026!', 'guessers try first'],
    ['P@ssw0rd!!!!', 'guessers try first'],
    ['1234qwerty1234', 'guessers try first'],
    ['iloveyou, 2026', 'guessers try first'],
    ['passwordpassword', 'guessers try first'],
    ['Dragon.Dragon.', 'guessers try first'],
    ['111111111111', 'guessers try first'],
    ['abcabcabcabcabc', 'guessers try first'],
    ['098765432109', 'guessers try first'],
    ['qwertyuiopas', 'guessers try first'],
  ]))
    it.each(cases)('refuses %j and does not repeat it', options, async (password, said) => {
      const { code, stderr } = await hash(password);
      expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
      expect(stderr).not.toContain(password);
    });
});

it.each([
  'correct horse battery',
  'password of the harbour',
  'tide-27-lantern',
  '482911372055',
  'кошка и фонарь 7',
])('a password that is not common is hashed: %s', (password) =>
  expect(isCommonPassword(password)).toBe(false),
);
