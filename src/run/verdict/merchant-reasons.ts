/** Words why a run is not done for a merchant: what was not read and what was not published. Pure. */
import { counted, shellWord } from '../../ledger/text.ts';
import { wallSpan } from '../../ledger/wall-time.ts';
import type { WithheldDay } from '../../statements/publish.ts';
import { EXIT, type ExitCode, type Reason, ownExitCode, ownSentence, ofMerchant } from './exit-codes.ts';
import { CLEAR_UP_UNREADABLE } from './finding-reasons.ts';
import { AnotherLedgerAnswered } from '../../sync/own-ledger.ts';
import { OtherLedgerAnswered } from '../../sync/zone-gate.ts';
import type { NotJoined } from '../known-ahead.ts';
import { HOW_TO_PART_LEDGERS } from './notice-reasons.ts';
import { sumOfSync, type SyncReport } from '../../sync/sync-report.ts';
import type { MerchantSync } from '../report.ts';

/** Most sentences of one kind for one merchant. The rest is counted, so that other reasons are not lost among them. */
export const NAMED_EACH_MAX = 10;

const READS_ON =
  'what was certified is kept; the same command, or the next run of the schedule, takes up from there';

export function reasonsOfReading(
  { merchantNo, report, notJoined }: MerchantSync,
  windowsNamed = NAMED_EACH_MAX,
): Reason[] {
  // What is held is notified of the account's days, whichever run found it.
  const unheld = report.uncertified.filter(({ isHeld }) => isHeld !== true);
  const uncertified = unheld.map(({ problem }) =>
    ofMerchant(EXIT.incomplete, merchantNo, problem, RUN_AGAIN),
  );
  const moreUncertified = (more: number): Reason =>
    ofMerchant(
      EXIT.incomplete,
      merchantNo,
      `${counted(more, 'more window')} could not be certified`,
      '`daybook status` tells what is missing, and with --json each of them',
    );
  const caps = report.caps.map((problem) => ofMerchant(EXIT.incomplete, merchantNo, problem, LIFT_THE_CAP));
  const moreCaps = (more: number): Reason =>
    ofMerchant(EXIT.incomplete, merchantNo, `${counted(more, 'more window')} showed the cap`, LIFT_THE_CAP);
  return [
    ...(notJoined === undefined ? [] : [reasonOfNotJoined(merchantNo, notJoined)]),
    ...firstOf(caps, moreCaps, CAPS_NAMED_MAX),
    ...firstOf(uncertified, moreUncertified, windowsNamed),
    ...(report.failure === null ? [] : [reasonOfFailure(merchantNo, report.failure)]),
    ...reasonsOfOtherLedgers({ merchantNo, report }),
  ];
}

/** Accounts that another ledger was answered for, while another account was the merchant's own. */
export const reasonsOfOtherLedgers = ({
  merchantNo,
  report,
}: Pick<MerchantSync, 'merchantNo' | 'report'>): Reason[] =>
  report.otherLedgers.map(({ problem }) => reasonOfFailure(merchantNo, problem));

/** One window shows a cap as well as ten. */
const CAPS_NAMED_MAX = 1;

const LIFT_THE_CAP =
  'ask the platform to count and to page through all that sp2404 matches. Days that hold fewer entries than the cap were read ' +
  'by themselves and are proven; days that hold more are not published';

/** Another ledger than the merchant's own was answered: it explains all else that the run says of the merchant. */
export const isOfAnotherLedger = ({ report: { failure } }: MerchantSync): boolean =>
  failure instanceof AnotherLedgerAnswered || failure instanceof OtherLedgerAnswered;

const RUN_AGAIN = 'run the day again; if it stays so, send this sentence to the platform';

export const reasonOfFailure = (merchantNo: string, failure: Error): Reason => ({
  exitCode: ownExitCode(failure),
  what: ownSentence(merchantNo, failure),
  todo: `${READS_ON}; \`daybook doctor\` tells whether the platform answers`,
  merchantNo,
});

const reasonOfNotJoined = (merchantNo: string, { mayPass, problem }: NotJoined): Reason => ({
  exitCode: mayPass ? EXIT.incomplete : EXIT.needsPerson,
  what: `${merchantNo} is known, but its ledger could not join yet: ${problem}`,
  todo: mayPass
    ? 'the next run tries again'
    : `give it a token that works: \`daybook merchants add --merchant-no ${shellWord(merchantNo)} --token-stdin\``,
  merchantNo,
});

/** After so many nights a person has to ask the platform. */
const CONTRADICTED_NIGHTS = 3;

/** What was read is proven all the same, or has a reason of its own. */
export function reasonsOfContradictions({ merchantNo, report, nightsContradicted }: MerchantSync): Reason[] {
  const { contradictions, contradiction } = report;
  if (nightsContradicted === undefined || contradiction === null) return [];
  const { count, of } = nightsContradicted;
  const isLong = count >= CONTRADICTED_NIGHTS;
  const nights = count === of ? `${count} nights in a row` : `${count} of the last ${of} nights`;
  return [
    ofMerchant(
      isLong ? EXIT.needsPerson : EXIT.done,
      merchantNo,
      `the platform contradicted itself ${counted(contradictions, 'time')} in this run${isLong ? `, as in ${nights}` : ''}. The first time: ${contradiction}`,
      isLong
        ? 'report it to the platform, with these sentences'
        : 'nothing to do now; if this happens every night, report it to the platform',
    ),
  ];
}

/** The platform finds such entries at these times, so nothing else shows that their seconds are lost. */
export function reasonsOfFullMinutes({ merchantNo, report: { fullMinutes } }: MerchantSync): Reason[] {
  if (fullMinutes === null) return [];
  const { count, from } = fullMinutes;
  return [
    ofMerchant(
      EXIT.needsPerson,
      merchantNo,
      `the newest ${count} timestamps, from ${from} on, end in :00, and those before did not. ` +
        'The platform seems to cut their seconds',
      'ask the platform why busiDate of sp2404 has no seconds any more',
    ),
  ];
}

/** Entries that vanish and return during one run are a sign of unsteady answers, not of a changed ledger. */
export function reasonsOfUnsteadyTotals({ merchantNo, report }: MerchantSync): Reason[] {
  const { vanished, returned } = report;
  if (vanished === 0 || returned === 0) return [];
  return [
    ofMerchant(
      EXIT.needsPerson,
      merchantNo,
      `${vanished} entries vanished and ${returned} came back while one run was reading: the total of a ` +
        'span and the totals of its parts count different entries',
      'send this sentence to the platform; run the days again before their statements are relied on',
    ),
  ];
}

const HELD_BACK_NAMED_MAX = 3;

/**
 * Reasons about clocks that differ. If the platform's clock is behind, a day may be over here and not there; it is
 * not read yet. Otherwise the difference is only reported. If it is large and the run before did not find it, a
 * person has to know.
 */
export function reasonsOfClock(sync: readonly MerchantSync[], wereApart: boolean, zone: string): Reason[] {
  const waiting = sync.flatMap(({ merchantNo, unsettled = [], report }): Reason[] => {
    if (unsettled.length === 0) return [];
    const spans = unsettled.slice(0, HELD_BACK_NAMED_MAX).map((span) => wallSpan(span, zone));
    const what = `${clocksApartText(report)}: ${spans.join(', ')} is not settled there and was not read`;
    const todo = `${SET_THE_CLOCK}; the next run reads on once the platform's clock has come that far`;
    return [ofMerchant(EXIT.incomplete, merchantNo, what, todo)];
  });
  const apart = sumOfSync(sync);
  const news = waiting.length > 0 ? null : clockNews(apart);
  if (news === null) return waiting;
  const exitCode = isForPerson(apart) && !wereApart ? EXIT.needsPerson : EXIT.done;
  return [{ exitCode, what: news, todo: SET_THE_CLOCK }];
}

const firstOf = (all: readonly Reason[], rest: (more: number) => Reason, most = NAMED_EACH_MAX): Reason[] =>
  all.length <= most ? [...all] : [...all.slice(0, most), rest(all.length - most)];

/** The cause that needs a person, and no other run. */
const isForPersonAlone = ({ cause }: WithheldDay): boolean => cause === 'unreadable';

/**
 * First the days that keep the run from being done, merchant by merchant; then days that wait for a person, and days that are not over yet.
 * Days whose opening is not known are reported together, as a discrepancy of their account.
 */
export function reasonsOfWithheld(all: readonly WithheldDay[]): Reason[] {
  const isDone = ({ cause }: WithheldDay) => cause === 'not-over';
  const withheld = all.filter(({ cause }) => cause !== 'no-opening');
  const unreadable = withheld.filter(isForPersonAlone);
  const byMerchant = Map.groupBy(
    withheld.filter((one) => !isDone(one) && !isForPersonAlone(one)),
    ({ account }) => account.merchantNo,
  );
  return [
    ...[...byMerchant].flatMap(([merchantNo, days]) =>
      firstOf(firstOfShared(days).map(reasonOfWithheld), (more) => ({
        ...ofMerchant(
          EXIT.incomplete,
          merchantNo,
          counted(more, 'more account day is', 'more account days are') + ' not published',
          'the run that corrects this publishes them',
        ),
        ...(days.every(({ cause }) => AWAIT_PERSON.has(cause)) && { awaitsPerson: true }),
      })),
    ),
    ...[...Map.groupBy(unreadable, ({ account }) => account.merchantNo)].flatMap(([merchantNo, days]) =>
      firstOf(days.map(reasonOfWithheld), (more) => ({
        ...ofMerchant(
          EXIT.needsPerson,
          merchantNo,
          `${counted(more, 'more account day is', 'more account days are')} not published: entries cannot be read`,
          CLEAR_UP_UNREADABLE,
        ),
      })),
    ),
    ...withheld.filter(isDone).map(reasonOfWithheld),
  ];
}

/** What ends only once a person has acted. */
const AWAIT_PERSON: ReadonlySet<WithheldDay['cause']> = new Set(['shared', 'held']);

/** Of an account that is withheld from a day on, the first day says all. */
function firstOfShared(days: readonly WithheldDay[]): WithheldDay[] {
  const reported = new Set<string>();
  return days.filter(({ account, cause }) => {
    const key = `${cause} ${account.currency}`;
    const isReported = reported.has(key);
    if (AWAIT_PERSON.has(cause)) reported.add(key);
    return !isReported;
  });
}

const TODO_BY_CAUSE: Readonly<Partial<Record<WithheldDay['cause'], string>>> = {
  'not-over': 'the next nightly run publishes it',
  shared: HOW_TO_PART_LEDGERS,
  unreadable: CLEAR_UP_UNREADABLE,
  held: 'the run that finds the held entries again publishes it, or the run after `daybook amendments accept --merchant NO --note TEXT`',
};

const EXIT_BY_CAUSE: Readonly<Partial<Record<WithheldDay['cause'], ExitCode>>> = {
  // A day that is not over is no failure: somebody asked for it on purpose.
  'not-over': EXIT.done,
  unreadable: EXIT.needsPerson,
};

const reasonOfWithheld = ({ account, day, cause, why }: WithheldDay): Reason => ({
  exitCode: EXIT_BY_CAUSE[cause] ?? EXIT.incomplete,
  what: `${account.merchantNo} ${account.currency} ${day} is not published: ${why}`,
  todo: TODO_BY_CAUSE[cause] ?? 'the run that corrects this publishes it',
  merchantNo: account.merchantNo,
  ...(AWAIT_PERSON.has(cause) && { awaitsPerson: true }),
});

/** A smaller difference is not reported, unless days had to wait because of it. */
const CLOCK_REPORTED_MS_MIN = 60_000;

/**
 * A larger difference than any settle delay puts entries near midnight on the wrong day. A person is notified when it
 * appears.
 */
const CLOCK_FOR_PERSON_MS_MIN = 300_000;

type ClocksApart = Pick<SyncReport, 'platformBehindMs' | 'platformAheadMs'>;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** `90 s`, `10 min`, `8 h`, `3 days`: rounded as a person would say it. */
function lengthText(ms: number): string {
  if (ms < 2 * MINUTE_MS) return `${Math.ceil(ms / 1_000)} s`;
  if (ms < 2 * HOUR_MS) return `${Math.round(ms / MINUTE_MS)} min`;
  return ms < 2 * DAY_MS ? `${Math.round(ms / HOUR_MS)} h` : `${Math.round(ms / DAY_MS)} days`;
}

/** `the platform's clock is 10 min behind this machine's`. If its servers differ, the one furthest behind counts. */
const clocksApartText = ({ platformBehindMs, platformAheadMs }: ClocksApart): string =>
  platformBehindMs > 0
    ? `the platform's clock is ${lengthText(platformBehindMs)} behind this machine's`
    : `the platform's clock is ${lengthText(platformAheadMs)} ahead of this machine's`;

const apartMs = ({ platformBehindMs, platformAheadMs }: ClocksApart): number =>
  Math.max(platformBehindMs, platformAheadMs);

/** The same if it is worth a line; null if the clocks differ by little. */
export const clockNews = (apart: ClocksApart): string | null =>
  apartMs(apart) < CLOCK_REPORTED_MS_MIN ? null : clocksApartText(apart);

export const isForPerson = (apart: ClocksApart): boolean => apartMs(apart) >= CLOCK_FOR_PERSON_MS_MIN;

export const SET_THE_CLOCK =
  'set the clock that is wrong: this machine’s by NTP, or ask the platform to set its own';
