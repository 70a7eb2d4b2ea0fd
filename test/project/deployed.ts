/** The files of deploy/, read for tests, and what in them has to be something of daybook's. */
import { readdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { createProgram } from '../../src/cli/program.ts';
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

/** The names of a file of `NAME=value` lines. */
export const namesIn = (text: string): string[] =>
  [...text.matchAll(/^([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name!);

/** What of these arguments is no command of daybook, or no flag of that command. */
export function unknownArguments(args: readonly string[]): string[] {
  const words = parseArgs({ args: [...args], strict: false, allowPositionals: true }).positionals;
  let command = createProgram();
  const unknown: string[] = [];
  for (const word of words) {
    const sub = command.commands.find((one) => one.name() === word);
    if (sub !== undefined) command = sub;
    else if (command.registeredArguments.length === 0) unknown.push(word);
  }
  const flags = args.filter((arg) => arg.startsWith('-')).map((arg) => arg.replace(/=.*/, ''));
  const known = command.options.flatMap(({ long, short }) => [long, short]);
  return [...unknown, ...flags.filter((flag) => !known.includes(flag))];
}

/** An image that a tag cannot move to other bytes. */
export const PINNED = /@sha256:[0-9a-f]{64}$/;
