/** Metrics and traces of a process, as those who serve them know them. A plugin has them. */
import { slot } from '../host/slot.ts';
import type { Trace } from '../host/trace.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import type { Database } from '../store/engine/database.ts';
import type { Observer } from '../run/active-run.ts';
import type { MetricsPage } from './readiness.ts';

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

export const observationSlot = slot<Observation>('metrics and traces');
