/** Which looks beyond the days read a run makes: told by its report, by `status`, and by the manifest of each day it writes. */
import { dayOf, dayWindow } from '../ledger/business-day.ts';
import { CHECKS, isChecked, type Check } from '../ledger/checks.ts';
import { frontierEndMs } from './frontier.ts';
import type { RunDeps, RunRequest } from './work.ts';

/** The checks that a run without dates makes where they are on, and when. A check that is not here is told of nowhere. */
const MADE: Readonly<Partial<Record<Check, (deps: ClockDeps) => boolean>>> = {
  frontier: (deps) => {
    const nowMs = deps.now().getTime();
    return frontierEndMs(nowMs, deps) > dayWindow(dayOf(nowMs, deps.zone), deps.zone).beginMs;
  },
};

type ClockDeps = Pick<RunDeps, 'now' | 'zone' | 'settleDelayMs'>;

/** In the order of `CHECKS`; none where dates were asked for, or nothing is read. */
export function checkedBy(
  { command, range }: Pick<RunRequest, 'command' | 'range'>,
  deps: ClockDeps & Pick<RunDeps, 'checks'>,
): Check[] {
  if (range !== null || (command !== 'run' && command !== 'sync')) return [];
  return CHECKS.filter((check) => isChecked(check, deps.checks) && MADE[check]?.(deps) === true);
}

/** `frontier, wide`; `nothing` where there are none. */
export const checkedText = (checked: readonly string[]): string =>
  checked.length === 0 ? 'nothing' : checked.join(', ');
