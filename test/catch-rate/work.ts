/** Plays the histories of one process, several at a time. Each lane has its own database. */
import type { Rig } from '../simulation/rig.ts';
import { openRig } from '../simulation/rig.ts';
import { callsANight, type NightCalls } from './calls.ts';
import { playClean, type CleanOutcome } from './clean.ts';
import type { Form } from './form.ts';
import { FORMS } from './forms.ts';
import { playForm, type Outcome } from './play.ts';

/** A run mostly waits for its database. This many at once keep one core busy. */
const LANES = 4;

export type Task =
  | { readonly kind: 'lie'; readonly form: string; readonly history: number }
  | { readonly kind: 'clean'; readonly history: number }
  | { readonly kind: 'calls'; readonly pagesADay: number };

export interface Results {
  readonly outcomes: Outcome[];
  readonly clean: CleanOutcome[];
  readonly calls: NightCalls[];
  /** Histories that failed before their end, and why. */
  readonly failures: string[];
}

export const noResults = (): Results => ({ outcomes: [], clean: [], calls: [], failures: [] });

/** What a task is known by in a record. */
export const keyOf = (task: Task, seed: number): string =>
  task.kind === 'calls'
    ? `calls ${task.pagesADay}`
    : `${task.kind === 'lie' ? task.form : 'honest'} ${seed}/${task.history}`;

/** What one task came to; `key` says which. */
export type Played = { readonly key: string } & Came;

type Came =
  | { readonly kind: 'lie'; readonly outcome: Outcome }
  | { readonly kind: 'clean'; readonly outcome: CleanOutcome }
  | { readonly kind: 'calls'; readonly outcome: NightCalls }
  | { readonly kind: 'failure'; readonly outcome: string };

export function addTo(results: Results, { kind, outcome }: Came): void {
  switch (kind) {
    case 'lie':
      return void results.outcomes.push(outcome);
    case 'clean':
      return void results.clean.push(outcome);
    case 'calls':
      return void results.calls.push(outcome);
    case 'failure':
      return void results.failures.push(outcome);
  }
}

const formNamed = (name: string): Form => FORMS.find((form) => form.name === name)!;

async function play(rig: Rig, task: Task, seed: number): Promise<Came> {
  switch (task.kind) {
    case 'lie':
      return {
        kind: 'lie',
        outcome: await playForm(rig, formNamed(task.form), `${seed}/${task.history}`),
      };
    case 'clean':
      return { kind: 'clean', outcome: await playClean(rig, `${seed}/${task.history}`) };
    case 'calls':
      return { kind: 'calls', outcome: await callsANight(rig, task.pagesADay) };
  }
}

/** Plays the tasks in order, until the time is up. */
export async function playAll(
  tasks: readonly Task[],
  options: {
    readonly serverUrl: string;
    readonly seed: number;
    readonly isTimeUp: () => boolean;
    readonly onPlayed: (played: Played) => void;
  },
): Promise<void> {
  const waiting = [...tasks].reverse();
  const lane = async (): Promise<void> => {
    const rig = await openRig(options.serverUrl);
    for (let task = waiting.pop(); task !== undefined && !options.isTimeUp(); task = waiting.pop()) {
      const { seed } = options;
      const came = await play(rig, task, seed).catch((error: unknown): Came => {
        return { kind: 'failure', outcome: `${JSON.stringify(task)}: ${String(error)}` };
      });
      options.onPlayed({ key: keyOf(task, seed), ...came });
    }
    await rig.close();
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}
