/** The files of deploy/, read for tests, and what in them has to be something of daybook's. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { createProgram } from '../../src/cli/program.ts';
import { loadSettings } from '../../src/settings/load.ts';
import type { Settings } from '../../src/settings/settings.ts';
import { SETTING_PLACES } from '../../src/settings/schema.ts';

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
  ...SETTING_PLACES.map(({ environmentName }) => environmentName),
  ...SETTING_PLACES.filter(({ secret }) => secret).map(({ environmentName }) => `${environmentName}_FILE`),
  ...['DAYBOOK_CONFIG', 'NODE_ENV', 'AWS_REGION', 'AWS_ENDPOINT_URL_S3', 'AWS_SHARED_CREDENTIALS_FILE'],
]);

export const unknownSettings = (names: Iterable<string>): string[] =>
  [...names].filter((name) => !KNOWN.has(name));

/** What of these arguments is no command of daybook, no flag of that command, or one argument too many. */
export function unknownArguments(args: readonly string[]): string[] {
  let command = createProgram();
  let at = 0;
  for (; at < args.length; at += 1) {
    const sub = command.commands.find((one) => one.name() === args[at]);
    if (sub === undefined) break;
    command = sub;
  }
  const { operands, unknown } = command.parseOptions(args.slice(at));
  return [...operands.slice(command.registeredArguments.length), ...unknown];
}

/** The settings that these variables make; secrets come from files that hold something fitting. Throws what is wrong. */
export const settingsFrom = (env: Readonly<Record<string, string>>): Settings =>
  loadSettings({
    env,
    readFile: (path) =>
      path.endsWith('database_url')
        ? 'postgres://daybook:made-up@database/daybook'
        : `k1:${createHash('sha256').update('made up').digest('base64')}`,
    needs: ['platform'],
  });

/** The variables of a file of `NAME=value` lines. */
export const valuesIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/^([A-Z][A-Z0-9_]*)=(.*)$/gm)].map(([, name, value]) => [name!, value!]),
  );

/** An image that a tag cannot move to other bytes. */
export const PINNED = /@sha256:[0-9a-f]{64}$/;
