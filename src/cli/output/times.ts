/** Times for people: by the clock of the platform's zone, as its days are. `--json` has them in UTC. */
import { dayOf } from '../../ledger/business-day.ts';
import { wallSecond } from '../../ledger/wall-time.ts';
import type { SettingsWithoutPlatform } from '../../settings/settings.ts';

const ZONE_OF_NO_PLATFORM = 'UTC';

export interface Times {
  /** IANA name. */
  readonly zone: string;
  /** `2026-03-31 23:59:07`; empty where there is none. */
  readonly at: (instant: Date | null) => string;
  /** `2026-03-31`. */
  readonly day: (instant: Date) => string;
  /** Names the zone, once for all the times above it. */
  readonly note: string;
}

/** By the platform's zone; by UTC, which is then said, where the settings name no platform. */
export function timesOf({ platform }: Pick<SettingsWithoutPlatform, 'platform'>): Times {
  const zone = platform?.timeZone ?? ZONE_OF_NO_PLATFORM;
  return {
    zone,
    at: (instant) => (instant === null ? '' : wallSecond(instant.getTime(), zone)),
    day: (instant) => dayOf(instant.getTime(), zone),
    note:
      platform === null
        ? `times are of ${zone}: PLATFORM_BASE_URL and PLATFORM_TIME_ZONE are not both set`
        : `times are of ${zone}`,
  };
}
