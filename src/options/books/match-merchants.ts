/** Matches the books of several merchants, one after the other: what fails of one keeps no other one back. */
import { messageOf } from '../../ledger/text.ts';
import { type Db, rowsOf } from '../../store/engine/database.ts';
import { thisHolder } from '../../host/process-identity.ts';
import type { PlatformApp } from '../../run/app.ts';
import type { DueJob } from '../../run/schedule/due.ts';
import type { JobReport } from '../../run/schedule/job.ts';
import { EXIT, exitCodeOf, mostSevere, type ExitCode } from '../../run/verdict/exit-codes.ts';
import { finishRun, startRun } from '../../store/runs.ts';
import { matchBooks, type MatchReport } from './match.ts';
import type { MatchRules } from '../../ledger/own-books.ts';

/** The merchants that have imported a book. */
export const merchantsWithBooks = async (db: Db): Promise<string[]> => {
  const rows = await rowsOf(db)<{ merchantNo: string }>`
    SELECT DISTINCT merchant_no AS "merchantNo" FROM book_import ORDER BY 1`;
  return rows.map(({ merchantNo }) => merchantNo);
};

export interface MatchedMerchant {
  readonly merchantNo: string;
  /** Null where it failed. */
  readonly report: MatchReport | null;
  readonly problem: string | null;
  readonly exitCode: ExitCode;
}

interface Matching {
  readonly db: Db;
  readonly rules: MatchRules;
  readonly now: () => Date;
  readonly runId?: number;
  readonly full?: boolean;
}

/** Matches them, and says of each how it ended. Throws nothing that one merchant's books alone cause. */
export async function matchMerchants(
  merchants: readonly string[],
  { db, rules, now, runId, full }: Matching,
): Promise<MatchedMerchant[]> {
  const ended: MatchedMerchant[] = [];
  for (const merchantNo of merchants) {
    const asked = { merchantNo, rules, now: now(), runId: runId ?? null, full: full ?? false };
    const end = await matchBooks(db, asked).then(
      (report) => ({ report, problem: null, exitCode: EXIT.done }),
      (error: unknown) => ({ report: null, problem: messageOf(error), exitCode: exitCodeOf(error) }),
    );
    ended.push({ merchantNo, ...end });
  }
  return ended;
}

/** The job of the schedule, recorded as a run. The ledger's own night is over by then, and stays as it ended. */
export async function executeMatchJob(
  { database: { db }, settings, now }: PlatformApp,
  { job, slot }: DueJob,
): Promise<JobReport> {
  const startedMs = performance.now();
  const started = { command: job, slot, holder: thisHolder(), fromDay: null, toDay: null, now: now() };
  const runId = await startRun(db, started);
  const ended = await matchMerchants(await merchantsWithBooks(db), { db, rules: settings.books, now, runId });
  const notes = ended.flatMap(({ merchantNo, problem, report }) => {
    const undone = report?.undone.byHand ?? 0;
    if (problem !== null) return [`merchant ${merchantNo}: own books are not matched: ${problem}`];
    if (undone === 0) return [];
    return [`merchant ${merchantNo}: ${undone} matches by hand were undone, as their entries changed`];
  });
  const exitCode = mostSevere(ended.map((end) => end.exitCode));
  const figures = { merchants: ended.length, notes };
  await finishRun(db, runId, { exitCode, figures, now: now() });
  return { runId, exitCode, notes, elapsedMs: Math.round(performance.now() - startedMs) };
}
