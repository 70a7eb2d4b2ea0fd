/** When the schedule runs next. Pure. */
import { CronExpressionParser } from 'cron-parser';
import type { ScheduledJob } from './due.ts';

export interface NextRun {
  readonly job: string;
  readonly at: Date;
}

/** The first instant after `now` that a cron expression names in a zone. Throws where it is none. */
export type NextTime = (when: string, zone: string, now: Date) => Date;

const nextTimeOfCron: NextTime = (when, zone, now) =>
  CronExpressionParser.parse(when, { tz: zone, currentDate: now }).next().toDate();

/** The job that comes next, and when; null where there is none. Throws what `nextTime` throws. */
export function nextRun(
  jobs: readonly ScheduledJob[],
  zone: string,
  now: Date,
  nextTime: NextTime = nextTimeOfCron,
): NextRun | null {
  const coming = jobs.map(({ job, when }) => ({ job, at: nextTime(when, zone, now) }));
  return coming.sort((a, b) => a.at.getTime() - b.at.getTime())[0] ?? null;
}
