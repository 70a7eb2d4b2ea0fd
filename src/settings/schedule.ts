/** The times of scheduled jobs. Each setting `schedule...` of `schema.ts` is one, so that a new job needs only its line there. */
import type { SettingsDocument } from './schema.ts';

type Section = SettingsDocument['daybook'];
const PREFIX = 'schedule';

/**
 * A cron expression for each setting `schedule...`, and the IANA zone they are in.
 *
 * ### Example
 * `scheduleNightly: 30 1 * * *` is `nightly: '30 1 * * *'` here.
 */
export type Schedule = {
  readonly [
    Key in keyof Section as Key extends 'scheduleZone'
      ? never
      : Key extends `${typeof PREFIX}${infer Job}`
        ? Uncapitalize<Job>
        : never
  ]: Section[Key];
} & { readonly zone: string };

/** Without a zone of its own, the schedule is in `platformZone`, or in UTC. */
export function scheduleOf(section: Section, platformZone: string | undefined): Schedule {
  const times = Object.entries(section).flatMap(([key, value]) =>
    key.startsWith(PREFIX) && key !== 'scheduleZone' ? [[jobOf(key), value]] : [],
  );
  return { ...(Object.fromEntries(times) as Schedule), zone: section.scheduleZone ?? platformZone ?? 'UTC' };
}

function jobOf(key: string): string {
  const job = key.slice(PREFIX.length);
  return job.charAt(0).toLowerCase() + job.slice(1);
}
