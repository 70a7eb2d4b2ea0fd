/** Puts all commands together into the program `daybook`. */
import { Command, CommanderError, Help } from 'commander';
import { ownManifest } from '../host/files.ts';
import { EXIT } from '../run/verdict/exit-codes.ts';
import type { CommandEntry, Plugin } from '../plugin.ts';
import { commandsOf, nameOf } from './commands.ts';
import { withFittingHelp } from './output/width.ts';
import { printError } from './print.ts';

const EXIT_CODES_TEXT = `
Exit codes: 0 complete, nothing needs attention; 2 invalid usage or settings; 3 complete, needs attention; 4 incomplete,
certified data is kept; 5 another run holds the lease; 70 internal error.`;

/** The command line. Parsing it loads the command that is asked for, calls `onLoaded`, and runs it. */
function createProgram(entries: readonly CommandEntry[], onLoaded: () => void = () => undefined): Command {
  const entryOf = (command: Command): CommandEntry | undefined =>
    entries.find((entry) => nameOf(entry) === command.name());
  const program = withFittingHelp(new Command('daybook'))
    .description('your own proven copy of a payments-platform ledger, and daily statements made of it')
    .version(ownManifest().version)
    .option(
      '--config <file>',
      'settings, YAML (see config/daybook.example.yaml); the environment wins over it',
    )
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXIT_CODES_TEXT)
    .showHelpAfterError('(use --help to list the commands)')
    .exitOverride()
    .hook('preSubcommand', async (_, command) => {
      await define(command, entryOf(command)!);
      onLoaded();
    });
  program.configureHelp({
    ...program.configureHelp(),
    // In the list, a command is shown as its entry says, as the command itself is not loaded for that.
    subcommandTerm(this: Help, command: Command): string {
      const usage = command.parent?.parent === null ? entryOf(command)?.usage : undefined;
      return usage ?? Help.prototype.subcommandTerm.call(this, command);
    },
  });
  for (const entry of entries) program.command(nameOf(entry)).description(entry.about);
  return program;
}

/** The same with every command of these plugins loaded. */
export async function createCompleteProgram(plugins: readonly Plugin[]): Promise<Command> {
  const entries = commandsOf(plugins);
  const program = createProgram(entries);
  for (const [nth, command] of program.commands.entries()) await define(command, entries[nth]!);
  return program;
}

/** Adds to a command what its entry says. */
async function define(command: Command, { load }: CommandEntry): Promise<void> {
  (await load())(command);
  everyCommand(command, (one) => {
    one
      .exitOverride()
      .option('--json', 'print one JSON document')
      .option('--config <file>', 'settings, YAML');
  });
}

function everyCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const sub of command.commands) everyCommand(sub, visit);
}

/** `help run` means `run --help`, which loads the command, whatever options of the program come first. */
function withHelpLast(program: Command, args: readonly string[]): readonly string[] {
  const [first, ...named] = program.parseOptions([...args]).operands;
  return first === 'help' && named.length > 0 ? [...named, '--help'] : args;
}

/** Parses the arguments, runs the command and prints its errors. The exit code is in `process.exitCode`. `onLoaded` is called in between. */
export async function runCommandLine(
  plugins: readonly Plugin[],
  argv: readonly string[],
  onLoaded: () => void = () => undefined,
): Promise<void> {
  try {
    const program = createProgram(commandsOf(plugins), onLoaded);
    await program.parseAsync(withHelpLast(program, argv.slice(2)), { from: 'user' });
  } catch (error) {
    // Commander has printed its own errors already. Asking for help is not an error.
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.usage;
    else printError(error);
  }
}
