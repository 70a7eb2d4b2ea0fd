/**
 * What people decide about entries of own books and of the ledger: a match by hand, a write-off, taking a match back, an approval,
 * and who is responsible. Each is one transaction with its audit event, and leaves matches and figures up to date.
 */
import { sql } from 'kysely';
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import { addAmounts, compareAmounts, moneyText, subtractAmounts } from '../../ledger/money.ts';
import { isSamePerson } from '../../ledger/text.ts';
import { recordAuditEvent } from '../../store/audit.ts';
import { arrayLiteral, rowsOf, type Db, type Trx } from '../../store/engine/database.ts';
import { subjectOf } from './open.ts';
import { joinByHand, releaseMatch, touchMatch, type EntryKey } from './decided.ts';
import { matchIn } from './match.ts';
import type { Account } from '../../ledger/entry.ts';
import type { DecidedMatch, ListedMatch, MatchOrigin, Named } from '../../ledger/own-books.ts';
import type { Deciding } from '../option.ts';

/** Most entries of one decision. */
const DECIDED_MAX = 500;
/** Most characters of its note. */
export const NOTE_CHARACTERS_MAX = 1_000;

/** A decision that cannot be made as things are; nothing was changed. */
export class DecisionRefused extends ExpectedError {
  override readonly name = 'DecisionRefused';
  readonly exitCode = EXIT.usage;
}

interface Found {
  readonly side: 'ledger' | 'book';
  readonly number: string;
  readonly book: string | null;
  readonly bookEntryId: number | null;
  readonly currency: string;
  readonly amount: string;
  readonly isChanged: boolean;
  readonly matchId: number | null;
  readonly rule: MatchOrigin | null;
}

/**
 * Matches the named entries by hand. `differenceType`: what the difference of their sums is, which is written off with `isWriteOff`.
 * Throws `DecisionRefused` where an entry is not open any more or the sums do not allow it.
 */
export const decideMatch = (
  { db, rules, now, event }: Deciding,
  named: Named,
  { differenceType, isWriteOff }: { readonly differenceType: string | null; readonly isWriteOff: boolean },
): Promise<DecidedMatch> =>
  inBooks(db, named.merchantNo, async (trx) => {
    const { merchantNo } = named;
    const found = await openOf(trx, named);
    const [currency = '', ...others] = new Set(found.map((one) => one.currency));
    if (others.length > 0)
      throw new DecisionRefused(
        `the entries are in ${currency} and ${others.join(', ')}; decide on one currency at a time.`,
      );
    const [ledger, own] = [sumOf(found, 'ledger'), sumOf(found, 'book')];
    const difference = subtractAmounts(ledger, own);
    assertSums({ found, currency, ledger, own, difference, differenceType, isWriteOff });
    const limit = rules.approvalAbove.get(currency);
    const waits =
      limit !== undefined && [ledger, own].some((sum) => compareAmounts(sum.replace('-', ''), limit) > 0);
    const match: Omit<DecidedMatch, 'id'> = {
      ...{
        merchantNo,
        currency,
        difference,
        rule: isWriteOff ? 'write-off' : 'by-hand',
        waitsForApproval: waits,
      },
      differenceType: compareAmounts(difference, '0') === 0 ? null : differenceType,
    };
    const id = await storeMatch(trx, match, found, { now, event });
    await matchIn(trx, { merchantNo, rules, now });
    return { id, ...match };
  });

interface Sums extends Pick<DecidedMatch, 'currency' | 'difference' | 'differenceType'> {
  readonly found: readonly Found[];
  readonly ledger: string;
  readonly own: string;
  readonly isWriteOff: boolean;
}

function assertSums({ found, currency, ledger, own, difference, differenceType, isWriteOff }: Sums): void {
  const isEqual = compareAmounts(difference, '0') === 0;
  if (isWriteOff) {
    if (isEqual)
      throw new DecisionRefused(
        'the sums agree, so there is nothing to write off; match the entries instead.',
      );
    return;
  }
  if (new Set(found.map(({ side }) => side)).size < 2)
    throw new DecisionRefused(
      'a match needs entries of both sides; write an entry off that has no counterpart.',
    );
  if (!isEqual && differenceType === null)
    throw new DecisionRefused(
      `the ledger has ${moneyText(ledger, currency)} and the book ${moneyText(own, currency)}: ` +
        `say what the difference of ${moneyText(difference, currency)} is, for example a fee.`,
    );
}

const sumOf = (found: readonly Found[], side: Found['side']): string =>
  found.reduce((sum, one) => (one.side === side ? addAmounts(sum, one.amount) : sum), '0');

async function storeMatch(
  trx: Trx,
  match: Omit<DecidedMatch, 'id'>,
  found: readonly Found[],
  { now, event }: Pick<Deciding, 'now' | 'event'>,
): Promise<number> {
  const { merchantNo, currency, rule, difference, differenceType, waitsForApproval } = match;
  const [{ id }] = (await rowsOf(trx)<{ id: number }>`SELECT nextval('book_match_id_seq') AS id`) as [
    { id: number },
  ];
  const auditEventId = await recordAuditEvent(trx, { ...event, subject: matchSubject(merchantNo, id) }, now);
  await sql`
    INSERT INTO book_match (id, merchant_no, currency, rule, difference, difference_type, complete_on, made_at, audit_event_id,
      waits_for_approval)
    OVERRIDING SYSTEM VALUE VALUES (${id}, ${merchantNo}, ${currency}, ${rule}, ${difference}::numeric, ${differenceType}, ${now}::date,
      ${now}, ${auditEventId}, ${waitsForApproval})`.execute(trx);
  const keys = found.map(({ bookEntryId, number }): EntryKey =>
    bookEntryId === null ? { batchNo: number } : { bookEntryId },
  );
  if ((await joinByHand(trx, { matchId: id, merchantNo }, keys)) !== keys.length)
    throw new Error(`merchant ${merchantNo}: entries of match ${id} were taken meanwhile`);
  return id;
}

const matchSubject = (merchantNo: string, id: number): string => `${merchantNo} match ${id}`;

/** Who decides waits for a matching, and keeps others from one. */
const inBooks = <Result>(db: Db, merchantNo: string, work: (trx: Trx) => Promise<Result>): Promise<Result> =>
  db.transaction().execute(async (trx) => {
    await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`daybook books ${merchantNo}`}, 0))`.execute(
      trx,
    );
    return work(trx);
  });

/** The named entries. Throws `DecisionRefused` where one is unknown, matched, or not what was matched last. */
async function openOf(trx: Trx, { merchantNo, ledger, own }: Named): Promise<Found[]> {
  const asked = ledger.length + own.length;
  if (asked === 0) throw new DecisionRefused('name the entries, by batch number and by own number.');
  if (asked > DECIDED_MAX) throw new DecisionRefused(`a decision takes at most ${DECIDED_MAX} entries.`);
  const found = await foundOf(trx, { merchantNo, ledger, own });
  const isFree = ({ rule }: Found): boolean => rule === null || rule === 'apart';
  for (const number of ledger)
    if (!found.some((one) => one.side === 'ledger' && one.number === number))
      throw new DecisionRefused(`${merchantNo} has no entry ${number} to be matched; check the number.`);
  for (const { book, number } of own) {
    const named = found.filter(
      (one) => one.number === number && one.side === 'book' && (book === null || one.book === book),
    );
    if (named.length === 0)
      throw new DecisionRefused(
        `no book of ${merchantNo} has an entry ${number} to be matched; check the number.`,
      );
    if (named.length > 1)
      throw new DecisionRefused(
        `${number} is in the books ${named.map((one) => one.book).join(', ')}; say which one.`,
      );
  }
  for (const one of found) {
    if (!isFree(one))
      throw new DecisionRefused(`${one.number} is in match ${one.matchId} already; take that back first.`);
    if (one.isChanged)
      throw new DecisionRefused(
        `${one.number} has changed since it was matched last; have the books matched again first.`,
      );
  }
  return found;
}

const foundOf = (trx: Trx, { merchantNo, ledger, own }: Named): Promise<Found[]> => rowsOf(trx)<Found>`
  SELECT CASE WHEN entry.batch_no IS NULL THEN 'book' ELSE 'ledger' END AS side, coalesce(entry.batch_no, own.number) AS number,
    own.book, own.id AS "bookEntryId", entry.currency, trim_scale(entry.amount) AS amount, entry.match_id AS "matchId", made.rule,
    CASE WHEN entry.batch_no IS NULL THEN own.withdrawn_import_id IS NOT NULL OR (own.amount, own.day) <> (entry.amount, entry.day)
      ELSE ledger.vanished_at IS NOT NULL OR coalesce(ledger.credit, -ledger.debit) <> entry.amount
    END AS "isChanged"
  FROM book_match_entry AS entry
  LEFT JOIN book_entry AS own ON own.id = entry.book_entry_id
  LEFT JOIN ledger_entry AS ledger ON (ledger.merchant_no, ledger.batch_no) = (entry.merchant_no, entry.batch_no)
  LEFT JOIN book_match AS made ON made.id = entry.match_id
  WHERE entry.merchant_no = ${merchantNo} AND (entry.batch_no = ANY (${arrayLiteral(ledger)}::text[]) OR entry.book_entry_id IN (
    SELECT book_entry.id FROM book_entry JOIN unnest(${arrayLiteral(own.map(({ number }) => number))}::text[],
      ${arrayLiteral(own.map(({ book }) => book))}::text[]) AS named (number, book)
      ON book_entry.number = named.number AND book_entry.book = coalesce(named.book, book_entry.book)
    WHERE book_entry.merchant_no = ${merchantNo}))`;

type Stored = Pick<DecidedMatch, 'merchantNo' | 'currency' | 'rule' | 'waitsForApproval'> & {
  readonly by: string | null;
};

async function matchOf(trx: Db, id: number): Promise<Stored> {
  const [found] = await rowsOf(trx)<Stored>`
    SELECT merchant_no AS "merchantNo", currency, rule, waits_for_approval AS "waitsForApproval", by_whom AS by
    FROM book_match LEFT JOIN audit_event ON audit_event.id = audit_event_id WHERE book_match.id = ${id}`;
  if (found === undefined) throw new DecisionRefused(`there is no match ${id}.`);
  return found;
}

/** The merchant whose match it is. Throws `DecisionRefused` where there is none. */
export const merchantOfMatch = async (db: Db, id: number): Promise<string> =>
  (await matchOf(db, id)).merchantNo;

/**
 * Takes a match back. Entries of a match by hand are free for the rules again. Those of a rule's stay apart: no rule matches them
 * until a person does, or takes this back, too. Throws `DecisionRefused` where there is no such match.
 */
export async function undoMatch(
  { db, rules, now, event }: Deciding,
  id: number,
): Promise<DecidedMatch | null> {
  const merchantNo = await merchantOfMatch(db, id);
  return inBooks(db, merchantNo, async (trx) => {
    const { currency, by } = await matchOf(trx, id);
    let left: DecidedMatch | null = null;
    if (by !== null) {
      await recordAuditEvent(trx, { ...event, subject: matchSubject(merchantNo, id) }, now);
      await releaseMatch(trx, id);
    } else {
      const entries = await rowsOf(trx)<{ batchNo: string | null; bookEntryId: number | null }>`
        SELECT batch_no AS "batchNo", book_entry_id AS "bookEntryId" FROM book_match_entry WHERE match_id = ${id}`;
      const found = entries.map(
        ({ batchNo, bookEntryId }) => ({ number: batchNo ?? '', bookEntryId }) as Found,
      );
      const apart = {
        merchantNo,
        currency,
        rule: 'apart',
        difference: '0',
        differenceType: null,
        waitsForApproval: true,
      } as const;
      left = { id: await storeMatch(trx, apart, found, { now, event }), ...apart };
    }
    await matchIn(trx, { merchantNo, rules, now });
    return left;
  });
}

/** Approves what another person decided. Throws `DecisionRefused` for one's own decision, and where nothing waits. */
export async function approveMatch({ db, rules, now, event }: Deciding, id: number): Promise<void> {
  const merchantNo = await merchantOfMatch(db, id);
  await inBooks(db, merchantNo, async (trx) => {
    const { rule, by, waitsForApproval } = await matchOf(trx, id);
    if (!waitsForApproval || rule === 'apart')
      throw new DecisionRefused(`match ${id} does not wait for approval.`);
    if (by === null || isSamePerson(by, event.by))
      throw new DecisionRefused(
        `${by} decided on match ${id}, and no one may approve their own decision; ask another person.`,
      );
    const auditEventId = await recordAuditEvent(
      trx,
      { ...event, subject: matchSubject(merchantNo, id) },
      now,
    );
    await sql`UPDATE book_match SET waits_for_approval = false, approved_event_id = ${auditEventId} WHERE id = ${id}`.execute(
      trx,
    );
    await touchMatch(trx, id);
    await matchIn(trx, { merchantNo, rules, now });
  });
}

/** Makes the person of the event's assignment responsible for the named open entries. Returns how many these are. */
export const assignEntries = ({ db, now, event }: Deciding, named: Named): Promise<number> =>
  inBooks(db, named.merchantNo, async (trx) => {
    const found = await openOf(trx, named);
    for (const one of found)
      await recordAuditEvent(
        trx,
        { ...event, subject: subjectOf({ ...one, merchantNo: named.merchantNo }) },
        now,
      );
    return found.length;
  });

/** The newest matches of the account, those first that wait for approval or that people made. */
export const listMatches = (
  db: Db,
  { merchantNo, currency }: Account,
  limit: number,
): Promise<ListedMatch[]> =>
  rowsOf(db)<ListedMatch>`
    SELECT made.id, made.merchant_no AS "merchantNo", made.currency, made.rule, trim_scale(made.difference) AS difference,
      made.difference_type AS "differenceType", made.waits_for_approval AS "waitsForApproval", by_whom AS by, note, (
        SELECT json_agg(json_build_object('side', CASE WHEN entry.batch_no IS NULL THEN 'book' ELSE 'ledger' END, 'number',
          coalesce(entry.batch_no, own.number), 'book', own.book, 'day', entry.day, 'amount', trim_scale(entry.amount)::text) ORDER BY entry.day)
        FROM book_match_entry AS entry LEFT JOIN book_entry AS own ON own.id = entry.book_entry_id WHERE entry.match_id = made.id
      ) AS entries
    FROM (
      (SELECT * FROM book_match WHERE (merchant_no, currency) = (${merchantNo}, ${currency}) AND audit_event_id IS NOT NULL
        ORDER BY id DESC LIMIT ${limit})
      UNION (SELECT * FROM book_match WHERE (merchant_no, currency) = (${merchantNo}, ${currency})
        ORDER BY complete_on DESC, id DESC LIMIT ${limit})
    ) AS made LEFT JOIN audit_event ON audit_event.id = made.audit_event_id
    ORDER BY made.audit_event_id IS NULL, made.id DESC LIMIT ${limit}`;
