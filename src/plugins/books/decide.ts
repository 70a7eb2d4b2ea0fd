/**
 * What people decide about entries of own books and of the ledger. Each decision is one transaction with its audit event, and
 * leaves matches and figures up to date. Commands and pages call the same function, and get the same refusals.
 */
import { sql, type RawBuilder } from 'kysely';
import { dayOf } from '../../ledger/business-day.ts';
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import type { Account } from '../../ledger/entry.ts';
import { compareAmounts, moneyText } from '../../ledger/money.ts';
import { sumsOfSides, type DecidedMatch, type Decision, type MatchEntry } from '../../ledger/own-books.ts';
import type { Decided, Named } from '../../ledger/own-books.ts';
import { onePersonReason } from '../../ledger/people.ts';
import { assignmentProblem } from '../../run/operators.ts';
import { recordAuditEvent, type Assignment } from '../../store/audit.ts';
import { arrayLiteral, rowOf, rowsOf, type Db, type Trx } from '../../store/engine/database.ts';
import { matchIn } from './match.ts';
import { ENTRY, ENTRY_ROWS, lockBooks, MATCH } from './open.ts';
import { answerEntries } from './proposals.ts';
import { DIFFERENCE_TYPE } from './settings.ts';
import type { Deciding } from '../../months/own-books.ts';

/** Most entries of one decision. */
const DECIDED_MAX = 500;
/** Most characters of its note. */
const NOTE_MAX = 1_000;

/** A decision that cannot be made as things are; nothing was changed. */
class DecisionRefused extends ExpectedError {
  override readonly name = 'DecisionRefused';
  readonly exitCode = EXIT.usage;
}

function refuseIf(isSo: boolean, why: string): void {
  if (isSo) throw new DecisionRefused(why);
}

interface Found extends MatchEntry, Pick<Account, 'currency'> {
  readonly isChanged: boolean;
  readonly matchId: number | null;
  readonly rule: DecidedMatch['rule'] | null;
}

interface Work {
  readonly trx: Trx;
  readonly deciding: Deciding;
  readonly merchantNo: string;
  /** Records the decision on this match or entry of the merchant, and returns the number of its event. */
  readonly record: (what: string, assignment?: Assignment) => Promise<number>;
}

/** Does what a person decided. Throws `DecisionRefused` where that cannot be done. */
export async function decide(deciding: Deciding, decision: Decision): Promise<Decided> {
  const { db, settings, now, by, note, lockMs } = deciding;
  assertWords(decision, note);
  const merchantNo =
    'id' in decision ? (await matchOf(db, decision.id, decision.merchantNo)).merchantNo : decision.merchantNo;
  const command = `books ${decision.step === 'match' ? 'accept' : decision.step}`;
  return db.transaction().execute(async (trx) => {
    // Who decides waits for a matching, and keeps others from one.
    await lockBooks(trx, merchantNo, lockMs);
    const record: Work['record'] = (what, assignment) => {
      const event = { by, command, subject: `${merchantNo} ${what}`, note: note ?? undefined, assignment };
      return recordAuditEvent(trx, event, now);
    };
    const work = { trx, deciding, merchantNo, record };
    if (decision.step === 'assign') return assign(work, decision);
    const decided = 'id' in decision ? await changeMatch(work, decision) : await matchByHand(work, decision);
    await matchIn(trx, { merchantNo, rules: settings.books, now });
    // An entry of it may have changed since the last matching: then there is nothing to decide on any more.
    if (decided.match !== null) await matchOf(trx, decided.match.id);
    return decided;
  });
}

function assertWords(decision: Decision, note: string | null): void {
  const { step } = decision;
  const type = 'type' in decision ? decision.type : null;
  const lacksNote = note === null && (step === 'writeoff' || step === 'undo');
  refuseIf((note ?? '').length > NOTE_MAX, `a note has at most ${NOTE_MAX} characters; shorten it.`);
  refuseIf(lacksNote, 'the reason is missing; say why, in the note.');
  const lacksType = type === null && step === 'writeoff';
  refuseIf(lacksType, 'the type is missing; say what is written off, for example error.');
  const isType = type === null || DIFFERENCE_TYPE.test(type);
  refuseIf(!isType, 'a type has up to 50 letters and digits; shorten it, like fee.');
}

type Step<Name extends Decision['step']> = Extract<Decision, { step: Name }>;
type ByHand = Extract<Decision, { type: unknown }>;

/** The entries that are named or that the answer has, and the type of their difference. */
async function chosen({ trx, deciding }: Work, decision: ByHand) {
  if (decision.step !== 'accept') return decision;
  const { merchantNo, answer, type } = decision;
  const found = await answerEntries(trx, merchantNo, answer, deciding.settings.books);
  if (found !== null) return { entries: found.entries, type: type ?? found.type };
  throw new DecisionRefused(
    `${answer} is no answer now: its entries are matched or have changed; choose from the proposals of now.`,
  );
}

async function matchByHand(work: Work, decision: ByHand): Promise<Decided> {
  const { trx, deciding, merchantNo } = work;
  const { entries, type } = await chosen(work, decision);
  const found = await openOf(work, entries);
  const { currency, side } = found[0]!;
  const { ledger, book, difference } = sumsOfSides(found);
  const isEqual = compareAmounts(difference, '0') === 0;
  const isWriteOff = decision.step === 'writeoff';
  const rule = isWriteOff ? 'write-off' : 'by-hand';
  const isMixed = found.some((one) => one.currency !== currency);
  refuseIf(isMixed, 'the entries are in several currencies; decide on one currency at a time.');
  refuseIf(isWriteOff && isEqual, 'the sums agree: there is nothing to write off; match the entries.');
  const lacksSide = !isWriteOff && found.every((one) => one.side === side);
  refuseIf(lacksSide, 'a match needs entries of both sides; write off what has no counterpart.');
  const [there, here, rest] = [ledger, book, difference].map((amount) => moneyText(amount, currency));
  refuseIf(
    !isEqual && type === null,
    `the ledger has ${there} and the book ${here}: give the type of the difference of ${rest}, for example fee.`,
  );
  const limit = deciding.settings.books.approvalAbove.get(currency);
  // What nets out counts as well: credits and debits are added without their signs.
  const gross = sumsOfSides(found.map((one) => ({ ...one, amount: one.amount.replace('-', '') })));
  const isAbove = (sum: string): boolean => limit !== undefined && compareAmounts(sum, limit) > 0;
  const { id } = await rowOf(trx)<{ id: number }>`SELECT nextval('book_match_id_seq') AS id`;
  // Of a match that was taken back, the rest is free again.
  for (const one of new Set(found.flatMap(({ matchId }) => matchId ?? []))) await release(work, one);
  const eventId = await work.record(`match ${id}`);
  const completeOn = found
    .map(({ day }) => day)
    .toSorted()
    .at(-1);
  await rowsOf(trx)`
    INSERT INTO book_match (id, merchant_no, currency, rule, ledger_amount, difference, difference_type, complete_on, made_at, waits_for_approval,
      audit_event_id) OVERRIDING SYSTEM VALUE
    VALUES (${id}, ${merchantNo}, ${currency}, ${rule}, ${ledger}::numeric, ${difference}::numeric,
      ${isEqual ? null : type}, ${completeOn}::date, ${deciding.now}, ${isAbove(gross.ledger) || isAbove(gross.book)}, ${eventId})`;
  await rowsOf(trx)`UPDATE book_match_entry AS entry SET match_id = ${id}, rule = ${rule}
    WHERE ${isNamed(merchantNo, entries)}`;
  return { entries: await touch(work, id), match: await matchOf(trx, id) };
}

/** The named entries. Throws `DecisionRefused` where one is unknown, matched, or not what was matched last. */
async function openOf({ trx, merchantNo }: Work, { ledger, own }: Named): Promise<Found[]> {
  const asked = [
    ...ledger.map((number) => ({ side: 'ledger', number, book: null })),
    ...own.map((one) => ({ side: 'book', ...one })),
  ];
  refuseIf(asked.length === 0, 'no entry is named; name batch numbers or own numbers.');
  refuseIf(asked.length > DECIDED_MAX, `a decision takes at most ${DECIDED_MAX} entries; make it in parts.`);
  const found = await rowsOf(trx)<Found>`
    SELECT ${ENTRY}, entry.amount, entry.match_id AS "matchId", entry.rule,
      CASE WHEN entry.batch_no IS NULL THEN own.withdrawn_import_id IS NOT NULL ELSE ledger.vanished_at IS NOT NULL END
        OR (entry.amount, entry.day, entry.currency) IS DISTINCT FROM (coalesce(own.amount, ledger.credit, -ledger.debit),
          coalesce(own.day, ledger.booked_at::date), coalesce(own.currency, ledger.currency)) AS "isChanged"
    FROM book_match_entry AS entry ${ENTRY_ROWS}
    WHERE ${isNamed(merchantNo, { ledger, own })}`;
  for (const { side, number, book } of asked) {
    const isAsked = (one: Found): boolean =>
      one.side === side && one.number === number && (book ?? one.book) === one.book;
    const count = found.filter(isAsked).length;
    const where = side === 'ledger' ? 'the ledger' : 'own books';
    refuseIf(count === 0, `${where} of ${merchantNo}: no entry ${number} is known; check its number.`);
    refuseIf(count > 1, `${number} is in several books of ${merchantNo}; say which one.`);
  }
  for (const { number, rule, matchId, isChanged } of found) {
    const isTaken = rule !== null && rule !== 'apart';
    refuseIf(isTaken, `${number} is in match ${matchId} already; take that back first.`);
    refuseIf(isChanged, `${number} has changed since the last matching; have the books matched first.`);
  }
  return found;
}

const isNamed = (merchantNo: string, { ledger, own }: Named): RawBuilder<unknown> => sql`
  entry.merchant_no = ${merchantNo} AND (entry.batch_no = ANY (${arrayLiteral(ledger)}::text[]) OR entry.book_entry_id IN (
    SELECT book_entry.id FROM book_entry JOIN unnest(${arrayLiteral(own.map(({ number }) => number))}::text[],
      ${arrayLiteral(own.map(({ book }) => book))}::text[]) AS named (number, book)
      ON book_entry.number = named.number AND book_entry.book = coalesce(named.book, book_entry.book)
    WHERE book_entry.merchant_no = ${merchantNo}))`;

/** Throws `DecisionRefused` where there is no such match, or it is not the merchant's; null: of any merchant. */
async function matchOf(db: Db, id: number, merchantNo: string | null = null): Promise<DecidedMatch> {
  const [found] = await rowsOf(db)<DecidedMatch>`
    SELECT ${MATCH} FROM book_match AS made LEFT JOIN audit_event ON audit_event.id = audit_event_id WHERE made.id = ${id}`;
  if (found !== undefined && (merchantNo ?? found.merchantNo) === found.merchantNo) return found;
  throw new DecisionRefused(`there is no match ${id}; it was taken back, or its entries are matched anew.`);
}

/**
 * Approves or takes back. Entries of a match by hand are free for the rules then. Those of a rule's stay apart: no rule matches them
 * until a person does, or takes this back, too. What a second person approved is taken back by two persons as well.
 */
async function changeMatch(work: Work, decision: Step<'undo' | 'approve'>): Promise<Decided> {
  const { id, seen = null } = decision;
  const match = await matchOf(work.trx, id);
  const isOther = seen !== null && seen !== match.decidedIn;
  refuseIf(isOther, `match ${id} has been decided on again since it was shown; check it again.`);
  return decision.step === 'approve' ? approve(work, match) : takeBack(work, match);
}

async function approve(
  work: Work,
  { id, rule, by, undoBy, waitsForApproval }: DecidedMatch,
): Promise<Decided> {
  const { trx } = work;
  const decidedBy = undoBy ?? by ?? '';
  refuseIf(
    undoBy === null && (!waitsForApproval || rule === 'apart'),
    `match ${id} does not wait for approval.`,
  );
  await assertSecondPerson(work, id, decidedBy);
  const eventId = await work.record(`match ${id}`);
  if (undoBy !== null) return { match: null, entries: await release(work, id) };
  await rowsOf(
    trx,
  )`UPDATE book_match SET waits_for_approval = false, approved_event_id = ${eventId} WHERE id = ${id}`;
  return { entries: await touch(work, id), match: await matchOf(trx, id) };
}

/** Throws `DecisionRefused` where the person may be who decided, or imported what the match rests on. */
async function assertSecondPerson({ trx, deciding }: Work, id: number, decidedBy: string): Promise<void> {
  const { access } = deciding.settings;
  const why = onePersonReason(decidedBy, deciding.by, access);
  refuseIf(why !== null, `${decidedBy} decided on match ${id}, and ${why}; ask another person.`);
  const imports = await rowsOf(trx)<{ importId: number; by: string }>`
    SELECT DISTINCT import.id AS "importId", by_whom AS by FROM book_match_entry AS entry JOIN book_entry AS own ON own.id = entry.book_entry_id
    JOIN book_import AS import ON import.id = own.import_id JOIN audit_event ON audit_event.id = import.audit_event_id
    WHERE entry.match_id = ${id} ORDER BY 1`;
  for (const { importId, by } of imports)
    refuseIf(
      onePersonReason(by, deciding.by, access) !== null,
      `match ${id} rests on import ${importId} by ${by}, and no one may approve what rests on their own import; ask another person.`,
    );
}

async function takeBack(work: Work, match: DecidedMatch): Promise<Decided> {
  const { trx } = work;
  const { id, by, undoBy, isApproved } = match;
  refuseIf(
    undoBy !== null,
    `${undoBy} wants to take match ${id} back already; another person approves that.`,
  );
  const eventId = await work.record(`match ${id}`);
  if (isApproved) {
    await rowsOf(trx)`UPDATE book_match SET undo_event_id = ${eventId} WHERE id = ${id}`;
    return { entries: 0, match: await matchOf(trx, id) };
  }
  if (by !== null) return { match: null, entries: await release(work, id) };
  await rowsOf(trx)`
    UPDATE book_match SET rule = 'apart', difference = 0, difference_type = NULL, waits_for_approval = true, audit_event_id = ${eventId}
    WHERE id = ${id}`;
  return { entries: await touch(work, id), match: await matchOf(trx, id) };
}

async function assign(work: Work, { entries, to, due }: Step<'assign'>): Promise<Decided> {
  const { now, zone, by, settings } = work.deciding;
  const [today, { roles }] = [dayOf(now.getTime(), zone), settings.access];
  const wrong = assignmentProblem({ to, due }, { merchantNo: work.merchantNo, roles, today });
  if (wrong !== null) throw new DecisionRefused(wrong.problem);
  const found = await openOf(work, entries);
  for (const { book, number } of found)
    await work.record(book === null ? `ledger ${number}` : `own ${book} ${number}`, { to: to ?? by, due });
  return { match: null, entries: found.length };
}

/** Deletes the match. Its entries, so many, are free for the rules again. */
async function release(work: Work, id: number): Promise<number> {
  const entries = await touch(work, id);
  await rowsOf(work.trx)`UPDATE book_match_entry SET match_id = NULL, rule = NULL WHERE match_id = ${id}`;
  await rowsOf(work.trx)`DELETE FROM book_match WHERE id = ${id}`;
  return entries;
}

/** The entries of the match have its rule, and the next matching takes them in. Returns how many they are. */
async function touch({ trx, merchantNo }: Work, id: number): Promise<number> {
  await rowsOf(trx)`UPDATE book_day SET is_changed = true WHERE merchant_no = ${merchantNo}
    AND (currency, day) IN (SELECT currency, day FROM book_match_entry WHERE match_id = ${id})`;
  const touched = await rowsOf(trx)`
    UPDATE book_match_entry AS entry SET version = 0, rule = made.rule FROM book_match AS made
    WHERE made.id = ${id} AND entry.match_id = made.id RETURNING 1`;
  return touched.length;
}
