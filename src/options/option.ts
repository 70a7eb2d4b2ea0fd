/** What an option adds to daybook. The core knows this type and the list in `all.ts`, and nothing else of any option. */
import type { Command } from 'commander';
import type { Job } from '../run/schedule/job.ts';

/** A command, as the list of commands shows it. Its code is loaded when it is asked for. */
export interface CommandEntry {
  /** As the list shows it: name, `[options]`, arguments. */
  readonly usage: string;
  readonly about: string;
  /** Loads the function that adds options, subcommands and the action. */
  readonly load: () => Promise<(command: Command) => void>;
}

export interface Option {
  /** The name of its folder. */
  readonly name: string;
  /** What it is for, as the end of a sentence. */
  readonly about: string;
  /** Other options that it imports. Who takes one of these away takes this one away as well. */
  readonly needs?: readonly string[];
  readonly commands?: readonly CommandEntry[];
  readonly jobs?: readonly Job[];
}
