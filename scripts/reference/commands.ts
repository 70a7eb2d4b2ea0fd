/** Makes docs/reference/commands.md, from the commands in commander. */
import type { Command } from 'commander';
import { block, cell, code, MADE_BY, table } from './markdown.ts';

/** Options that every command has. The page explains them once, at its top. */
const EVERYWHERE = ['--json', '--config'];

const ownOptions = (command: Command) =>
  command.options.filter(({ long, hidden }) => !hidden && !EVERYWHERE.includes(long ?? ''));

/**
 * Whether the command does something itself, and is not only a name for its subcommands. Of a command with subcommands,
 * commander shows the action in a private field alone.
 */
const worksAlone = (command: Command, subcommands: readonly Command[]): boolean =>
  subcommands.length === 0 ||
  command.registeredArguments.length > 0 ||
  ownOptions(command).length > 0 ||
  typeof Reflect.get(command, '_actionHandler') === 'function';

const withPaths = (command: Command, above: readonly string[] = []): [string, Command][] => {
  const path = [...above, command.name()];
  const subcommands = command.commands.filter((one) => one.name() !== 'help');
  const own: [string, Command][] = worksAlone(command, subcommands) ? [[path.join(' '), command]] : [];
  return [...own, ...subcommands.flatMap((one) => withPaths(one, path))];
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
  const flags = ownOptions(command).map((option) => [code(option.flags), cell(option.description)]);
  const more = afterHelp(command);
  return [
    `## ${path}`,
    `${command.description()}.`,
    table(
      ['argument', 'what it is'],
      parts.filter(([, what]) => what !== ''),
    ),
    table(['option', 'what it does'], flags),
    more === '' ? '' : block('text', more),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** docs/reference/commands.md, before it is formatted. */
export function commandsPage(program: Command): string {
  return [
    '# Commands',
    MADE_BY,
    'Every command takes `--json`, which prints one JSON document, and `--config FILE`, settings as YAML.',
    ...withPaths(program).map(commandSection),
  ].join('\n\n');
}
