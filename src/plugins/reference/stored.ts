/**
 * Stores the platform's lists as last read, and what was in them before. A list is replaced completely, in one
 * transaction.
 */
import { sql } from 'kysely';
import { cutText, storableText } from '../../ledger/text.ts';
import { arrayLiteral, type Db, type Trx, rowOf, rowsOf } from '../../store/engine/database.ts';

/** Names a list. `country` is '' for a list that belongs to no country. */
export interface ReferenceListKey {
  readonly kind: string;
  readonly country: string;
}

export interface ReferenceItem {
  readonly code: string;
  readonly name: string;
  /** `WALLET` or `BANK` for payout methods; null for other items. */
  readonly methodType: string | null;
  /** The item asks for text of one's own. It is not a code that can be sent. */
  readonly isPrompt: boolean;
}

export interface ReferenceItemRow extends ReferenceItem, ReferenceListKey {
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
  /** The platform's list no longer has the item. */
  readonly hasExited: boolean;
}

/** An item of the last reading that could not be stored, as it came. */
export interface SetAsideItem {
  /** Its position in the list, from 1. */
  readonly place: number;
  readonly reason: string;
  readonly raw: string;
}

export interface ReferenceListRow extends ReferenceListKey {
  readonly readAt: Date;
  readonly itemCount: number;
  readonly setAside: readonly SetAsideItem[];
}

/** What reading a list brought. */
export interface ReadList {
  readonly items: readonly ReferenceItem[];
  /** Items that could not be stored. `code` is null if it is not known which item it is. */
  readonly setAside?: readonly (SetAsideItem & { readonly code: string | null })[];
  readonly readAt: Date;
}

/** Most items set aside that are kept, and the most characters kept of each. */
export const SET_ASIDE_MAX = 100;
const RAW_CHARACTERS_MAX = 2_000;

/** Codes of the items that changed, in order. */
export interface ReferenceChanges {
  readonly added: readonly string[];
  /** The code is the same; the name or the type changed. */
  readonly renamed: readonly string[];
  readonly returned: readonly string[];
  readonly gone: readonly string[];
}

export const NO_CHANGES: ReferenceChanges = { added: [], renamed: [], returned: [], gone: [] };

interface HeldItem extends ReferenceItem {
  readonly lastSeenAt: Date | null;
}

/**
 * Compares a reading with the stored items. An item that was set aside does not count as gone. If one was set aside
 * whose code is not known, no item counts as gone. Pure.
 */
function changesOf(
  held: readonly HeldItem[],
  { items: read, setAside = [] }: Pick<ReadList, 'items' | 'setAside'>,
): ReferenceChanges {
  const before = new Map(held.map((item) => [item.code, item]));
  const now = new Set([...read, ...setAside].map(({ code }) => code));
  const isComplete = setAside.every(({ code }) => code !== null);
  const codesOf = (items: readonly ReferenceItem[]): string[] => items.map(({ code }) => code).sort();
  const differs = (item: ReferenceItem): boolean => {
    const earlier = before.get(item.code);
    return (
      earlier !== undefined &&
      (earlier.name !== item.name ||
        earlier.methodType !== item.methodType ||
        earlier.isPrompt !== item.isPrompt)
    );
  };
  return {
    added: codesOf(read.filter(({ code }) => !before.has(code))),
    renamed: codesOf(read.filter(differs)),
    returned: codesOf(read.filter(({ code }) => (before.get(code)?.lastSeenAt ?? null) !== null)),
    gone: codesOf(held.filter(({ code, lastSeenAt }) => isComplete && lastSeenAt === null && !now.has(code))),
  };
}

/**
 * Stores a list as it was read at `readAt`. Codes that it no longer has are marked with the time they were last seen.
 * Null if a later reading is stored already; nothing is changed then.
 */
export async function saveReferenceList(
  db: Db,
  key: ReferenceListKey,
  read: ReadList,
): Promise<ReferenceChanges | null> {
  const { items, setAside = [], readAt } = read;
  return db.transaction().execute(async (trx) => {
    const before = await lockList(trx, key, readAt);
    if (before !== null && before > readAt) return null;
    const changes = changesOf(await heldItems(trx, key), read);
    const written = new Set([...changes.added, ...changes.renamed, ...changes.returned]);
    await writeItems(
      trx,
      key,
      items.filter(({ code }) => written.has(code)),
      readAt,
    );
    // A list that has stored items was read before, so `before` is the time at which they were last seen.
    if (changes.gone.length > 0) {
      await sql`
        UPDATE reference_item SET last_seen_at = ${before ?? readAt}::timestamptz
        WHERE kind = ${key.kind} AND country = ${key.country}
          AND code = ANY (${arrayLiteral(changes.gone)}::text[])`.execute(trx);
    }
    const kept = setAside.slice(0, SET_ASIDE_MAX).map(({ place, reason, raw }) => ({
      place,
      reason,
      raw: cutText(storableText(raw), RAW_CHARACTERS_MAX),
    }));
    await trx
      .updateTable('reference_list')
      .set({ read_at: readAt, item_count: items.length, set_aside: JSON.stringify(kept) })
      .where('kind', '=', key.kind)
      .where('country', '=', key.country)
      .execute();
    return changes;
  });
}

/**
 * Locks the list's row, so that two readings are stored one after the other. Returns when the list was read before;
 * null if never.
 */
async function lockList(trx: Trx, { kind, country }: ReferenceListKey, readAt: Date): Promise<Date | null> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('reference_list')
    .values({ kind, country, read_at: readAt, item_count: 0 })
    .onConflict((conflict) => conflict.columns(['kind', 'country']).doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 1n) return null;
  const { readAt: before } = await rowOf(trx)<{ readAt: Date }>`
    SELECT read_at AS "readAt" FROM reference_list WHERE kind = ${kind} AND country = ${country} FOR UPDATE`;
  return before;
}

const heldItems = (trx: Trx, { kind, country }: ReferenceListKey): Promise<HeldItem[]> =>
  trx
    .selectFrom('reference_item')
    .select([
      'code',
      'name',
      'method_type as methodType',
      'is_prompt as isPrompt',
      'last_seen_at as lastSeenAt',
    ])
    .where('kind', '=', kind)
    .where('country', '=', country)
    .execute();

async function writeItems(
  trx: Trx,
  { kind, country }: ReferenceListKey,
  items: readonly ReferenceItem[],
  readAt: Date,
): Promise<void> {
  if (items.length === 0) return;
  const column = (value: (item: ReferenceItem) => string | null) => arrayLiteral(items.map(value));
  await sql`
    INSERT INTO reference_item (kind, country, code, name, method_type, is_prompt, first_seen_at)
    SELECT ${kind}, ${country}, code, name, method_type, is_prompt, ${readAt}::timestamptz FROM unnest(
      ${column(({ code }) => code)}::text[], ${column(({ name }) => name)}::text[],
      ${column(({ methodType }) => methodType)}::text[],
      ${column(({ isPrompt }) => String(isPrompt))}::boolean[]) AS read (code, name, method_type, is_prompt)
    ON CONFLICT (kind, country, code) DO UPDATE
      SET name = excluded.name, method_type = excluded.method_type, is_prompt = excluded.is_prompt,
          last_seen_at = NULL`.execute(trx);
}

/** Items of a kind, by country and code. Items that are gone from their list are only returned if asked for. */
export const listReferenceItems = (db: Db, { kind, country, withRemoved = false }: ItemFilter) => rowsOf(
  db,
)<ReferenceItemRow>`
  SELECT item.kind, item.country, item.code, item.name, item.method_type AS "methodType", item.is_prompt AS "isPrompt",
    item.first_seen_at AS "firstSeenAt", coalesce(item.last_seen_at, list.read_at) AS "lastSeenAt",
    item.last_seen_at IS NOT NULL AS "hasExited"
  FROM reference_item item JOIN reference_list list ON list.kind = item.kind AND list.country = item.country
  WHERE item.kind = ${kind} ${country === undefined ? sql`` : sql`AND item.country = ${country}`}
    ${withRemoved ? sql`` : sql`AND item.last_seen_at IS NULL`}
  ORDER BY item.country, item.code`;

interface ItemFilter {
  readonly kind: string;
  readonly country?: string | undefined;
  readonly withRemoved?: boolean;
}

/** All lists that were ever read. */
export const listReferenceLists = (db: Db) => rowsOf(db)<ReferenceListRow>`
  SELECT kind, country, read_at AS "readAt", item_count AS "itemCount", set_aside AS "setAside"
  FROM reference_list ORDER BY kind, country`;

/** The type of each payout method that is listed for a country, by code; null if nothing is stored. */
export async function payoutMethodTypes(
  db: Db,
  country: string,
): Promise<ReadonlyMap<string, string | null> | null> {
  const items = await listReferenceItems(db, { kind: 'payout_method', country });
  return items.length === 0 ? null : new Map(items.map(({ code, methodType }) => [code, methodType]));
}

/**
 * Codes of a list that can be sent, without items that ask for text of one's own. Null if the list was never read, or
 * was empty: then no code can be called wrong.
 */
export async function referenceCodes(
  db: Db,
  { kind, country }: ReferenceListKey,
): Promise<readonly string[] | null> {
  const items = await listReferenceItems(db, { kind, country });
  return items.length === 0 ? null : items.filter(({ isPrompt }) => !isPrompt).map(({ code }) => code);
}
