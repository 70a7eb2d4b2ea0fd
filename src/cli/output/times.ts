/** Formats times for people in the platform's zone, the zone of business days. `--json` has them in UTC. */
import { dayOf } from '../../ledger/business-day.ts';
import { wallSecond } from '../../ledger/wall-time.ts';
import type { SettingsWithoutPlatform } from '../../settings/settings.ts';

const ZONE_OF_NO_PLATFORM = 'UTC';

export interface Times {
  /** IANA name of the zone. */
  readonly zone: string;
  /** `2026-03-31 23:59:07`; empty for null. */
  readonly at: (instant: Date | null) => string;
  /** `2026-03-31`. */
  readonly day: (instant: Date) => string;
  /** A line that names the zone, once for all times above it. */
  readonly note: string;
}

/** Uses the platform's zone. If the settings have no platform, uses UTC, and the note says so. */
export function timesOf({ platform }: Pick<SettingsWithoutPlatform, 'platform'>): Times {
  const zone = platform?.timeZone ?? ZONE_OF_NO_PLATFORM;
  return {
    zone,
    at: (instant) => (instant === null ? '' : wallSecond(instant.getTime(), zone)),
    day: (instant) => dayOf(instant.getTime(), zone),
    note:
      platform === null
        ? `Times are in ${zone}: PLATFORM_BASE_URL and PLATFORM_TIME_ZONE are not both set.`
        : `Times are in ${zone}.`,
  };
}
