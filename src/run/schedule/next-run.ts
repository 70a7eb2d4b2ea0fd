/** Says when the schedule runs next. Pure. */
import { nextTime, type ScheduledJob } from './due.ts';

export interface NextRun {
  readonly job: string;
  readonly at: Date;
}

/** The next job and its time; null if there are no jobs. */
export function nextRun(jobs: readonly ScheduledJob[], zone: string, now: Date): NextRun | null {
  const coming = jobs.map(({ job, when }) => ({ job, at: nextTime(when, zone, now) }));
  return coming.sort((a, b) => a.at.getTime() - b.at.getTime())[0] ?? null;
}
