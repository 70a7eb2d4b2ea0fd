/** What an option adds to daybook. The core knows this type and the list in `all.ts`, and nothing else of any option. */
import type { Command } from 'commander';
import type { FastifyInstance } from 'fastify';
import type { App } from '../run/app.ts';
import type { Job } from '../run/schedule/job.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import type { LimitedServerDeps } from '../web/server.ts';

/** A command, as the list of commands shows it. Its code is loaded when it is asked for. */
export interface CommandEntry {
  /** As the list shows it: name, `[options]`, arguments. */
  readonly usage: string;
  readonly about: string;
  /** Loads the function that adds options, subcommands and the action. */
  readonly load: () => Promise<(command: Command) => void>;
}

/** Pages that are ready to be served. */
export interface ShownPages {
  /** A server of their own. */
  readonly createServer: (deps: PagesServing) => FastifyInstance;
  /** Adds them to a server that has other routes. */
  readonly addTo: (server: FastifyInstance, deps: PagesServing) => void;
}

export type PagesServing = Pick<LimitedServerDeps, 'onRefusal' | 'trustedProxies'>;

/** The pages for people, as `serve` and the demo show them. */
export interface PagesPart {
  /**
   * Calls `work` with the pages that the settings ask for, null where they ask for none. With a database server they have
   * connections of their own. Throws `AccessMissing` where others could reach them and no login is needed.
   */
  readonly withPages: (
    settings: SettingsWithoutPlatform,
    app: App,
    work: (pages: ShownPages | null) => Promise<void>,
  ) => Promise<void>;
  /** The same with the app's connections. */
  readonly shown: (settings: SettingsWithoutPlatform, app: App) => Promise<ShownPages | null>;
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
  /** Loads the pages. */
  readonly pages?: () => Promise<PagesPart>;
}
