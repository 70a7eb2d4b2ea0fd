/** Makes docs/reference/settings.md and config/daybook.example.yaml from the declarations of the settings. */
import { stringify } from 'yaml';
import { filledLines } from '../../src/ledger/wrapped.ts';
import { ALL_SETTINGS } from '../../src/settings/load.ts';
import { requiredRules } from '../../src/platform/settings.ts';
import { placeOf, type Setting } from '../../src/settings/setting.ts';
import { cell, code, MADE_BY, table } from './markdown.ts';

const SETTINGS = Object.entries(ALL_SETTINGS).map(([name, setting]) => ({
  ...{ name, ...placeOf(name), ...setting },
  byDefault: setting.schema.safeParse(undefined).data,
}));

const SECTIONS = [...new Set(SETTINGS.map(({ section }) => section))];

const bySection = (partOf: (section: string, settings: typeof SETTINGS) => string): string[] =>
  SECTIONS.map((section) =>
    partOf(
      section,
      SETTINGS.filter((one) => one.section === section),
    ),
  );

const defaultText = (byDefault: unknown): string =>
  byDefault === undefined || byDefault === null
    ? ''
    : typeof byDefault === 'string'
      ? byDefault
      : JSON.stringify(byDefault);

/** docs/reference/settings.md, before it is formatted. */
export function settingsPage(): string {
  return [
    '# Settings',
    MADE_BY,
    'From the environment, or from a YAML file (`--config FILE`, `DAYBOOK_CONFIG`), where the environment wins. ' +
      '`NAME_FILE=PATH` reads a secret from a file. `config/daybook.example.yaml` holds them all.',
    ...bySection((section, settings) => {
      const rows = settings.map(({ name, key, byDefault, about, secret }) => [
        ...[code(name), code(`${section}.${key}`), code(defaultText(byDefault))],
        cell(about + (secret ? ' **Secret.**' : '')),
      ]);
      return `## ${section}\n\n${table(['environment', 'file', 'default', 'what it is'], rows)}`;
    }),
  ].join('\n\n');
}

const HEAD = `# Every setting of daybook, with its default or an example. Use it with --config FILE or DAYBOOK_CONFIG=FILE.
# Made by \`npm run reference\` from the declarations of the settings.
#
# Each setting can be given in the environment instead, and the environment wins. Its name there is section and key in
# capitals: platform.timeoutMs is PLATFORM_TIMEOUT_MS. An empty value counts as not given. An unknown key is an error.
# Secrets (token, agentToken, secretKeys, headers, a password in database.url) are better kept out of this file. Put
# them in the environment. Or put each in a file of its own that the environment names, as Docker and Kubernetes mount
# them: PLATFORM_TOKEN_FILE=/run/secrets/platform_token. If this file holds a secret, close it to others: chmod 0600.
`;
const LINE_CHARACTERS_MAX = 118;
const COMMENT = '  # ';

const commentOf = (text: string): string =>
  filledLines(text.split(' '), LINE_CHARACTERS_MAX - COMMENT.length)
    .map((line) => COMMENT + line)
    .join('\n');

const sameText = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** How the file gives the default, null if there is none: as it is, or by the example, where another text means the same. */
function givenDefault({ schema, example, byDefault }: Setting & { readonly byDefault: unknown }) {
  if (byDefault === undefined) return null;
  const ways = byDefault instanceof Map ? [{}] : [byDefault, example];
  const [way = null] = ways.filter((one) => sameText(schema.safeParse(one).data, byDefault));
  return way;
}

const REQUIRED = Object.entries(requiredRules(() => true, true)).flatMap(([sentence, applies]) =>
  applies ? [sentence.split(' ')[0]!] : [],
);

function lineOf(setting: (typeof SETTINGS)[number]): string {
  const { name, key, example, secret, about, schema } = setting;
  const value = REQUIRED.includes(name) ? example : givenDefault(setting);
  const text = value === null ? '' : stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim();
  const isEmpty = ['', '[]', '{}', '[ ]', '{ }'].includes(text);
  const isProse = secret && !schema.safeParse(example).success;
  const note = isEmpty ? ` # ${isProse ? `better as ${name}_FILE` : example}` : '';
  return `${commentOf(about)}\n  ${key}: ${text}${note}`;
}

/** config/daybook.example.yaml, before it is formatted. */
export const exampleFile = (): string =>
  [HEAD, ...bySection((section, settings) => `${section}:\n${settings.map(lineOf).join('\n')}\n`)].join('\n');
