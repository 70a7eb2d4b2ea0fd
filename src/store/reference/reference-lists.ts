/** The platform's lists as last read, with what was in them before. A list changes whole, in one transaction. */
import { sql, type Kysely, type Transaction } from 'kysely';
import { cutText, storableText } from '../../ledger/text.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { DB } from '../engine/schema.ts';

/** Which list; `country` is '' where the list is no country's. */
export interface ReferenceListKey {
  readonly kind: string;
  readonly country: string;
}

export interface ReferenceItem {
  readonly code: string;
  readonly name: string;
  /** `WALLET` or `BANK`, for payout methods. */
  readonly methodType: string | null;
  /** Asks for something of one's own; no code to be sent. */
  readonly isPrompt: boolean;
}

export interface ReferenceItemRow extends ReferenceItem, ReferenceListKey {
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
  /** The list has it no more. */
  readonly isGone: boolean;
}

/** An item of the last reading that could not be kept, as it came. */
export interface SetAsideItem {
  /** In the list, from 1. */
  readonly place: number;
  readonly reason: string;
  readonly raw: string;
}

export interface ReferenceListRow extends ReferenceListKey {
  readonly readAt: Date;
  readonly itemCount: number;
  readonly setAside: readonly SetAsideItem[];
}

/** What a reading brought. */
export interface ReadList {
  readonly items: readonly ReferenceItem[];
  /** None where left out. `code` null: it cannot be told which one it is. */
  readonly setAside?: readonly (SetAsideItem & { readonly code: string | null })[];
  readonly readAt: Date;
}

/** Items set aside that are kept, with so much of each. */
const SET_ASIDE_MAX = 100;
const RAW_CHARACTERS_MAX = 2_000;

/** Codes, each in order. */
export interface ReferenceChanges {
  readonly added: readonly string[];
  /** Same code, another name or type. */
  readonly renamed: readonly string[];
  readonly returned: readonly string[];
  readonly gone: readonly string[];
}

export const NO_CHANGES: ReferenceChanges = { added: [], renamed: [], returned: [], gone: [] };

interface HeldItem extends ReferenceItem {
  readonly lastSeenAt: Date | null;
}

/**
 * What a reading changes in what is held. An item that was set aside is not gone; and where it cannot be told which one
 * that is, none is. Pure.
 */
function changesOf(
  held: readonly HeldItem[],
  { items: read, setAside = [] }: Pick<ReadList, 'items' | 'setAside'>,
): ReferenceChanges {
  const before = new Map(held.map((item) => [item.code, item]));
  const now = new Set([...read, ...setAside].map(({ code }) => code));
  const isWhole = setAside.every(({ code }) => code !== null);
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
    gone: codesOf(held.filter(({ code, lastSeenAt }) => isWhole && lastSeenAt === null && !now.has(code))),
  };
}

/**
 * Keeps a list as read at `readAt`; codes it no longer has are marked with when they were last seen. Null where a
 * later reading is stored already: nothing is changed then.
 */
export async function saveReferenceList(
  db: Kysely<DB>,
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
    // A list that has items was read before, so there is a time they were last seen.
    if (changes.gone.length > 0) await markGone(trx, key, changes.gone, before ?? readAt);
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

/** Locks the list's row, so that readings are stored one after the other; when it was read before, null if never. */
async function lockList(
  trx: Transaction<DB>,
  { kind, country }: ReferenceListKey,
  readAt: Date,
): Promise<Date | null> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('reference_list')
    .values({ kind, country, read_at: readAt, item_count: 0 })
    .onConflict((conflict) => conflict.columns(['kind', 'country']).doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 1n) return null;
  const { read_at } = await trx
    .selectFrom('reference_list')
    .select('read_at')
    .where('kind', '=', kind)
    .where('country', '=', country)
    .forUpdate()
    .executeTakeFirstOrThrow();
  return read_at;
}

async function heldItems(trx: Transaction<DB>, { kind, country }: ReferenceListKey): Promise<HeldItem[]> {
  return trx
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
}

async function writeItems(
  trx: Transaction<DB>,
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

async function markGone(
  trx: Transaction<DB>,
  { kind, country }: ReferenceListKey,
  codes: readonly string[],
  lastSeenAt: Date,
): Promise<void> {
  await sql`
    UPDATE reference_item SET last_seen_at = ${lastSeenAt}::timestamptz
    WHERE kind = ${kind} AND country = ${country} AND code = ANY (${arrayLiteral(codes)}::text[])`.execute(
    trx,
  );
}

/** Items of a kind by country and code; those gone from their list only where asked for. */
export async function listReferenceItems(
  db: Kysely<DB>,
  filter: { readonly kind: string; readonly country?: string | undefined; readonly withGone?: boolean },
): Promise<ReferenceItemRow[]> {
  const rows = await db
    .selectFrom('reference_item as item')
    .innerJoin('reference_list as list', (join) =>
      join.onRef('list.kind', '=', 'item.kind').onRef('list.country', '=', 'item.country'),
    )
    .selectAll('item')
    .select('list.read_at')
    .where('item.kind', '=', filter.kind)
    .$if(filter.country !== undefined, (query) => query.where('item.country', '=', filter.country!))
    .$if(filter.withGone !== true, (query) => query.where('item.last_seen_at', 'is', null))
    .orderBy('item.country')
    .orderBy('item.code')
    .execute();
  return rows.map((row) => ({
    kind: row.kind,
    country: row.country,
    code: row.code,
    name: row.name,
    methodType: row.method_type,
    isPrompt: row.is_prompt,
    firstSeenAt: row.first_seen_at,
    lastSeenAt: row.last_seen_at ?? row.read_at,
    isGone: row.last_seen_at !== null,
  }));
}

/** Every list that was ever read. */
export async function listReferenceLists(db: Kysely<DB>): Promise<ReferenceListRow[]> {
  const rows = await db
    .selectFrom('reference_list')
    .select(['kind', 'country', 'read_at as readAt', 'item_count as itemCount', 'set_aside as setAside'])
    .orderBy('kind')
    .orderBy('country')
    .execute();
  return rows.map((row) => ({ ...row, setAside: row.setAside as unknown as SetAsideItem[] }));
}

/** The type of each payout method listed for a country, by code; null where nothing is stored. */
export async function payoutMethodTypes(
  db: Kysely<DB>,
  country: string,
): Promise<ReadonlyMap<string, string | null> | null> {
  const items = await listReferenceItems(db, { kind: 'payout_method', country });
  return items.length === 0 ? null : new Map(items.map(({ code, methodType }) => [code, methodType]));
}

/**
 * Codes that can be sent, prompts left out. Null where the list was never read, or the platform found nothing when it
 * was: then nothing can be said against a code.
 */
export async function referenceCodes(
  db: Kysely<DB>,
  { kind, country }: ReferenceListKey,
): Promise<readonly string[] | null> {
  const items = await listReferenceItems(db, { kind, country });
  return items.length === 0 ? null : items.filter(({ isPrompt }) => !isPrompt).map(({ code }) => code);
}
