/** Words what the comparison of older days found. Pure. */
import { dayOf } from '../../ledger/business-day.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import { firstNamed } from '../../ledger/text.ts';
import type { DayChange } from '../../reconcile/reconcile.ts';
import type { HistoricalCheck, TotalDiffers } from '../../sync/historical-days.ts';
import { ROUND_NIGHTS } from '../../sync/historical-round.ts';
import type { Days } from '../../store/historical-days.ts';
import type { SyncReport } from '../../sync/sync-report.ts';
import { EXIT, ofMerchant, type Reason } from './exit-codes.ts';
import type { MerchantSync, HistoricalReport } from '../report.ts';

const NAMED_MAX = 10;

/** `daysChanged` are the account days whose figures this run changed. */
export function reasonsOfHistoricalDays(
  { merchantNo, olderDays }: MerchantSync,
  daysChanged: readonly DayChange[],
): Reason[] {
  if (olderDays === undefined) return [];
  const found =
    olderDays.kind === 'not made' ? [notMade(olderDays)] : whatWasFound(merchantNo, olderDays, daysChanged);
  return found.map(([exitCode, what, todo]) => ofMerchant(exitCode, merchantNo, what, todo));
}

type Found = [exitCode: Reason['exitCode'], what: string, todo: string];

function notMade({ notMade: why, nights }: Extract<HistoricalReport, { kind: 'not made' }>): Found {
  const what = `days before those read could not be compared with what is stored: ${why}`;
  return (nights ?? 0) >= ROUND_NIGHTS
    ? [EXIT.needsPerson, what, ASK_THE_PLATFORM]
    : [EXIT.done, what, 'the days read are not touched by it'];
}

type Checked = Extract<HistoricalReport, { kind: 'checked' }>;

function whatWasFound(merchantNo: string, olderDays: Checked, daysChanged: readonly DayChange[]): Found[] {
  const { check, recent, again, late } = olderDays;
  const found: Found[] = [];
  if (again !== null) {
    const changes = changesOf(again);
    const days = `${firstNamed(check.differing, NAMED_MAX)} ${check.differing.length === 1 ? 'was' : 'were'} read again, as ${whyReadAgain(check)}`;
    if (changes !== '') {
      const accountDays = accountDaysOf(merchantNo, check.differing, daysChanged);
      const isRecent = recent !== null && check.differing.every((day) => day >= recent.from);
      found.push([
        isRecent ? EXIT.done : EXIT.needsPerson,
        `${days}: ${changes}${accountDays}${namesOf(late)}`,
        isRecent
          ? 'nothing to do: the statements of this run have the change'
          : 'ask the platform why it changed days so long ago; where a statement is published, its next revision has the change',
      ]);
    } else if (again.failure === null && again.uncertified.length === 0) {
      found.push([EXIT.done, `${days}, and agree with what is stored`, CONTRADICTS_ITSELF]);
    }
  }
  found.push(...limits(olderDays));
  if (check.cap !== null) {
    const what = `the platform caps its results at ${check.cap}: ${whyOf(check)}, and no window shows more`;
    found.push([EXIT.incomplete, what, LIFT_THE_CAP]);
  } else if (check.isContradicted && !check.isLimitNew) {
    const what = `${whyOf(check)}, but the totals of its halves agree with what is stored`;
    found.push([EXIT.done, what, CONTRADICTS_ITSELF]);
  }
  if (check.hasMore) {
    const what = `more days of ${check.from} to ${check.to} differ from what is stored than one run reads again`;
    const todo = `the next night reads on; \`daybook run --from ${check.from} --to ${check.to}\` reads all of it now`;
    found.push([EXIT.incomplete, what, todo]);
  }
  return found;
}

/** What the platform does not show, or only in short windows. */
function limits({ check, sinceNights, zone }: Checked): Found[] {
  const { round, isLimitNew, isOverdue } = check;
  const { refused, widestMs } = round;
  const found: Found[] = [];
  if (refused !== null) {
    const span = `${dayOf(refused.beginMs, zone)} to ${dayOf(refused.endMs, zone)}`;
    const what = `the platform refuses to show ${span}: these older days were not compared for ${sinceNights} nights`;
    found.push(
      sinceNights >= ROUND_NIGHTS
        ? [EXIT.needsPerson, what, ASK_THE_PLATFORM]
        : [EXIT.done, what, 'the next night asks again'],
    );
  }
  if (isOverdue) {
    const since = dayOf(round.beganAt.getTime(), zone);
    const what = `some older days were not compared since ${since}: the platform answers short windows only`;
    found.push([EXIT.needsPerson, what, ASK_THE_PLATFORM]);
  }
  if (isLimitNew && widestMs !== null) {
    const days = Math.max(1, Math.round(widestMs / DAY_MS));
    const what =
      `the platform refuses long windows of older days, or contradicts their halves: ` +
      `from now on windows of at most ${days} day${days === 1 ? '' : 's'} are compared, in rounds of ${ROUND_NIGHTS} nights`;
    found.push([EXIT.done, what, 'nothing to do']);
  }
  return found;
}

const DAY_MS = 86_400_000;
const ASK_THE_PLATFORM =
  'ask the platform which days it shows; where it does so for good, leave `wide` out of DAYBOOK_CHECKS';

const LIFT_THE_CAP = 'ask the platform to count and to page through all that sp2404 matches';

const CONTRADICTS_ITSELF = 'nothing to do; if it comes every night, send this sentence to the platform';

const changesOf = ({ inserted, amended, vanished, returned, quarantined }: SyncReport): string =>
  (
    [
      [inserted, 'late'],
      [amended, 'amended'],
      [vanished, 'vanished'],
      [returned, 'back'],
      [quarantined, 'unreadable'],
    ] as const
  )
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${count} ${what}`)
    .join(', ');

/** Names late entries; amended and vanished ones are in `daybook amendments`. */
const namesOf = (late: readonly string[]): string =>
  late.length === 0 ? '' : `; late: ${firstNamed(late, NAMED_MAX)}`;

/** A total is the cause only of days that it counts, and only where the totals of its parts differ as well. */
function whyReadAgain(check: HistoricalCheck): string {
  const { differing, isContradicted } = check;
  const holdsAll = ({ from, to }: Days) => differing.every((day) => day >= from && day <= to);
  const asked = [check, ...check.alsoDiffering];
  const counted = asked.find((one) => one.total !== one.stored && holdsAll(one));
  if (counted !== undefined && !isContradicted) return totalsText(counted);
  const { from, to } = holdsAll(check) ? check : { from: differing[0]!, to: differing.at(-1)! };
  return from === to
    ? 'an entry of it differs from what is stored'
    : `an entry of ${from} to ${to} differs from what is stored`;
}

function whyOf({ from, to, total, stored, alsoDiffering }: HistoricalCheck): string {
  if (total !== stored) return totalsText({ from, to, total, stored });
  const [also] = alsoDiffering;
  return also === undefined ? `an entry of ${from} to ${to} differs from what is stored` : totalsText(also);
}

const totalsText = ({ from, to, total, stored }: TotalDiffers): string =>
  `the platform's total of ${from} to ${to} is ${total} where ${stored} ${stored === 1 ? 'is' : 'are'} stored`;

function accountDaysOf(
  merchantNo: string,
  days: readonly BusinessDay[],
  daysChanged: readonly DayChange[],
): string {
  const named = daysChanged
    .filter(({ account, day }) => account.merchantNo === merchantNo && days.includes(day))
    .map(({ account, day }) => `${account.currency} ${day}`);
  return named.length === 0 ? '' : ` (${firstNamed(named, NAMED_MAX)})`;
}
