/**
 * Reads the platform's lists and keeps them: the five of sp2502, two of them per country
 * (docs/platform.md 4.2).
 */
import type { Kysely } from 'kysely';
import { isPlatformError, PlatformUnreachable } from '../platform/errors.ts';
import type { MetaItem, ReferenceReader } from '../platform/reference-data.ts';
import { META_TYPES, META_TYPES_BY_COUNTRY, NATURE_PROMPT_CODE, type MetaType } from '../platform/wire.ts';
import {
  NO_CHANGES,
  saveReferenceList,
  type ReferenceChanges,
  type ReferenceItem,
  type ReferenceListKey,
} from '../store/reference/reference-lists.ts';
import type { DB } from '../store/engine/schema.ts';

export interface ListOutcome extends ReferenceListKey {
  /** Null where the list could not be read; what was stored stays. */
  readonly itemCount: number | null;
  readonly changes: ReferenceChanges;
  /** Items that could not be kept, each by its place and what is wrong with it; the rest was read. */
  readonly setAside: readonly string[];
  /** Oddities of items that were kept, a sentence each. */
  readonly notices: readonly string[];
  /** Why it could not be read, a sentence. */
  readonly problem: string | null;
}

export interface ReferenceSyncReport {
  readonly lists: readonly ListOutcome[];
}

export interface ReferenceSync {
  readonly db: Kysely<DB>;
  readonly reader: ReferenceReader;
  /** ISO alpha-2 codes to read banks and payout methods of. */
  readonly countries: readonly string[];
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

interface List {
  readonly kind: MetaType;
  /** '' where the list is no country's. */
  readonly country: string;
}

/** Every list there is for the countries asked for, in a fixed order (docs/platform.md 4.2). */
export function listsFor(countries: readonly string[]): List[] {
  const each = [...new Set(countries)].sort();
  return META_TYPES.flatMap((kind) =>
    META_TYPES_BY_COUNTRY.includes(kind)
      ? each.map((country) => ({ kind, country }))
      : [{ kind, country: '' }],
  );
}

/** `OTHER` among business natures asks for one of one's own and is none itself (docs/platform.md 2.2). */
const itemOf =
  (kind: MetaType) =>
  ({ code, name, type }: MetaItem): ReferenceItem => ({
    code,
    name,
    methodType: type,
    isPrompt: kind === 'business_nature' && code === NATURE_PROMPT_CODE,
  });

/**
 * Reads every list once. A list that cannot be read keeps what is stored and is told in the report; once the platform
 * cannot be reached at all, the rest is not asked for. Rejects with the signal's reason, and where the store fails.
 */
export async function syncReferences({
  db,
  reader,
  countries,
  now,
  signal,
}: ReferenceSync): Promise<ReferenceSyncReport> {
  const outcomes: ListOutcome[] = [];
  let unreachable: string | null = null;
  for (const list of listsFor(countries)) {
    const failed = (problem: string): ListOutcome => ({
      ...list,
      itemCount: null,
      changes: NO_CHANGES,
      setAside: [],
      notices: [],
      problem,
    });
    if (unreachable !== null) {
      outcomes.push(failed(unreachable));
      continue;
    }
    const readAt = now();
    try {
      const { kind, country } = list;
      const read = await reader.list(
        { metaType: kind, ...(country === '' ? {} : { countryCode: country }) },
        signal,
      );
      const { setAside, notices } = read;
      const items = read.items.map(itemOf(kind));
      const changes = await saveReferenceList(db, list, { items, setAside, readAt });
      outcomes.push({
        ...list,
        itemCount: items.length,
        changes: changes ?? NO_CHANGES,
        setAside: setAside.map(({ place, reason }) => `item ${place} ${reason}`),
        notices,
        problem: null,
      });
    } catch (error) {
      if (!isPlatformError(error)) throw error;
      outcomes.push(failed(error.message));
      if (error instanceof PlatformUnreachable) unreachable = `not asked for, as ${error.message}`;
    }
  }
  return { lists: outcomes };
}
