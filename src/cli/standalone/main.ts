/**
 * `daybook verify` by itself: a program of one command, declared as daybook's commands are, with nothing but Node's own
 * reading of arguments. `npm run build` makes one file of this and of what it imports: `dist/verify.mjs`.
 */
import { parseArgs, type ParseArgsConfig } from 'node:util';
import type { Command } from 'commander';
import { EXIT } from '../../ledger/ending.ts';
import { printError } from '../print.ts';
import { lines } from '../output/text.ts';
import { verifyCommand } from '../verify.ts';
import { VERIFY_ABOUT } from './about.ts';

type Collector = (value: string, earlier: readonly string[]) => string[];
type Action = (values: string[], flags: Record<string, unknown>, self: Command) => Promise<void>;

/** `--public-key <file>`, or `--json`, which takes no value. `--older, --name` has two names for one flag. */
const FLAG = /^(?:--([a-z-]+), )?--([a-z-]+)(?: (<\w+>))?$/;

const camelCase = (name: string): string =>
  name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/**
 * Runs the command that `define` defines. Of commander it has what the command calls: an argument that takes one value
 * or more, options with and without a value, and texts of the help. An option with a collector may be repeated. The exit code is in `process.exitCode`.
 */
async function runOneCommand(
  program: string,
  about: string,
  define: (command: Command) => void,
  args: readonly string[],
): Promise<void> {
  const options: Record<string, { readonly type: 'string' | 'boolean'; readonly multiple: boolean }> = {};
  const standards: Record<string, unknown> = {};
  const optionHelp: string[] = [];
  const olderNames = new Map<string, string>();
  let flags: Record<string, unknown> = {};
  let usage = program;
  let after = '';
  let act: Action | null = null;

  const command = {
    argument: (name: string, meaning: string) => {
      usage += ` [options] ${name}`;
      optionHelp.push(`  ${name}  ${meaning}`);
      return command;
    },
    option: (spelled: string, meaning: string, collector?: Collector, standard?: readonly string[]) => {
      const [, older, name, value] = FLAG.exec(spelled)!;
      const multiple = collector !== undefined;
      options[name!] = { type: value === undefined ? 'boolean' : 'string', multiple };
      if (older !== undefined) {
        options[older] = options[name!]!;
        olderNames.set(older, name!);
      }
      if (standard !== undefined) standards[camelCase(name!)] = standard;
      optionHelp.push(`  ${spelled}  ${meaning}`);
      return command;
    },
    addHelpText: (_: 'after', text: string) => {
      after = text;
      return command;
    },
    action: (action: Action) => {
      act = action;
      return command;
    },
    optsWithGlobals: () => flags,
  };
  const asCommand = command as unknown as Command;
  define(asCommand);
  command.option('--json', 'print one JSON document').option('--help', 'say this');

  const read = readArgs(options, args);
  const helpText = lines(`Usage: ${usage}`, '', about, '', ...optionHelp, after);
  if (typeof read === 'string') {
    process.stderr.write(`error: ${read}\n(use --help to list the options)\n`);
    process.exitCode = EXIT.usage;
  } else if (read.flags['help'] === true) process.stdout.write(`${helpText}\n`);
  else {
    flags = { ...standards };
    for (const [name, value] of Object.entries(read.flags))
      flags[camelCase(olderNames.get(name) ?? name)] = value;
    await (act as unknown as Action)(read.values, flags, asCommand).catch(printError);
  }
}

/** The values and flags, or a sentence on what is wrong with them. */
function readArgs(options: NonNullable<ParseArgsConfig['options']>, args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    if (positionals.length === 0 && values['help'] !== true)
      return 'what is to be checked? Name files or folders.';
    return { values: positionals, flags: values };
  } catch (error) {
    return (error as Error).message;
  }
}

await runOneCommand('node verify.mjs', VERIFY_ABOUT, verifyCommand, process.argv.slice(2));
