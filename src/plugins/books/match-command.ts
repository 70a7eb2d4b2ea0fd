/** `books match` and its job of the schedule: several merchants, one after the other. What fails of one keeps no other one back. */
import type { Command } from 'commander';
import { answer, collect } from '../../cli/context.ts';
import { unknownMerchant, type RangeFlags } from '../../cli/flags.ts';
import { counted, lines, listTable } from '../../cli/output/text.ts';
import { thisHolder } from '../../host/process-identity.ts';
import { MATCH_RULES } from '../../ledger/own-books.ts';
import { messageOf } from '../../ledger/text.ts';
import { recordedJob, type RecordedWork } from '../../run/schedule/recorded-job.ts';
import type { Job } from '../../run/schedule/job.ts';
import { EXIT, exitCodeOf, mostSevere } from '../../run/verdict/exit-codes.ts';
import { arrayLiteral, type Db, rowsOf } from '../../store/engine/database.ts';
import { matchBooks, type MatchRequest } from './match.ts';

const HELP = `
Only what changed since the last matching is matched again, with what is around it; --all matches every entry again, with the
same result. What is matched follows from the entries, the decisions of people and the rules in the settings (BOOKS_RULES).
The schedule does this after the nightly job. Nothing of the ledger is changed.

Examples:
  daybook books match
  daybook books match --merchant 10001 --all --json`;

const NEXT =
  '`daybook books unmatched` lists what is left, and `daybook books propose --merchant NO` what may belong together';
const ORDER = [...MATCH_RULES, 'by-hand', 'write-off', 'apart'];

export const addMatchCommand = (books: Command): Command =>
  books
    .command('match')
    .description('match own books with the ledger, by the rules in the settings')
    .option('--merchant <no>', 'only this merchant (may be repeated)', collect, [])
    .option('--all', 'match every entry again')
    .addHelpText('after', HELP)
    .action(matchCommand);

type Flags = Pick<RangeFlags, 'merchant'> & { readonly all?: boolean };

const matchCommand = ({ merchant, all = false }: Flags, self: Command): Promise<void> =>
  answer(self, async ({ db, settings, now }) => {
    const known = await merchantsWithBooks(db);
    const unknown = merchant.find((one) => !known.includes(one));
    if (unknown !== undefined) throw unknownMerchant(unknown);
    const chosen = merchant.length === 0 ? known : [...new Set(merchant)];
    const document: Matched[] = [];
    for (const end of await matchMerchants(chosen, { db, rules: settings.books, now, full: all }))
      document.push({ ...end, matched: await matchedByRule(db, end.merchantNo) });
    return {
      document,
      text: document.length === 0 ? 'no merchant has own books' : lines(...document.map(merchantText), NEXT),
      exitCode: mostSevere(document.map(({ exitCode }) => exitCode)),
    };
  });

type Ended = Awaited<ReturnType<typeof matchMerchants>>[number];
type Matched = Ended & { readonly matched: Awaited<ReturnType<typeof matchedByRule>> };

/** How much is matched by each rule and by people. It counts every match. */
const matchedByRule = (db: Db, merchantNo: string) =>
  rowsOf(db)<Readonly<Record<'matches' | 'entries', number>> & { readonly rule: string }>`
    SELECT rule, count(DISTINCT match_id)::int AS matches, count(*)::int AS entries
    FROM book_match_entry WHERE merchant_no = ${merchantNo} AND match_id IS NOT NULL
    GROUP BY rule ORDER BY array_position(${arrayLiteral(ORDER)}::text[], rule)`;

function merchantText({ merchantNo, report, problem, matched }: Matched): string {
  if (report === null) return `merchant ${merchantNo}: not matched: ${problem}`;
  const { byHand, byRule } = report.undone;
  const table = listTable(matched, {
    rule: ({ rule }) => rule,
    '>matches': ({ matches }) => matches,
    '>entries': ({ entries }) => entries,
    '>new': ({ rule }) => report.made.find((made) => made.rule === rule)?.matches ?? 0,
  });
  return lines(
    `merchant ${merchantNo}: ${counted(report.days, 'day')} changed`,
    matched.length === 0 ? 'nothing is matched' : table,
    byHand > 0 && `${counted(byHand, 'match', 'matches')} by hand undone, as entries changed`,
    byRule > 0 && `${counted(byRule, 'entry', 'entries')} no longer matched by a rule`,
  );
}

/** The merchants that have imported a book. */
const merchantsWithBooks = async (db: Db): Promise<string[]> => {
  const rows = await rowsOf(db)<{ no: string }>`
    SELECT DISTINCT merchant_no AS no FROM book_import ORDER BY 1`;
  return rows.map(({ no }) => no);
};

/** Matches them, and says of each how it ended: a report, or a problem. Throws nothing that one merchant's books alone cause. */
export async function matchMerchants(
  merchants: readonly string[],
  { db, now, ...matching }: Omit<MatchRequest, 'merchantNo' | 'now'> & Pick<RecordedWork, 'db' | 'now'>,
) {
  const ended = [];
  for (const merchantNo of merchants) {
    const end = await matchBooks(db, { ...matching, merchantNo, now: now() }).then(
      (report) => ({ report, problem: null, exitCode: EXIT.done }),
      (error: unknown) => ({ report: null, problem: messageOf(error), exitCode: exitCodeOf(error) }),
    );
    ended.push({ merchantNo, ...end });
  }
  return ended;
}

/** The job of the schedule. The ledger's own night is over by then, and stays as it ended. */
export const executeMatchJob: Job['run'] = ({ database: { db }, settings, now }, due, signal) =>
  recordedJob({ db, now, holder: thisHolder(), signal }, due, async (runId) => {
    const merchants = await merchantsWithBooks(db);
    const ended = await matchMerchants(merchants, { db, rules: settings.books, now, runId });
    const notes = ended.flatMap(({ merchantNo, report, problem }) => {
      if (report === null) return `merchant ${merchantNo}: own books are not matched: ${problem}`;
      const { byHand } = report.undone;
      const undone = `merchant ${merchantNo}: ${byHand} matches by hand were undone, as their entries changed`;
      return byHand === 0 ? [] : undone;
    });
    const exitCode = mostSevere(ended.map((end) => end.exitCode));
    return { exitCode, notes, figures: { merchants: ended.length } };
  });
