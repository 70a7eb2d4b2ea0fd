/** Help fits the terminal, and shows no default where there is none. */
import { PLUGINS } from '../../src/plugins.ts';
import { expect, test } from 'vitest';
import { Help, type Command } from 'commander';
import { commandsOf } from '../../src/cli/commands.ts';
import { createCompleteProgram } from '../../src/cli/program.ts';
import { refilled } from '../../src/cli/output/width.ts';
import { daybook } from './daybook.ts';

const TEXT =
  '\nEnds with 4 where data is or may be missing: a last run is older, the\nschedule did not end well. Else with 0.\n\n' +
  'Example, for an alert:\n  daybook status --max-age 26h || page-someone-who-is-awake\n';

test('paragraphs are wrapped again, examples stay unchanged', () => {
  expect(refilled(TEXT, 40)).toBe(
    '\nEnds with 4 where data is or may be\nmissing: a last run is older, the\nschedule did not end well. Else with 0.\n\n' +
      'Example, for an alert:\n  daybook status --max-age 26h || page-someone-who-is-awake\n',
  );
});

test('text that fits is left as it is', () => {
  expect(refilled(TEXT, 80)).toBe(TEXT);
  expect(refilled(TEXT, Infinity)).toBe(TEXT);
});

test('an option that may be repeated shows no default', async () => {
  const { stdout } = await daybook(['statements', 'get', '--help'], {});
  expect(stdout).toMatch(/--merchant <no> +merchant number/);
  expect(stdout).not.toContain('[]');
  expect(stdout).toContain('(default: ".")');
});

test('every command, argument and option says what it is for', async () => {
  const unsaid = (command: Command, path = command.name()): string[] => [
    ...(command.description() === '' ? [path] : []),
    ...command.registeredArguments.flatMap((one) =>
      one.description === '' ? [`${path} ${one.name()}`] : [],
    ),
    ...command.options.flatMap((one) => (one.description === '' ? [`${path} ${one.flags}`] : [])),
    ...command.commands.flatMap((sub) => unsaid(sub, `${path} ${sub.name()}`)),
  ];
  expect(unsaid(await createCompleteProgram(PLUGINS))).toEqual([]);
});

test('the list shows each command as it is: its arguments, and whether it has options', async () => {
  const { commands } = await createCompleteProgram(PLUGINS);
  const help = new Help();
  expect(commands.map((command) => help.subcommandTerm(command))).toEqual(
    commandsOf(PLUGINS).map(({ usage }) => usage),
  );
});

test('`help` with a command says what its own --help says, wherever options of the program stand', async () => {
  const helpOf = async (...args: readonly string[]) => (await daybook(args, {})).stdout;
  const own = await helpOf('run', '--help');
  expect(own).toContain('--from <day>');
  expect(await helpOf('help', 'run')).toBe(own);
  expect(await helpOf('--json', 'help', 'run')).toBe(own);
  expect(await helpOf('help', 'statements', 'get')).toBe(await helpOf('statements', 'get', '--help'));
});
