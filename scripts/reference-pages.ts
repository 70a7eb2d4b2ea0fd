/**
 * `npm run reference`: writes docs/reference. Commands come from commander, settings from their schema and the
 * example file.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { format, resolveConfig } from 'prettier';
import { createProgram } from '../src/cli/program.ts';
import { SECTIONS, SETTING_PLACES, settingsSchema } from '../src/settings/schema.ts';

const MADE_BY = '<!-- Made by `npm run reference`; change what it is made of instead. -->';
const fileOf = (path: string): string => new URL(`../${path}`, import.meta.url).pathname;
/** Options that every command has. The page explains them once, at its top. */
const EVERYWHERE = ['--json', '--config'];

const cell = (text: string): string => text.replaceAll('|', '\\|').replace(/\s*\n\s*/g, ' ');
const code = (text: string): string => (text === '' ? '' : `\`${cell(text)}\``);
const table = (titles: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.length === 0
    ? ''
    : [titles, titles.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');

const leavesOf = (command: Command, above: readonly string[] = []): [string, Command][] => {
  const path = [...above, command.name()];
  const subcommands = command.commands.filter((one) => one.name() !== 'help');
  return subcommands.length === 0
    ? [[path.join(' '), command]]
    : subcommands.flatMap((one) => leavesOf(one, path));
};

/** The end of a command's help: its examples and exit codes. */
function afterHelp(command: Command): string {
  let text = '';
  const write = (more: string): void => void (text += more);
  command.configureOutput({ writeOut: write, writeErr: write });
  command.outputHelp();
  const plain = command.createHelp().formatHelp(command, command.createHelp());
  return text.slice(text.indexOf(plain.trimEnd()) + plain.trimEnd().length).trim();
}

function commandSection([path, command]: readonly [string, Command]): string {
  const parts = command.registeredArguments.map((argument) => [
    code(argument.required ? `<${argument.name()}>` : `[${argument.name()}]`),
    cell(argument.description),
  ]);
  const flags = command.options
    .filter(({ long, hidden }) => !hidden && !EVERYWHERE.includes(long ?? ''))
    .map((option) => [code(option.flags), cell(option.description)]);
  const more = afterHelp(command);
  return [
    `## ${path}`,
    `${command.description()}.`,
    table(
      ['argument', 'what it is'],
      parts.filter(([, what]) => what !== ''),
    ),
    table(['option', 'what it does'], flags),
    more === '' ? '' : `\`\`\`text\n${more}\n\`\`\``,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** docs/reference/commands.md, before it is formatted. */
export function commandsPage(program: Command = createProgram()): string {
  return [
    '# Commands',
    MADE_BY,
    'Every command takes `--json`, which prints one JSON document, and `--config FILE`, settings as YAML.',
    ...leavesOf(program).map(commandSection),
  ].join('\n\n');
}

/** The comment above each key of the example file, by `section.key`. */
export function commentsOf(example: string): ReadonlyMap<string, string> {
  const comments = new Map<string, string>();
  let section = '';
  let lines: string[] = [];
  for (const line of example.split('\n')) {
    const [, name] = /^([a-zA-Z0-9]+):/.exec(line) ?? [];
    const [, key] = /^ {2}([a-zA-Z0-9]+):/.exec(line) ?? [];
    const [, comment] = /^ {2}# ?(?! {2})(.*)$/.exec(line) ?? [];
    if (name !== undefined) section = name;
    if (comment !== undefined) lines.push(comment.trim());
    else {
      if (key !== undefined) comments.set(`${section}.${key}`, lines.join(' '));
      lines = [];
    }
  }
  return comments;
}

const defaultOf = (section: string, key: string): string => {
  const { shape } = settingsSchema.shape[section as keyof typeof settingsSchema.shape];
  const read = (shape as Record<string, { safeParse: (value: unknown) => { data?: unknown } }>)[key]!;
  const { data } = read.safeParse(undefined);
  if (data === undefined || data === null) return '';
  return typeof data === 'string' ? data : JSON.stringify(data);
};

/** docs/reference/settings.md, before it is formatted. `example` is the text of the example file. */
export function settingsPage(example: string): string {
  const comments = commentsOf(example);
  const rowsOf = (section: string) =>
    SETTING_PLACES.filter((place) => place.section === section).map(({ key, environmentName, secret }) => [
      code(environmentName),
      code(`${section}.${key}`),
      code(defaultOf(section, key)),
      cell((comments.get(`${section}.${key}`) ?? '') + (secret ? ' **Secret.**' : '')).trim(),
    ]);
  return [
    '# Settings',
    MADE_BY,
    'From the environment, or from a YAML file (`--config FILE`, `DAYBOOK_CONFIG`), where the environment wins. ' +
      '`NAME_FILE=PATH` reads a secret from a file. `config/daybook.example.yaml` holds them all.',
    ...SECTIONS.flatMap((section) => [
      `## ${section}`,
      table(['environment', 'file', 'default', 'what it is'], rowsOf(section)),
    ]),
  ].join('\n\n');
}

/** All pages by their path, formatted by prettier. */
export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  const example = readFileSync(fileOf('config/daybook.example.yaml'), 'utf8');
  const pages: readonly (readonly [string, string])[] = [
    ['docs/reference/commands.md', commandsPage()],
    ['docs/reference/settings.md', settingsPage(example)],
  ];
  const config = await resolveConfig(fileOf('README.md'));
  return new Map(
    await Promise.all(
      pages.map(async ([path, text]): Promise<[string, string]> => [
        path,
        await format(text, { ...config, parser: 'markdown' }),
      ]),
    ),
  );
}

if (import.meta.main) {
  for (const [path, text] of await referencePages()) writeFileSync(fileOf(path), text);
}
