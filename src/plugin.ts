/** What a plugin gives to daybook. The core knows this type; `plugins.ts` alone knows which plugins there are. */
import type { Command } from 'commander';
import { addedJobs, type Job } from './run/schedule/job.ts';
import { pluginSettings, type SettingsGroup } from './settings/setting.ts';

/** A command, as the list of commands shows it. Its code is loaded when it is asked for. */
export interface CommandEntry {
  /** As the list shows it: name, `[options]`, arguments. */
  readonly usage: string;
  readonly about: string;
  /** The command of the core behind which it stands in the list; left out: behind all of them. */
  readonly after?: string;
  /** Loads the function that adds options, subcommands and the action. */
  readonly load: () => Promise<(command: Command) => void>;
}

export interface Plugin {
  /** The name of its folder in `src/plugins`. */
  readonly name: string;
  /** What it is for, as the end of a sentence. */
  readonly about: string;
  /** Other plugins that it imports. Who takes one of these away takes this one away as well. */
  readonly needs?: readonly string[];
  /** Loads its settings, which are declared in its folder. */
  readonly settings?: () => Promise<SettingsGroup>;
  /** Its tables. The migrations of all are in `sql`, in one order. */
  readonly tables?: readonly string[];
  /** Roles of the database that are for it: files in `sql/roles`. */
  readonly roles?: readonly string[];
  /** Where a person reads about it: pages in `docs`, with their headings. */
  readonly docs?: readonly string[];
  readonly commands?: readonly CommandEntry[];
  readonly jobs?: readonly Job[];
  /** Fills the places of the core that it has a part for (`slot` and `register` in `src/host/slot.ts`). Called once, before any work. */
  readonly register?: () => void;
}

/** Adds settings and jobs, and fills the places of the core. Returns the plugins. Throws an `Error` where a plugin needs one that is missing. */
export function registerPlugins(plugins: readonly Plugin[]): readonly Plugin[] {
  for (const plugin of plugins) {
    const { name, needs = [], jobs = [], settings, register } = plugin;
    const missing = needs.find((needed) => plugins.every((other) => other.name !== needed));
    if (missing !== undefined)
      throw new Error(`the plugin ${name} needs ${missing}, which plugins.ts does not list`);
    if (settings !== undefined) pluginSettings.add([settings]);
    addedJobs.add(jobs);
    register?.();
  }
  return plugins;
}
