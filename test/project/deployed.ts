/** The files of deploy/, read for tests, and what in them has to be something of daybook's. */
import { PLUGINS } from '../../src/plugins.ts';
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { isLoopback } from '../../src/host/addresses.ts';
import { openAccess } from '../../src/plugins/pages/access/open.ts';
import { pagesSettings } from '../../src/plugins/pages/settings.ts';
import { createCompleteProgram } from '../../src/cli/program.ts';
import { ALL_SETTINGS, loadSettings } from '../../src/settings/load.ts';
import type { Settings } from '../../src/settings/settings.ts';

export const deployed = (path: string): string =>
  readFileSync(new URL(`../../deploy/${path}`, import.meta.url), 'utf8');

export const deployedIn = (folder: string, end: string): string[] =>
  readdirSync(new URL(`../../deploy/${folder}`, import.meta.url))
    .filter((name) => name.endsWith(end))
    .map((name) => `${folder}/${name}`);

/** The documents of a YAML file. Throws for what cannot be parsed. */
export const documentsOf = (path: string): unknown[] =>
  parseAllDocuments(deployed(path), { merge: true }).map((document) => {
    if (document.errors.length > 0) throw document.errors[0]!;
    return document.toJS() as unknown;
  });

/** Variables that daybook and the AWS SDK in it read. */
const KNOWN = new Set([
  ...Object.entries(ALL_SETTINGS).flatMap(([name, { secret }]) => (secret ? [name, `${name}_FILE`] : [name])),
  ...['DAYBOOK_CONFIG', 'NODE_ENV', 'AWS_REGION', 'AWS_ENDPOINT_URL_S3', 'AWS_SHARED_CREDENTIALS_FILE'],
]);

export const unknownSettings = (names: Iterable<string>): string[] =>
  [...names].filter((name) => !KNOWN.has(name));

const program = await createCompleteProgram(PLUGINS);

/** What of these arguments is no command of daybook, no flag of that command, or one argument too many. */
export function unknownArguments(args: readonly string[]): string[] {
  let command = program;
  let at = 0;
  for (; at < args.length; at += 1) {
    const sub = command.commands.find((one) => one.name() === args[at]);
    if (sub === undefined) break;
    command = sub;
  }
  const { operands, unknown } = command.parseOptions(args.slice(at));
  return [...operands.slice(command.registeredArguments.length), ...unknown];
}

const bytesOf = (text: string): Buffer => createHash('sha256').update(text).digest();
const PASSWORD = `scrypt:15:8:3:${bytesOf('salt').subarray(16).toString('base64url')}:${bytesOf('made up').toString('base64url')}`;
/** What the files of secrets hold, by their names. */
const MADE_UP: Readonly<Record<string, string>> = {
  database_url: 'postgres://daybook:made-up@database/daybook',
  secret_keys: `k1:${bytesOf('made up').toString('base64')}`,
  cookie_keys: `c1:${bytesOf('made up, too').toString('base64')}`,
  access_users: JSON.stringify({ ada: PASSWORD, vera: PASSWORD }),
};

/** The settings that these variables make; secrets come from files that hold something fitting. Throws what is wrong. */
export const settingsFrom = (env: Readonly<Record<string, string>>): Settings =>
  loadSettings({
    env,
    readFile: (path) => MADE_UP[path.replace(/.*\/(?:[a-z_]+_(?=database_url))?/, '')] ?? '',
    needs: ['platform'],
  });

/** The variables of a file of `NAME=value` lines. */
export const valuesIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/^([A-Z][A-Z0-9_]*)=(.*)$/gm)].map(([, name, value]) => [name!, value!]),
  );

/** An image that a tag cannot move to other bytes. */
export const PINNED = /@sha256:[0-9a-f]{64}$/;

/** Settings as somebody could add them to settings.env for the pages, which every process reads. */
export const PAGES_FOR_ALL = { DAYBOOK_PAGES_LISTEN: '127.0.0.1:8091' } as const;

/** Whether posts of the platform reach `serve` with these arguments and settings, and whether it shows pages. */
export const servingOf = (args: readonly string[], { listen, pagesListen }: Settings) => ({
  receives: !args.includes('--pages') && !isLoopback(listen.host),
  shows: pagesListen !== null,
});

/** What a process gets to know, by its name: which login of the database, and which keys. */
export const KNOWS: Readonly<Record<string, readonly string[]>> = {
  migrate: ['migrate'],
  schedule: ['job', 'secretKeys', 's3'],
  nightly: ['job', 'secretKeys', 's3'],
  worker: ['job', 'secretKeys', 's3'],
  serve: ['serve', 'secretKeys'],
  pages: ['pages', 'cookieKeys', 's3', 'people'],
  prune: ['prune'],
};
const KNOWN_BY: Readonly<Record<string, string>> = {
  DAYBOOK_SECRET_KEYS_FILE: 'secretKeys',
  DAYBOOK_COOKIE_KEYS_FILE: 'cookieKeys',
  AWS_SHARED_CREDENTIALS_FILE: 's3',
  DAYBOOK_ACCESS_USERS_FILE: 'people',
};
/** The same of a process whose environment has these variables and whose login of the database is that one. */
export const knownBy = (login: string, env: Readonly<Record<string, string>>): string[] => [
  login,
  ...Object.entries(KNOWN_BY).flatMap(([name, what]) => (env[name] === undefined ? [] : [what])),
];

/** Who may do what at the pages of a process with these settings. Throws where pages could be reached without a login. */
export function peopleOfPages(settings: Settings): unknown {
  const pagesListen = settings.pagesListen!;
  const unused = { db: null as never, now: () => new Date(0), random: randomBytes };
  const { canLogOut } = openAccess({ settings: pagesSettings.of(settings), pagesListen, ...unused });
  return { canLogOut, roles: Object.fromEntries(settings.access.roles), port: pagesListen.port };
}
