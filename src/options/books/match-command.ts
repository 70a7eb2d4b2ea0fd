/** `books match` and its job of the schedule: several merchants, one after the other. What fails of one keeps no other one back. */
import type { Command } from 'commander';
import { answer, collect } from '../../cli/context.ts';
import { unknownMerchant } from '../../cli/flags.ts';
import { counted, lines, listTable } from '../../cli/output/text.ts';
import { thisHolder } from '../../host/process-identity.ts';
import { MATCH_RULES } from '../../ledger/own-books.ts';
import { messageOf } from '../../ledger/text.ts';
import type { PlatformApp } from '../../run/app.ts';
import type { DueJob } from '../../run/schedule/due.ts';
import type { JobReport } from '../../run/schedule/job.ts';
import { EXIT, exitCodeOf, mostSevere, type ExitCode } from '../../run/verdict/exit-codes.ts';
import { type Db, rowsOf } from '../../store/engine/database.ts';
import { finishRun, startRun } from '../../store/runs.ts';
import { matchedByRule, type MatchedByRule } from './figures.ts';
import { matchBooks, type MatchReport, type MatchRequest } from './match.ts';

const HELP = `
Only what changed since the last matching is matched again, with what is around it; --all matches every entry again, with the
same result. What is matched follows from the entries, the decisions of people and the rules in the settings (BOOKS_RULES).
The schedule does this after the nightly job. Nothing of the ledger is changed.

Examples:
  daybook books match
  daybook books match --merchant 10001 --all --json`;

const NEXT =
  '`daybook books unmatched` lists what is left, and `daybook books propose` what may belong together';
const ORDER: readonly string[] = [...MATCH_RULES, 'by-hand', 'write-off', 'apart'];

export function addMatchCommand(books: Command): void {
  books
    .command('match')
    .description('match own books with the ledger, by the rules in the settings')
    .option('--merchant <no>', 'only this merchant (may be repeated)', collect, [])
    .option('--all', 'match every entry again')
    .addHelpText('after', HELP)
    .action(matchCommand);
}

type Matched = MatchedMerchant & { readonly matched: readonly MatchedByRule[] };

async function matchCommand(
  { merchant, all = false }: { readonly merchant: readonly string[]; readonly all?: boolean },
  self: Command,
): Promise<void> {
  await answer(self, async ({ db, settings, now }) => {
    const known = await merchantsWithBooks(db);
    const unknown = merchant.find((one) => !known.includes(one));
    if (unknown !== undefined) throw unknownMerchant(unknown);
    const chosen = merchant.length === 0 ? known : [...new Set(merchant)];
    const matched: Matched[] = [];
    for (const end of await matchMerchants(chosen, { db, rules: settings.books, now, full: all }))
      matched.push({ ...end, matched: await matchedByRule(db, end.merchantNo) });
    return {
      document: matched,
      text: matched.length === 0 ? 'no merchant has own books' : lines(...matched.map(merchantText), NEXT),
      exitCode: mostSevere(matched.map(({ exitCode }) => exitCode)),
    };
  });
}

function merchantText({ merchantNo, report, problem, matched }: Matched): string {
  if (report === null) return `merchant ${merchantNo}: not matched: ${problem}`;
  const rows = matched.toSorted((a, b) => ORDER.indexOf(a.rule) - ORDER.indexOf(b.rule));
  const newOf = (rule: string): number => report.made.find((made) => made.rule === rule)?.matches ?? 0;
  const { byHand, byRule } = report.undone;
  return lines(
    `merchant ${merchantNo}: ${counted(report.days, 'day')} changed`,
    rows.length === 0
      ? 'nothing is matched'
      : listTable(rows, {
          rule: ({ rule }) => rule,
          '>matches': ({ matches }) => matches,
          '>entries': ({ entries }) => entries,
          '>new': ({ rule }) => newOf(rule),
        }),
    byHand > 0 && `${counted(byHand, 'match', 'matches')} by hand undone, as entries changed`,
    byRule > 0 && `${counted(byRule, 'entry', 'entries')} no longer matched by a rule`,
  );
}

/** The merchants that have imported a book. */
const merchantsWithBooks = async (db: Db): Promise<string[]> => {
  const rows = await rowsOf(db)<{ merchantNo: string }>`
    SELECT DISTINCT merchant_no AS "merchantNo" FROM book_import ORDER BY 1`;
  return rows.map(({ merchantNo }) => merchantNo);
};

interface MatchedMerchant {
  readonly merchantNo: string;
  /** Null where it failed. */
  readonly report: MatchReport | null;
  readonly problem: string | null;
  readonly exitCode: ExitCode;
}

interface Matching extends Pick<MatchRequest, 'rules' | 'runId' | 'full'> {
  readonly db: Db;
  readonly now: () => Date;
}

/** Matches them, and says of each how it ended. Throws nothing that one merchant's books alone cause. */
export async function matchMerchants(
  merchants: readonly string[],
  { db, now, ...matching }: Matching,
): Promise<MatchedMerchant[]> {
  const ended: MatchedMerchant[] = [];
  for (const merchantNo of merchants) {
    const end = await matchBooks(db, { ...matching, merchantNo, now: now() }).then(
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
    if (report === null) return [`merchant ${merchantNo}: own books are not matched: ${problem}`];
    const { byHand } = report.undone;
    const undone = `merchant ${merchantNo}: ${byHand} matches by hand were undone, as their entries changed`;
    return byHand === 0 ? [] : [undone];
  });
  const exitCode = mostSevere(ended.map((end) => end.exitCode));
  const figures = { merchants: ended.length, notes };
  await finishRun(db, runId, { exitCode, figures, now: now() });
  return { runId, exitCode, notes, elapsedMs: Math.round(performance.now() - startedMs) };
}
