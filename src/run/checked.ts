/**
 * Says which checks a run makes beyond the days it reads. Its report, `status` and the manifests that it writes list
 * them.
 */
import { dayOf, dayWindow } from '../ledger/business-day.ts';
import { CHECKS, isChecked, type Check } from '../ledger/checks.ts';
import { frontierEndMs } from './stages/sync-stage.ts';
import type { RunDeps, RunRequest } from './active-run.ts';

type Asked = Pick<RunRequest, 'command' | 'range' | 'currencies'>;
type Clocks = Pick<RunDeps, 'now' | 'zone' | 'settleDelayMs' | 'timeZoneTrusted'>;

const reads = ({ command }: Asked): boolean => command === 'run' || command === 'sync';
const chains = ({ command }: Asked): boolean => command === 'run' || command === 'reconcile';

/** The conditions under which a check that is switched on is made. */
const MADE: Readonly<Record<Check, (asked: Asked, clocks: Clocks) => boolean>> = {
  frontier: (asked, clocks) => {
    const nowMs = clocks.now().getTime();
    const beginMs = dayWindow(dayOf(nowMs, clocks.zone), clocks.zone).beginMs;
    return reads(asked) && asked.range === null && frontierEndMs(nowMs, clocks) > beginMs;
  },
  wide: (asked) => reads(asked) && asked.range === null && asked.currencies === null,
  zone: (asked, { timeZoneTrusted }) => reads(asked) && timeZoneTrusted !== true,
  empty: chains,
  first: chains,
  shared: reads,
};

/** The checks that a run makes, in the order of `CHECKS`. */
export const checkedBy = (asked: Asked, deps: Clocks & Pick<RunDeps, 'checks'>): Check[] =>
  CHECKS.filter((check) => isChecked(check, deps.checks) && MADE[check](asked, deps));

const WORDS: Readonly<Record<string, string>> = {
  frontier: 'start of today (frontier)',
  wide: 'totals of older days (wide)',
  zone: 'time zone (zone)',
  empty: 'days without entries (empty)',
  first: 'first openings (first)',
  shared: 'entries under two merchants (shared)',
} satisfies Record<Check, string>;

/** `start of today (frontier), totals of older days (wide)`; `nothing` if there are none. */
export const checkedText = (checked: readonly string[]): string =>
  checked.length === 0 ? 'nothing' : checked.map((check) => WORDS[check] ?? check).join(', ');
