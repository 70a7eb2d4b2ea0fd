/** What a run did, as one value: printed, stored with the run, and turned into the exit code. */
import type { BusinessDay, Window } from '../ledger/entry.ts';
import type { ReconcileReport } from '../reconcile/reconcile.ts';
import type { PublishReport } from '../statements/publish.ts';
import type { RepairReport } from '../statements/repair-files.ts';
import type { SyncReport } from '../sync/sync.ts';
import { EXIT, gravest, type ExitCode } from './exit-codes.ts';
import type { NotJoined } from './join-merchants.ts';
import { repairNotes } from './repair-notes.ts';

export type RunCommand = 'run' | 'sync' | 'reconcile' | 'publish';

/** A span read again because a break lies in it. */
export interface HealingRead {
  readonly merchantNo: string;
  readonly window: Window;
}

export interface MerchantSync {
  readonly merchantNo: string;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly report: SyncReport;
  /** Set where the merchant is known only, and its ledger was not read. */
  readonly notJoined?: NotJoined;
}

/** A figure of all merchants together. */
export const syncTotal = (sync: readonly MerchantSync[], figure: (report: SyncReport) => number): number =>
  sync.reduce((total, { report }) => total + figure(report), 0);

/** What was published, and what of it had to be written again in the store. */
export type PublishOutcome = PublishReport & RepairReport;

export interface RunReport {
  readonly command: RunCommand;
  readonly runId: number;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly exitCode: ExitCode;
  readonly sync: readonly MerchantSync[];
  readonly reconcile: ReconcileReport | null;
  /** Spans read again because a break lies in them. */
  readonly healingReads: readonly HealingRead[];
  readonly publish: PublishOutcome | null;
  /** Why the run is not green, a sentence each. */
  readonly notes: readonly string[];
  readonly elapsedMs: number;
}

export interface Standing {
  readonly openBreaks: number;
  readonly quarantined: number;
}

/** Sentences and code for what the stages brought to light. `standing` is what is open in the range after the run. */
export function judge(
  sync: readonly MerchantSync[],
  publish: PublishOutcome | null,
  standing: Standing,
  failures: readonly string[],
): { exitCode: ExitCode; notes: string[] } {
  const notes: string[] = [...failures];
  const codes: ExitCode[] = failures.length > 0 ? [EXIT.incomplete] : [];
  const say = (code: ExitCode, count: number, sentence: (count: number) => string) => {
    if (count === 0) return;
    codes.push(code);
    notes.push(sentence(count));
  };
  const sum = (figure: (report: SyncReport) => number) => syncTotal(sync, figure);

  for (const { merchantNo, report, notJoined } of sync) {
    if (notJoined !== undefined) {
      codes.push(notJoined.mayPass ? EXIT.incomplete : EXIT.needsPerson);
      notes.push(`${merchantNo} is known, but its ledger could not join yet: ${notJoined.problem}`);
    }
    for (const { problem } of report.uncertified) {
      codes.push(EXIT.incomplete);
      notes.push(`${merchantNo}: ${problem}`);
    }
    if (report.failure !== null) {
      codes.push(EXIT.incomplete);
      notes.push(`${merchantNo}: ${report.failure.message}`);
    }
  }
  for (const { account, day, cause, why } of publish?.withheld ?? []) {
    // A day that is still going on is no failure; asking for it was meant.
    if (cause !== 'not-over') codes.push(EXIT.incomplete);
    notes.push(`${account.merchantNo} ${account.currency} ${day} is not published: ${why}`);
  }
  if (publish !== null) {
    notes.push(...repairNotes(publish));
    if (publish.unrepaired.length > 0) codes.push(EXIT.needsPerson);
  }
  say(
    EXIT.needsPerson,
    standing.openBreaks,
    (n) => `${n} open break${n === 1 ? '' : 's'}: see \`daybook breaks\``,
  );
  say(
    EXIT.needsPerson,
    sum((r) => r.amended),
    (n) => `${n} amended: see \`daybook amendments\``,
  );
  say(
    EXIT.needsPerson,
    sum((r) => r.vanished),
    (n) => `${n} vanished: see \`daybook amendments\``,
  );
  say(EXIT.needsPerson, standing.quarantined, (n) => `${n} quarantined: see \`daybook quarantine\``);
  return { exitCode: gravest(codes), notes };
}

/** The figures kept with the run: counts only, nothing of any entry. */
export function figuresOf(report: RunReport): Record<string, unknown> {
  const sum = (figure: (sync: SyncReport) => number) => syncTotal(report.sync, figure);
  return {
    merchants: report.sync
      .filter(({ notJoined }) => notJoined === undefined)
      .map(({ merchantNo }) => merchantNo),
    requests: sum((r) => r.requests),
    windows: sum((r) => r.windows),
    uncertified: sum((r) => r.uncertified.length),
    inserted: sum((r) => r.inserted),
    amended: sum((r) => r.amended),
    vanished: sum((r) => r.vanished),
    returned: sum((r) => r.returned),
    quarantined: sum((r) => r.quarantined),
    unchanged: sum((r) => r.unchanged),
    daysChained: report.reconcile?.daysChained ?? 0,
    breaksOpened: report.reconcile?.opened.length ?? 0,
    breaksHealed: report.reconcile?.healed.length ?? 0,
    published: report.publish?.published.length ?? 0,
    withheld: report.publish?.withheld.length ?? 0,
    repaired: report.publish?.repaired.length ?? 0,
    unrepaired: report.publish?.unrepaired.length ?? 0,
    elapsedMs: report.elapsedMs,
    notes: report.notes,
  };
}
