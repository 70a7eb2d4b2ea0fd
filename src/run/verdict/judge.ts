/** The verdict on a run: its exit code and the reasons for it, each with what to do. Pure. */
import { counted } from '../../ledger/text.ts';
import type { OpeningMismatch } from '../../statements/withheld.ts';
import { windowsInZone } from '../../ledger/wall-time.ts';
import type { ChangesTogether } from '../../store/amendments.ts';
import {
  reasonsOfCauses,
  reasonOfCommon,
  reasonOfMoved,
  reasonsOfHeld,
  reasonOfSilent,
  reasonOfDiscrepancy,
  reasonOfNotRead,
  spanName,
} from './finding-reasons.ts';
import {
  EXIT,
  isGoodEnd,
  mostSevere,
  needsPerson,
  ofMerchant,
  type ExitCode,
  type Reason,
} from './exit-codes.ts';
import {
  isOfAnotherLedger,
  reasonsOfOtherLedgers,
  reasonOfFailure,
  reasonsOfClock,
  reasonsOfContradictions,
  reasonsOfReading,
  reasonsOfUnsteadyTotals,
  reasonsOfFullMinutes,
  reasonsOfWithheld,
  NAMED_EACH_MAX,
} from './merchant-reasons.ts';
import { reasonsOfHistoricalDays } from './historical-reasons.ts';
import type { OpenItems, BusyMerchant, StageOutcome } from '../report.ts';
import { reasonsOfNotices, reasonsOfShared } from './notice-reasons.ts';
import {
  reasonsOfRevised,
  reasonsOfForeign,
  reasonsOfLeftOut,
  reasonsOfReadable,
  reasonsOfRepair,
} from './published-reasons.ts';
import type { WithheldDay } from '../../statements/publish.ts';
import type { OpenRange } from '../coverage.ts';
import { sumOfSync } from '../../sync/sync-report.ts';

export interface RunFailure {
  readonly exitCode: ExitCode;
  readonly message: string;
}

export function judge(
  outcome: StageOutcome,
  standing: OpenItems,
  run: {
    readonly id: number;
    readonly failures: readonly RunFailure[];
    readonly zone: string;
    /** Whether the run before found as large a difference between the clocks. */
    readonly wereClocksApart?: boolean;
    /** Merchants that it left out, as their token is nowhere. */
    readonly notRead?: readonly string[];
    /** Changes of several entries of a merchant. From one over many entries comes what else was found. */
    readonly together?: readonly ChangesTogether[];
  },
): { readonly exitCode: ExitCode; readonly reasons: readonly Reason[] } {
  const { leading, shared, isCommon } = leadingOf(outcome, standing, run.together ?? []);
  const reasons: Reason[] = [
    ...shared,
    ...run.failures.map(({ exitCode, message }) => ({ exitCode, what: message, todo: null })),
    ...outcome.troubles.map(({ exitCode, merchantNo, stage, message }) => ({
      exitCode,
      what: `${merchantNo}: ${stage} failed: ${message}`,
      todo:
        exitCode === EXIT.fault
          ? 'please report it; the other merchants are done, and this one’s statements stay as they were'
          : null,
      merchantNo,
    })),
    ...outcome.busy.map(reasonOfBusy),
    ...(run.notRead ?? []).map(reasonOfNotRead),
    ...reasonsOfHeld(standing.held, run.zone),
    ...standing.silent.map(reasonOfSilent),
    ...outcome.sync.flatMap((one) => reasonsOfReading(one, isCommon(one.merchantNo) ? 1 : NAMED_EACH_MAX)),
    ...outcome.sync.flatMap((one) => reasonsOfHistoricalDays(one, outcome.reconcile?.daysChanged ?? [])),
    ...outcome.sync.flatMap(reasonsOfContradictions),
    ...outcome.sync.flatMap(reasonsOfFullMinutes),
    ...reasonsOfClock(outcome.sync, run.wereClocksApart ?? false, run.zone),
    // Why a silent account's days are not proven is said already.
    ...reasonsOfWithheld(
      (outcome.publish?.withheld ?? []).filter((one) => !isOfSilence(one, standing.silent)),
    ),
    ...(outcome.publish?.unlinked ?? []).map(reasonOfMismatch),
    ...reasonsOfLeftOut(outcome.publish?.leftOut ?? []),
    ...(outcome.publish === null
      ? []
      : [
          ...reasonsOfForeign(outcome.publish),
          ...reasonsOfRepair(outcome.publish),
          ...reasonsOfReadable(outcome.publish),
        ]),
    ...reasonsOfOpenItems(outcome, standing, isCommon),
    ...standing.discrepancies.map(reasonOfDiscrepancy),
    ...reasonsOfNotices(standing.notices),
    ...reasonsOfRevised(standing.revised, run.id),
  ];
  const isIncomplete = reasons.some(({ exitCode }) => !isGoodEnd(exitCode));
  reasons.push(
    ...standing.requested
      // Whatever ended this run early is among the reasons already, with what to do.
      .filter(({ runId, missing }) => missing.length > 0 && !(isIncomplete && runId === run.id))
      .map(reasonOfRequested),
  );
  const inZone = (all: readonly Reason[]): Reason[] =>
    all.map((one) => ({ ...one, what: windowsInZone(one.what, run.zone) }));
  // A failure because of settings gives the exit code 2, whatever the stages ended with; `mostSevere` does not know it.
  const isUsage = run.failures.some(({ exitCode }) => exitCode === EXIT.usage);
  return {
    exitCode: isUsage ? EXIT.usage : mostSevere(reasons.map(({ exitCode }) => exitCode)),
    reasons: inOrder(inZone(reasons), inZone(leading)),
  };
}

const isOfSilence = ({ cause, account, day }: WithheldDay, silent: OpenItems['silent']): boolean =>
  cause === 'uncertified' &&
  silent.some(
    ({ merchantNo, currency, from, to }) =>
      merchantNo === account.merchantNo && currency === account.currency && from <= day && day <= to,
  );

/** What explains other reasons and stands before them: another ledger, and changes over many entries. */
function leadingOf(
  { sync }: Pick<StageOutcome, 'sync'>,
  { notices }: Pick<OpenItems, 'notices'>,
  together: readonly ChangesTogether[],
) {
  const another = sync.filter(isOfAnotherLedger);
  const common = together
    .flatMap((one) => one.common ?? [])
    .filter((change) => another.every(({ merchantNo }) => merchantNo !== change.merchantNo));
  const causes = [
    ...another.map(({ merchantNo, report }) => reasonOfFailure(merchantNo, report.failure!)),
    ...sync.flatMap(reasonsOfOtherLedgers),
    ...common.map(reasonOfCommon),
    ...together.flatMap(({ moved }) => moved.map(reasonOfMoved)),
  ];
  const shared = reasonsOfShared(notices);
  return {
    leading: causes.length === 0 ? [] : [...shared, ...causes],
    shared,
    isCommon: (merchantNo: string): boolean => common.some((one) => one.merchantNo === merchantNo),
  };
}

const MOST_SEVERE_FIRST: readonly ExitCode[] = [
  EXIT.fault,
  EXIT.usage,
  EXIT.incomplete,
  EXIT.leaseHeld,
  EXIT.needsPerson,
  EXIT.done,
];

/** A cause of many findings comes before them, behind faults alone. No sentence comes twice. */
function inOrder(reasons: readonly Reason[], leading: readonly Reason[]): Reason[] {
  const ordered = MOST_SEVERE_FIRST.flatMap((code) => reasons.filter(({ exitCode }) => exitCode === code));
  const isFault = ({ exitCode }: Reason): boolean => exitCode === EXIT.fault || exitCode === EXIT.usage;
  const all = [...ordered.filter(isFault), ...leading, ...ordered.filter((one) => !isFault(one))];
  const seen = new Set<string>();
  return all.filter(({ what }) => !seen.has(what) && seen.add(what));
}

const reasonOfBusy = ({ merchantNo, exitCode, message }: BusyMerchant): Reason => ({
  exitCode,
  what: `${merchantNo} is busy: ${message}`,
  todo: exitCode === EXIT.incomplete ? 'the schedule comes back to it' : null,
  merchantNo,
});

const reasonOfMismatch = ({ account, day, why }: OpeningMismatch): Reason =>
  needsPerson(`${account.merchantNo} ${account.currency} ${day} ${why}`);

function reasonsOfOpenItems(
  { sync, reconcile }: StageOutcome,
  standing: OpenItems,
  isCommon: (merchantNo: string) => boolean,
): Reason[] {
  const own = sumOfSync(sync);
  const { newBreaks, knownBreaks, quarantined, unreported } = standing;
  // The unreported changes include those of this run, unless the database could not be asked.
  const amended = Math.max(own.amended, unreported.amended);
  const vanished = Math.max(own.vanished, unreported.vanished);
  const earlier = (all: number, ours: number): string =>
    all > ours ? `, ${all - ours} of them stored by a run that ended before its report` : '';
  const reported: [number, string, string][] = [
    [
      newBreaks,
      `${counted(newBreaks, 'new break')}: see \`daybook breaks\``,
      'ask the platform about the period; if there is a valid reason for the difference, record it with `daybook breaks resolve ID --note TEXT`',
    ],
    [
      knownBreaks,
      `${counted(knownBreaks, 'break')} known before, still open: see \`daybook breaks\``,
      'it counts until a later reading clears it; if there is a valid reason for the difference, record it with `daybook breaks resolve ID --note TEXT`',
    ],
    [
      amended,
      `${counted(amended, 'entry', 'entries')} amended by the platform${earlier(amended, own.amended)}: see \`daybook amendments\``,
      'ask the platform why it changed booked entries',
    ],
    [
      vanished,
      `${counted(vanished, 'entry', 'entries')} no longer shown by the platform${earlier(vanished, own.vanished)}: see \`daybook amendments\``,
      'ask the platform why it no longer shows them; they are kept, and left out of the chain',
    ],
    [
      quarantined,
      `${counted(quarantined, 'unreadable entry', 'unreadable entries')} in quarantine: see \`daybook quarantine\``,
      'send raw text and reason to the platform; once clarified, acknowledge it with `daybook quarantine acknowledge ID --note TEXT`',
    ],
  ];
  return [
    // What is known to be the cause comes before what is only counted.
    ...reasonsOfCauses((reconcile?.opened ?? []).filter((row) => !isCommon(row.merchant_no))),
    ...reported.filter(([count]) => count > 0).map(([, what, todo]) => needsPerson(what, todo)),
    ...sync.flatMap(reasonsOfUnsteadyTotals),
  ];
}

/** `2026-01-01 to 2026-02-28`. */
export const rangeName = ({ from, to }: Pick<OpenRange, 'from' | 'to'>): string => `${from} to ${to}`;

const DAYS_NAMED_MAX = 3;

/** `2026-01-01 to 2026-01-09, 2026-01-12`. */
export function daysName(days: OpenRange['missingDays']): string {
  const named = days.slice(0, DAYS_NAMED_MAX).map(spanName).join(', ');
  const more = days.length - DAYS_NAMED_MAX;
  return more > 0 ? `${named} and ${counted(more, 'more stretch', 'more stretches')}` : named;
}

const reasonOfRequested = (range: OpenRange): Reason =>
  ofMerchant(
    EXIT.incomplete,
    range.merchantNo,
    `${rangeName(range)} was asked for (range ${range.id}) and is not read completely yet: ` +
      `${daysName(range.missingDays)} missing`,
    `the next nightly run reads on; \`daybook runs forget-range ${range.id}\` gives it up`,
  );
