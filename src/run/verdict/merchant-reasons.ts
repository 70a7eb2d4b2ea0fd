/** Words why a run is not done for a merchant: what was not read and what was not published. Pure. */
import { counted } from '../../ledger/text.ts';
import { wallSpan } from '../../ledger/wall-time.ts';
import type { WithheldDay } from '../../statements/publish.ts';
import { clockNews, clocksApartText, isForPerson, SET_THE_CLOCK } from '../clock-text.ts';
import { EXIT, type Reason } from './exit-codes.ts';
import { HOW_TO_PART_LEDGERS } from './notice-reasons.ts';
import { ownExitCode, ownSentence } from '../stages/stages-of.ts';
import { sumOfSync } from '../../sync/sync-report.ts';
import type { MerchantSync } from '../report.ts';

/** Most sentences of one kind for one merchant. The rest is counted, so that other reasons are not lost among them. */
export const NAMED_EACH_MAX = 10;

const READS_ON =
  'what was certified is kept; the same command, or the next run of the schedule, takes up from there';

export function reasonsOfReading(
  { merchantNo, report, notJoined }: MerchantSync,
  windowsNamed = NAMED_EACH_MAX,
): Reason[] {
  const reasons: Reason[] = [];
  if (notJoined !== undefined) {
    reasons.push({
      exitCode: notJoined.mayPass ? EXIT.incomplete : EXIT.needsPerson,
      what: `${merchantNo} is known, but its ledger could not join yet: ${notJoined.problem}`,
      todo: notJoined.mayPass
        ? 'the next run tries again'
        : `give it a token that works: \`daybook merchants add --merchant-no ${merchantNo} --token-stdin\``,
      merchantNo,
    });
  }
  // What is held is notified of the account's days, whichever run found it.
  const unheld = report.uncertified.filter(({ isHeld }) => isHeld !== true);
  const uncertified = unheld.map(({ problem }) => ({
    exitCode: EXIT.incomplete,
    what: `${merchantNo}: ${problem}`,
    todo: 'run the day again; if it stays so, send this sentence to the platform',
    merchantNo,
  }));
  reasons.push(
    ...firstOf(
      uncertified,
      (more) => ({
        exitCode: EXIT.incomplete,
        what: `${merchantNo}: ${counted(more, 'more window')} could not be certified`,
        todo: '`daybook status` tells what is missing, and with --json each of them',
        merchantNo,
      }),
      windowsNamed,
    ),
  );
  if (report.failure !== null) {
    reasons.push({
      exitCode: ownExitCode(report.failure),
      what: ownSentence(merchantNo, report.failure),
      todo: `${READS_ON}; \`daybook doctor\` tells whether the platform answers`,
      merchantNo,
    });
  }
  return reasons;
}

/** After so many nights in a row a person has to ask the platform. */
const CONTRADICTED_NIGHTS = 3;

/** What was read is proven all the same, or has a reason of its own. */
export function reasonsOfContradictions({ merchantNo, report, nightsContradicted }: MerchantSync): Reason[] {
  const { contradictions, contradiction } = report;
  if (nightsContradicted === undefined || contradiction === null) return [];
  const isLong = nightsContradicted >= CONTRADICTED_NIGHTS;
  const nights = isLong ? `, as in ${nightsContradicted} nights in a row` : '';
  return [
    {
      exitCode: isLong ? EXIT.needsPerson : EXIT.done,
      what:
        `${merchantNo}: the platform contradicted itself ${counted(contradictions, 'time')} in this run${nights}. ` +
        `The first time: ${contradiction}`,
      todo: isLong
        ? 'report it to the platform, with these sentences'
        : 'nothing to do now; if this happens every night, report it to the platform',
      merchantNo,
    },
  ];
}

/** The platform finds such entries at these times, so nothing else shows that their seconds are lost. */
export function reasonsOfFullMinutes({ merchantNo, report: { fullMinutes } }: MerchantSync): Reason[] {
  if (fullMinutes === null) return [];
  const { count, from } = fullMinutes;
  return [
    {
      exitCode: EXIT.needsPerson,
      what:
        `${merchantNo}: the newest ${count} timestamps, from ${from} on, end in :00, and those before did not. ` +
        'The platform seems to cut their seconds',
      todo: 'ask the platform why busiDate of sp2404 has no seconds any more',
      merchantNo,
    },
  ];
}

/** Entries that vanish and return during one run are a sign of unsteady answers, not of a changed ledger. */
export function reasonsOfUnsteadyTotals({ merchantNo, report }: MerchantSync): Reason[] {
  const { vanished, returned } = report;
  if (vanished === 0 || returned === 0) return [];
  return [
    {
      exitCode: EXIT.needsPerson,
      what:
        `${merchantNo}: ${vanished} entries vanished and ${returned} came back while one run was reading: the total of a ` +
        'span and the totals of its parts count different entries',
      todo: 'send this sentence to the platform; run the days again before their statements are relied on',
      merchantNo,
    },
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
    const what = `${merchantNo}: ${clocksApartText(report)}: ${spans.join(', ')} is not settled there and was not read`;
    const todo = `${SET_THE_CLOCK}; the next run reads on once the platform's clock has come that far`;
    return [{ exitCode: EXIT.incomplete, what, todo, merchantNo }];
  });
  const apart = sumOfSync(sync);
  const news = waiting.length > 0 ? null : clockNews(apart);
  if (news === null) return waiting;
  const exitCode = isForPerson(apart) && !wereApart ? EXIT.needsPerson : EXIT.done;
  return [{ exitCode, what: news, todo: SET_THE_CLOCK }];
}

const firstOf = (all: readonly Reason[], rest: (more: number) => Reason, most = NAMED_EACH_MAX): Reason[] =>
  all.length <= most ? [...all] : [...all.slice(0, most), rest(all.length - most)];

/** First the days that keep the run from being done, merchant by merchant; then days that are not over yet. */
export function reasonsOfWithheld(withheld: readonly WithheldDay[]): Reason[] {
  const isDone = ({ cause }: WithheldDay) => cause === 'not-over';
  const byMerchant = Map.groupBy(
    withheld.filter((one) => !isDone(one)),
    ({ account }) => account.merchantNo,
  );
  return [
    ...[...byMerchant].flatMap(([merchantNo, days]) =>
      firstOf(firstOfShared(days).map(reasonOfWithheld), (more) => ({
        exitCode: EXIT.incomplete,
        what: `${merchantNo}: ${counted(more, 'more account day')} ${more === 1 ? 'is' : 'are'} not published`,
        todo: 'the run that corrects this publishes them',
        merchantNo,
        ...(days.every(({ cause }) => cause === 'shared') && { awaitsPerson: true }),
      })),
    ),
    ...withheld.filter(isDone).map(reasonOfWithheld),
  ];
}

/** Of an account that is withheld from a day on, the first day says all. */
function firstOfShared(days: readonly WithheldDay[]): WithheldDay[] {
  const reported = new Set<string>();
  return days.filter(({ account, cause }) => {
    const isReported = reported.has(account.currency);
    if (cause === 'shared') reported.add(account.currency);
    return cause !== 'shared' || !isReported;
  });
}

const TODO_BY_CAUSE: Readonly<Partial<Record<WithheldDay['cause'], string>>> = {
  'not-over': 'the next nightly run publishes it',
  shared: HOW_TO_PART_LEDGERS,
};

const reasonOfWithheld = ({ account, day, cause, why }: WithheldDay): Reason => ({
  // A day that is not over is no failure: somebody asked for it on purpose.
  exitCode: cause === 'not-over' ? EXIT.done : EXIT.incomplete,
  what: `${account.merchantNo} ${account.currency} ${day} is not published: ${why}`,
  todo: TODO_BY_CAUSE[cause] ?? 'the run that corrects this publishes it',
  merchantNo: account.merchantNo,
  ...(cause === 'shared' && { awaitsPerson: true }),
});
