/** Puts what was done for each merchant together into the outcome of a run. Pure. */
import type { ReconcileReport } from '../reconcile/reconcile.ts';
import {
  type MerchantOutcome,
  runFigures,
  type BusyMerchant,
  type PublishOutcome,
  type RunReport,
  type StageOutcome,
  type OpenItems,
} from './report.ts';

/** The outcome of all merchants, in the order given. */
export function outcomeOfAll(
  outcomes: readonly MerchantOutcome[],
  busy: readonly BusyMerchant[] = [],
): StageOutcome {
  const present = <Part>(part: (outcome: MerchantOutcome) => Part | null): Part[] =>
    outcomes.flatMap((outcome) => part(outcome) ?? []);
  return {
    sync: present(({ sync }) => sync),
    reconcile: reconciled(present(({ reconcile }) => reconcile)),
    healingReads: outcomes.flatMap(({ healingReads }) => healingReads),
    publish: published(present(({ publish }) => publish)),
    troubles: present(({ trouble }) => trouble),
    busy,
  };
}

/** The counts that are stored with a run, of a run in which nothing was done: each is 0. */
export function zeroFigures(): Record<string, number> {
  const report: RunReport = {
    ...{ command: 'run', runId: 0, from: '', to: '', exitCode: 0, ...outcomeOfAll([]), checked: [] },
    ...{ standing: sumOpenItems([]), reasons: [], notes: [], elapsedMs: 0 },
  };
  return Object.fromEntries(
    Object.entries(runFigures(report)).flatMap(([name, value]) =>
      typeof value === 'number' ? [[name, value]] : [],
    ),
  );
}

const sumOf = <Item>(items: readonly Item[], figure: (item: Item) => number): number =>
  items.reduce((sum, item) => sum + figure(item), 0);

function reconciled(all: readonly ReconcileReport[]): ReconcileReport | null {
  if (all.length === 0) return null;
  return {
    accounts: sumOf(all, ({ accounts }) => accounts),
    daysChained: sumOf(all, ({ daysChained }) => daysChained),
    daysChanged: all.flatMap(({ daysChanged }) => daysChanged),
    opened: all.flatMap(({ opened }) => opened),
    healed: all.flatMap(({ healed }) => healed),
  };
}

function published(all: readonly PublishOutcome[]): PublishOutcome | null {
  if (all.length === 0) return null;
  const leftOut = all.flatMap((one) => one.leftOut ?? []);
  return {
    ...(leftOut.length === 0 ? {} : { leftOut }),
    published: all.flatMap((one) => one.published),
    unchanged: sumOf(all, ({ unchanged }) => unchanged),
    withheld: all.flatMap(({ withheld }) => withheld),
    unlinked: all.flatMap(({ unlinked }) => unlinked),
    repaired: all.flatMap(({ repaired }) => repaired),
    unrepaired: all.flatMap(({ unrepaired }) => unrepaired),
    foreign: all.flatMap(({ foreign }) => foreign),
  };
}

/** What is open of all merchants. */
export function sumOpenItems(all: readonly OpenItems[]): OpenItems {
  return {
    newBreaks: sumOf(all, ({ newBreaks }) => newBreaks),
    knownBreaks: sumOf(all, ({ knownBreaks }) => knownBreaks),
    unreported: {
      amended: sumOf(all, ({ unreported }) => unreported.amended),
      vanished: sumOf(all, ({ unreported }) => unreported.vanished),
    },
    revised: all.flatMap(({ revised }) => revised),
    quarantined: sumOf(all, ({ quarantined }) => quarantined),
    notices: all.flatMap(({ notices }) => notices),
    requested: all.flatMap(({ requested }) => requested),
    proven: all.flatMap(({ proven }) => proven),
    discrepancies: all.flatMap(({ discrepancies }) => discrepancies),
    held: all.flatMap(({ held }) => held),
  };
}
