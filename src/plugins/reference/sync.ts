/**
 * Reads the platform's lists and stores them: the five of sp2502, two of them for each country (docs/platform.md
 * 4.2).
 */
import type { Kysely } from 'kysely';
import { isPlatformError, PlatformUnreachable } from '../../platform/errors.ts';
import type { MetaItem, ReferenceReader } from './client.ts';
import { META_TYPES, META_TYPES_BY_COUNTRY, NATURE_PROMPT_CODE, type MetaType } from '../../platform/wire.ts';
import {
  NO_CHANGES,
  saveReferenceList,
  type ReferenceChanges,
  type ReferenceItem,
  type ReferenceListKey,
} from './stored.ts';
import type { DB } from '../../store/engine/schema.ts';

export interface ListOutcome extends ReferenceListKey {
  /** Null if the list could not be read. What was stored before is kept. */
  readonly itemCount: number | null;
  readonly changes: ReferenceChanges;
  /** Items that could not be stored, each with its position and what is wrong with it. The other items were read. */
  readonly setAside: readonly string[];
  /** One sentence for each oddity of items that were stored. */
  readonly notices: readonly string[];
  /** A sentence that says why the list could not be read; null if it was. */
  readonly problem: string | null;
}

export interface ReferenceSyncReport {
  readonly lists: readonly ListOutcome[];
}

export interface ReferenceSync {
  readonly db: Kysely<DB>;
  readonly reader: ReferenceReader;
  /** ISO alpha-2 codes of the countries whose banks and payout methods are read. */
  readonly countries: readonly string[];
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

interface List {
  readonly kind: MetaType;
  /** '' for a list that belongs to no country. */
  readonly country: string;
}

/** All lists for the given countries, in a fixed order (docs/platform.md 4.2). */
export function listsFor(countries: readonly string[]): List[] {
  const each = [...new Set(countries)].sort();
  return META_TYPES.flatMap((kind) =>
    META_TYPES_BY_COUNTRY.includes(kind)
      ? each.map((country) => ({ kind, country }))
      : [{ kind, country: '' }],
  );
}

/**
 * Among business natures, `OTHER` asks for text of one's own and is not a business nature itself (docs/platform.md
 * 2.2).
 */
const itemOf =
  (kind: MetaType) =>
  ({ code, name, type }: MetaItem): ReferenceItem => ({
    code,
    name,
    methodType: type,
    isPrompt: kind === 'business_nature' && code === NATURE_PROMPT_CODE,
  });

/**
 * Reads every list once. If a list cannot be read, the report says so and the stored list is kept. If the platform
 * cannot be reached at all, the remaining lists are not asked for. Rejects with the signal's reason, or if the store
 * fails.
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
