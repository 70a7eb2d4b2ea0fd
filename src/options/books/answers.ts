/** Proposals as people decide on them: each answer has a name, under which it is accepted as long as its entries are as they were. */
import { sha256Of } from '../../host/sha256.ts';
import { addDays, isDay } from '../../ledger/business-day.ts';
import type { Account } from '../../ledger/entry.ts';
import type {
  Answer,
  MatchEntry,
  MatchRules,
  Named,
  Proposed,
  ProposedAsked,
} from '../../ledger/own-books.ts';
import type { Db } from '../../store/engine/database.ts';
import { openCounts } from './open.ts';
import { proposals } from './proposals.ts';

const FINGERPRINT_CHARACTERS = 10;
const ANSWER = /^([A-Z]{3})\/(\d{4}-\d{2}-\d{2})\/[0-9a-f]{10}$/;

function answerOf({ merchantNo, currency }: Account, entries: readonly MatchEntry[]): Answer {
  const texts = entries.map((one) => JSON.stringify([one.side, one.book, one.number, one.day, one.amount]));
  const first = entries.map(({ day }) => day).toSorted()[0]!;
  const fingerprint = sha256Of(JSON.stringify([merchantNo, currency, ...texts.toSorted()]));
  return { id: `${currency}/${first}/${fingerprint.slice(0, FINGERPRINT_CHARACTERS)}`, entries };
}

/** What may belong together among the merchant's unmatched entries. */
export async function proposedOf(db: Db, asked: ProposedAsked): Promise<Proposed[]> {
  const { merchantNo, rules, today } = asked;
  const found: Proposed[] = [];
  for (const { currency, oldest } of await openCounts(db, [merchantNo])) {
    const [from, to] = [asked.from ?? oldest, asked.to ?? addDays(today, rules.days)];
    if (from === null || (asked.currency !== null && currency !== asked.currency)) continue;
    for (const { candidates, ...proposal } of await proposals(db, { merchantNo, currency, from, to, rules }))
      found.push({ ...proposal, answers: candidates.map((entries) => answerOf(proposal, entries)) });
  }
  return found;
}

/** The entries of an answer, and what their difference is where the tolerance allows it. Null where there is no such answer now. */
export async function answerEntries(
  db: Db,
  merchantNo: string,
  id: string,
  rules: MatchRules,
): Promise<{ readonly entries: Named; readonly type: string | null } | null> {
  const [, currency = '', day = ''] = ANSWER.exec(id) ?? [];
  if (!isDay(day)) return null;
  for (const { rule, candidates } of await proposals(db, { merchantNo, currency, from: day, to: day, rules }))
    for (const entries of candidates)
      if (answerOf({ merchantNo, currency }, entries).id === id)
        return {
          entries: {
            ledger: entries.flatMap(({ side, number }) => (side === 'ledger' ? [number] : [])),
            own: entries.filter(({ side }) => side === 'book'),
          },
          type: rule === 'tolerance' ? (rules.tolerances.get(currency)?.type ?? null) : null,
        };
  return null;
}
