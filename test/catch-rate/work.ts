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

const formNamed = (name: string): Form => FORMS.find((form) => form.name === name)!;

async function play(rig: Rig, task: Task, seed: number, results: Results): Promise<void> {
  switch (task.kind) {
    case 'lie':
      results.outcomes.push(await playForm(rig, formNamed(task.form), `${seed}/${task.history}`));
      break;
    case 'clean':
      results.clean.push(await playClean(rig, `${seed}/${task.history}`));
      break;
    case 'calls':
      results.calls.push(await callsANight(rig, task.pagesADay));
      break;
  }
}

/** Plays the tasks in order, until the time is up. */
export async function playAll(
  tasks: readonly Task[],
  options: {
    readonly serverUrl: string;
    readonly seed: number;
    readonly isTimeUp: () => boolean;
    readonly onDone?: (done: number) => void;
  },
): Promise<Results> {
  const results = noResults();
  const waiting = [...tasks].reverse();
  let done = 0;
  const lane = async (): Promise<void> => {
    const rig = await openRig(options.serverUrl);
    for (let task = waiting.pop(); task !== undefined && !options.isTimeUp(); task = waiting.pop()) {
      try {
        await play(rig, task, options.seed, results);
      } catch (error) {
        results.failures.push(`${JSON.stringify(task)}: ${String(error)}`);
      }
      options.onDone?.((done += 1));
    }
    await rig.close();
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return results;
}
