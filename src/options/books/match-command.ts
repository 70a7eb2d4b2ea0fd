/** `books match`: matches merchants' own books with the ledger. */
import type { Command } from 'commander';
import { answer, collect } from '../../cli/context.ts';
import { unknownMerchant } from '../../cli/flags.ts';
import { counted, lines, listTable } from '../../cli/output/text.ts';
import { MATCH_RULES } from '../../ledger/own-books.ts';
import { mostSevere } from '../../run/verdict/exit-codes.ts';
import type { MatchedByRule } from './figures.ts';
import type { MatchedMerchant } from './match-merchants.ts';

const HELP = `
Only what changed since the last matching is matched again, with what is around it; --all matches every entry again, with the
same result. What is matched follows from the entries, the decisions of people and the rules in the settings (BOOKS_RULES).
The schedule does this after the nightly job. Nothing of the ledger is changed.

Examples:
  daybook books match
  daybook books match --merchant 10001 --all --json`;

interface MatchFlags {
  readonly merchant: readonly string[];
  readonly all?: boolean;
}

export function addMatchCommand(books: Command): void {
  books
    .command('match')
    .description('match own books with the ledger, by the rules in the settings')
    .option('--merchant <no>', 'only this merchant (may be repeated)', collect, [])
    .option('--all', 'match every entry again')
    .addHelpText('after', HELP)
    .action(matchCommand);
}

async function matchCommand({ merchant, all }: MatchFlags, self: Command): Promise<void> {
  const { matchMerchants, merchantsWithBooks } = await import('./match-merchants.ts');
  const { matchedByRule } = await import('./figures.ts');
  await answer(self, async ({ db, settings, now }) => {
    const known = await merchantsWithBooks(db);
    const unknown = merchant.find((one) => !known.includes(one));
    if (unknown !== undefined) throw unknownMerchant(unknown);
    const chosen = merchant.length === 0 ? known : [...new Set(merchant)];
    const matching = { db, rules: settings.books, now, full: all === true };
    const ended = await matchMerchants(chosen, matching);
    const matched = await Promise.all(
      ended.map(async (end) => ({ ...end, matched: await matchedByRule(db, end.merchantNo) })),
    );
    const rest =
      '`daybook books unmatched` lists what is left, and `daybook books propose` what may belong together';
    return {
      document: matched,
      text: matched.length === 0 ? 'no merchant has own books' : lines(...matched.map(merchantText), rest),
      exitCode: mostSevere(matched.map(({ exitCode }) => exitCode)),
    };
  });
}

function merchantText({
  merchantNo,
  report,
  problem,
  matched,
}: MatchedMerchant & { readonly matched: readonly MatchedByRule[] }): string {
  if (report === null) return `merchant ${merchantNo}: not matched: ${problem}`;
  const order: readonly string[] = MATCH_RULES;
  const placeOf = (rule: string): number => (order.includes(rule) ? order.indexOf(rule) : order.length);
  const rows = matched.toSorted((a, b) => placeOf(a.rule) - placeOf(b.rule));
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
