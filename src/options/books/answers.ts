/** Proposals as people decide on them: each answer has a name, under which it is accepted as long as its entries are as they were. */
import { sha256Of } from '../../host/sha256.ts';
import { addDays, parseDay } from '../../ledger/business-day.ts';
import type { Account } from '../../ledger/entry.ts';
import type { Db } from '../../store/engine/database.ts';
import type { Deciding } from '../option.ts';
import { decideMatch, DecisionRefused } from './decide.ts';
import { openCounts } from './open.ts';
import { proposals } from './proposals.ts';
import type {
  Answer,
  DecidedMatch,
  MatchEntry,
  Proposal,
  Proposed,
  ProposedAsked,
} from '../../ledger/own-books.ts';

const FINGERPRINT_CHARACTERS = 10;
const ANSWER = /^[^/]{1,10}\/\d{4}-\d{2}-\d{2}\/[0-9a-f]{10}$/;

function answerOf({ merchantNo, currency }: Account, entries: readonly MatchEntry[]): Answer {
  const texts = entries.map(({ side, book, number, day, amount }) =>
    JSON.stringify([side, book, number, day, amount]),
  );
  const first = entries.map(({ day }) => day).toSorted()[0]!;
  const fingerprint = sha256Of(JSON.stringify([merchantNo, currency, ...texts.toSorted()]));
  return { id: `${currency}/${first}/${fingerprint.slice(0, FINGERPRINT_CHARACTERS)}`, entries };
}

const proposed = ({ candidates, ...proposal }: Proposal): Proposed => ({
  ...proposal,
  answers: candidates.map((entries) => answerOf(proposal, entries)),
});

/** What may belong together among the merchant's unmatched entries. */
export async function proposedOf(db: Db, asked: ProposedAsked): Promise<Proposed[]> {
  const { merchantNo, currency, rules, today } = asked;
  const found: Proposed[] = [];
  for (const one of await openCounts(db, [merchantNo])) {
    const [from, to] = [asked.from ?? one.oldest, asked.to ?? addDays(today, rules.days)];
    if (from === null || (currency !== null && one.currency !== currency)) continue;
    const some = await proposals(db, { merchantNo, currency: one.currency, from, to, rules });
    found.push(...some.map(proposed));
  }
  return found;
}

/** Accepts an answer of a proposal. Throws `DecisionRefused` where there is no such answer any more. */
export async function acceptAnswer(
  deciding: Deciding,
  merchantNo: string,
  id: string,
  differenceType: string | null,
): Promise<DecidedMatch> {
  const { db, rules } = deciding;
  const [currency = '', firstDay = ''] = id.split('/');
  if (!ANSWER.test(id)) throw new DecisionRefused(`${id} is no answer of a proposal.`);
  const day = parseDay(firstDay);
  const some = await proposals(db, { merchantNo, currency, from: day, to: day, rules });
  const all = some
    .map(proposed)
    .flatMap(({ rule, answers }) => answers.map((answer) => ({ rule, ...answer })));
  const answer = all.find((one) => one.id === id);
  if (answer === undefined)
    throw new DecisionRefused(
      `${id} is no answer now: its entries are matched or have changed since; choose from the proposals of now.`,
    );
  const ofSide = (side: MatchEntry['side']) => answer.entries.filter((one) => one.side === side);
  const named = {
    merchantNo,
    ledger: ofSide('ledger').map(({ number }) => number),
    own: ofSide('book').map(({ book, number }) => ({ book, number })),
  };
  const type = differenceType ?? rules.tolerances.get(currency)?.type ?? null;
  return decideMatch(deciding, named, {
    differenceType: answer.rule === 'tolerance' ? type : differenceType,
    isWriteOff: false,
  });
}
