/** What an option adds to daybook. The core knows this type and the list in `all.ts`, and nothing else of any option. */
import type { Command } from 'commander';
import type { FastifyInstance } from 'fastify';
import type { Trace } from '../host/trace.ts';
import type { Observer } from '../run/active-run.ts';
import type { App } from '../run/app.ts';
import type { Job } from '../run/schedule/job.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import type { ListenAddress } from '../settings/values/addresses.ts';
import type { Database } from '../store/engine/database.ts';
import type { MetricsPage } from '../web/readiness.ts';
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

/** Settings with an address for the pages. */
export interface PagesSettings extends SettingsWithoutPlatform {
  readonly pagesListen: ListenAddress;
}

/** The pages for people, as `serve` and the demo show them. */
export interface PagesPart {
  /**
   * Calls `work` with the pages. With a database server they have connections of their own. Throws `AccessMissing` where
   * others could reach them and no login is needed.
   */
  readonly withPages: (
    settings: PagesSettings,
    app: App,
    work: (pages: ShownPages) => Promise<void>,
  ) => Promise<void>;
  /** The same with the app's connections. */
  readonly shown: (settings: PagesSettings, app: App) => Promise<ShownPages>;
}

/** What a process does, counted. */
export interface ProcessMetrics {
  /** Receives the events of the process's work. */
  readonly observer: Omit<Observer, 'trace'>;
  /** The page of `/metrics`: this process, and how everything stands by what is stored. */
  readonly page: (source: StateSource) => MetricsPage;
}

export interface StateSource {
  readonly settings: SettingsWithoutPlatform;
  readonly db: Database['db'];
  readonly now: () => Date;
}

export interface Traces {
  readonly trace: Trace;
  /** Sends what is left, in bounded time. Never rejects. */
  readonly close: () => Promise<void>;
}

export interface TracesOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** Spans could not be sent. They are lost; the work goes on. */
  readonly onProblem: (problem: string) => void;
}

/** Metrics and traces of a process. */
export interface Observation {
  /** Whether the environment asks for traces. Throws `UsageError` for a way that daybook does not have. */
  readonly asksTraces: (env: TracesOptions['env']) => Promise<boolean>;
  readonly openTraces: (options: TracesOptions) => Promise<Traces>;
  readonly createMetrics: () => Promise<ProcessMetrics>;
}

export interface Option {
  /** The name of its folder. */
  readonly name: string;
  /** What it is for, as the end of a sentence. */
  readonly about: string;
  /** Other options that it imports. Who takes one of these away takes this one away as well. */
  readonly needs?: readonly string[];
  /** Settings that are for it alone, by their names in the environment. The core's schema defines them all. */
  readonly settings?: readonly string[];
  /** Its tables. The migrations of all are in `sql`, in one order. */
  readonly tables?: readonly string[];
  /** Roles of the database that are for it: files in `sql/roles`. */
  readonly roles?: readonly string[];
  /** Where a person reads about it: pages in `docs`, with their headings. */
  readonly docs?: readonly string[];
  readonly commands?: readonly CommandEntry[];
  readonly jobs?: readonly Job[];
  readonly observation?: Observation;
  /** Loads the pages. */
  readonly pages?: () => Promise<PagesPart>;
}
