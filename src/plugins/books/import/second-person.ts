/**
 * Imports that a second person has to make as well: they add or withdraw more than `BOOKS_APPROVAL_ABOVE`, and an entry that somebody made
 * up, or left out, could stand for any amount. Nothing of such an import is stored before another person imports the same content.
 */
import { sql } from 'kysely';
import { sha256Of } from '../../../host/sha256.ts';
import { EXIT, ExpectedError } from '../../../ledger/ending.ts';
import { addAmounts, compareAmounts, moneyText } from '../../../ledger/money.ts';
import { onePersonReason } from '../../../ledger/people.ts';
import { recordAuditEvent } from '../../../store/audit.ts';
import { rowsOf, type Db } from '../../../store/engine/database.ts';
import type { ImportRequest, Importing } from './importing.ts';
import type { BookRow } from './rows.ts';

/** The import is above the limit, and waits for a second person. Nothing of it is stored. */
export class ImportWaits extends ExpectedError {
  override readonly name = 'ImportWaits';
  readonly exitCode = EXIT.needsPerson;
  readonly reason: string;
  readonly sha256: string;
  /** Who imported the same before; null where that is new. */
  readonly first: string | null;

  constructor(message: string, { reason, sha256, first }: Pick<ImportWaits, 'reason' | 'sha256' | 'first'>) {
    super(message);
    this.reason = reason;
    this.sha256 = sha256;
    this.first = first;
  }
}

/** Adds the size of an entry to what the import adds. */
export function addTo({ added, approvalAbove }: Importing, { currency, amount }: BookRow): void {
  if (approvalAbove.has(currency))
    added.set(currency, addAmounts(added.get(currency) ?? '0', amount.replace('-', '')));
}

interface Sums {
  readonly currency: string;
  readonly added: string;
  readonly withdrawn: string;
}

/** What the import changed and withdrew, by currency, without signs: a changed entry is the earlier one withdrawn, and another one added. */
const changedSums = ({ trx, id, merchantNo, book }: Importing) => rowsOf(trx)<Sums>`
  WITH touched AS (
    SELECT own.currency, own.amount, import_id, withdrawn_import_id, last.currency AS last_currency, last.amount AS last_amount,
      (own.currency, own.day, own.amount, own.reference) IS DISTINCT FROM (last.currency, last.day, last.amount, last.reference) AS is_other
    FROM book_entry AS own
    LEFT JOIN jsonb_to_record(earlier->-1) AS last (currency text, day date, amount numeric, reference text) ON true
    WHERE (merchant_no, book) = (${merchantNo}, ${book}) AND (withdrawn_import_id = ${id} OR import_id = ${id} AND version > 1)
  ), moved AS (
    SELECT currency, 0 AS added, abs(amount) AS withdrawn FROM touched WHERE withdrawn_import_id = ${id}
    UNION ALL SELECT currency, abs(amount), 0 FROM touched WHERE import_id = ${id} AND is_other
    UNION ALL SELECT last_currency, 0, abs(last_amount) FROM touched WHERE import_id = ${id} AND is_other
  )
  SELECT currency, sum(added)::text AS added, sum(withdrawn)::text AS withdrawn FROM moved GROUP BY currency`;

/** What of the import is above the limit; null where nothing is. */
export async function aboveLimitReason(importing: Importing): Promise<string | null> {
  const { approvalAbove, added, counts } = importing;
  if (approvalAbove.size === 0) return null;
  const changed = counts.changed + counts.returned + counts.withdrawn > 0 ? await changedSums(importing) : [];
  for (const [currency, limit] of approvalAbove) {
    const of = changed.find((one) => one.currency === currency);
    for (const [verb, sum] of [
      ['adds', addAmounts(added.get(currency) ?? '0', of?.added ?? '0')],
      ['withdraws', of?.withdrawn ?? '0'],
    ] as const)
      if (compareAmounts(sum, limit) > 0)
        return `it ${verb} ${moneyText(sum, currency)} in all, which is above the limit of ${moneyText(limit, currency)}`;
  }
  return null;
}

const termsOf = ({ mapping, from, to, startsOn }: ImportRequest): string =>
  sha256Of(JSON.stringify([mapping, from ?? null, to ?? null, startsOn ?? null]));

interface Waiting {
  readonly auditEventId: number;
  readonly by: string;
}

/**
 * Takes this person as the second one, where another one imported the same content in the same way. Throws `ImportWaits` where that is
 * not so: the transaction is rolled back then.
 */
export async function takeSecondPerson(
  { trx, id, merchantNo, book, request, auditEventId }: Importing,
  reason: string,
): Promise<void> {
  const { by } = request.auditEvent;
  const { name } = request.source;
  const sha256 = request.source.sha256();
  const [first] = await rowsOf(trx)<Waiting>`
    SELECT audit_event_id AS "auditEventId", by_whom AS by FROM book_import_waiting JOIN audit_event ON audit_event.id = audit_event_id
    WHERE (merchant_no, book, content_sha256, terms_sha256) = (${merchantNo}, ${book}, ${sha256}, ${termsOf(request)})`;
  const why = first === undefined ? null : onePersonReason(first.by, by, request.logins ?? {});
  if (first === undefined || why !== null) {
    const imported =
      first === undefined || why === null ? '' : ` ${first.by} imported it before, and ${why}.`;
    throw new ImportWaits(
      `${name} waits for a second person: ${reason} (BOOKS_APPROVAL_ABOVE).${imported} Nothing of it is stored until another person ` +
        'imports the same file with the same mapping.',
      { reason, sha256, first: first?.by ?? null },
    );
  }
  await sql`UPDATE book_import SET audit_event_id = ${first.auditEventId}, approved_event_id = ${auditEventId} WHERE id = ${id}`.execute(
    trx,
  );
  await sql`DELETE FROM book_import_waiting WHERE (merchant_no, book) = (${merchantNo}, ${book})`.execute(
    trx,
  );
}

/** Remembers who made the import that waits. Another one of the book takes its place. */
export async function keepWaiting(db: Db, request: ImportRequest, waits: ImportWaits): Promise<void> {
  if (waits.first !== null) return;
  const { auditEvent, mapping, source } = request;
  await db.transaction().execute(async (trx) => {
    const note = `waits for a second person: ${waits.reason}`;
    const eventId = await recordAuditEvent(trx, { ...auditEvent, note }, request.now());
    await sql`
      INSERT INTO book_import_waiting (merchant_no, book, audit_event_id, content_sha256, terms_sha256, source, reason)
      VALUES (${mapping.merchant}, ${mapping.book}, ${eventId}, ${waits.sha256}, ${termsOf(request)}, ${source.name}, ${waits.reason})
      ON CONFLICT (merchant_no, book) DO UPDATE SET audit_event_id = excluded.audit_event_id, content_sha256 = excluded.content_sha256,
        terms_sha256 = excluded.terms_sha256, source = excluded.source, reason = excluded.reason`.execute(
      trx,
    );
  });
}
