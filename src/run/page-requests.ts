/** Requests of pages: what people ask there to be read or published again, within bounds for a person and a merchant. */
import { storableJson, storableText } from '../ledger/text.ts';
import { recordAuditEvent } from '../store/audit.ts';
import { type Db, lockNamed, rowOf, rowsOf, type Trx } from '../store/engine/database.ts';
import type { RequestAsked } from '../store/requests.ts';

/** Most open requests of a person on pages, and for a merchant; a person alone never fills a merchant's. */
export const OPEN_MAX = { person: 20, merchant: 40 };

interface RequestFiling {
  readonly by: string;
  readonly note: string | null;
  readonly now: Date;
}

/**
 * Files the request of a page with its audit event, and returns its number. Where the same is open already, or one that waits has all its
 * days, that number. Where too many are open already, files nothing and says whose.
 */
export function fileRequest(
  db: Db,
  asked: RequestAsked,
  { by, note, now }: RequestFiling,
): Promise<number | keyof typeof OPEN_MAX> {
  const { what, merchantNo, from, to } = asked;
  const days = `${from}${from === to ? '' : `/${to}`}`;
  const subject = `${merchantNo} ${days}`;
  return db.transaction().execute(async (trx) => {
    // One at a time: open ones are counted.
    await lockNamed(trx, 'daybook requests');
    const known = await openWith(trx, asked);
    if (known !== undefined) return known;
    const many = await whoHasMany(trx, merchantNo, by);
    if (many !== undefined) return many;
    const { id } = await rowOf(trx)<{ id: number }>`
      INSERT INTO request (number, merchant_no, asked_by, what, from_day, to_day, requested_at, figures)
      VALUES (nextval('request_number'), ${merchantNo}, 'page', ${what}, ${from}::date, ${to}::date, ${now}::timestamptz,
        ${storableJson({ by, note })}::jsonb)
      RETURNING number AS id`;
    await recordAuditEvent(trx, { by, command: `${what} again`, subject, note: note ?? undefined }, now);
    return id;
  });
}

/** The same one, or one that waits and has all its days. */
async function openWith(trx: Trx, { what, merchantNo, from, to }: RequestAsked): Promise<number | undefined> {
  const [open] = await rowsOf(trx)<{ id: number }>`
    SELECT number AS id FROM request
    WHERE merchant_no = ${merchantNo} AND asked_by = 'page' AND state = 'waiting' AND what = ${what}
      AND (from_day = ${from}::date AND to_day = ${to}::date
        OR started_at IS NULL AND from_day <= ${from}::date AND to_day >= ${to}::date) ORDER BY number LIMIT 1`;
  return open?.id;
}

async function whoHasMany(
  trx: Trx,
  merchantNo: string,
  by: string,
): Promise<keyof typeof OPEN_MAX | undefined> {
  const open = await rowOf(trx)<Record<keyof typeof OPEN_MAX, number>>`
    SELECT count(*) FILTER (WHERE figures->>'by' = ${storableText(by)})::int AS person,
      count(*) FILTER (WHERE merchant_no = ${merchantNo})::int AS merchant
    FROM request WHERE asked_by = 'page' AND state = 'waiting'`;
  return (['person', 'merchant'] as const).find((who) => open[who] >= OPEN_MAX[who]);
}

/** Cancels what a page asked and no process has taken yet, with its audit event. False if there is none by that number. */
export const cancelRequest = (db: Db, id: number, by: string, now: Date): Promise<boolean> =>
  db.transaction().execute(async (trx) => {
    const rows = await rowsOf(trx)<{ number: number }>`
      UPDATE request SET state = 'cancelled', finished_at = ${now}
      WHERE asked_by = 'page' AND number = ${id} AND state = 'waiting' AND started_at IS NULL RETURNING number`;
    if (rows.length > 0)
      await recordAuditEvent(trx, { by, command: 'work cancel', subject: String(id) }, now);
    return rows.length > 0;
  });
