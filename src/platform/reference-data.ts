/** sp2502, metadata lists: asks for one list, and lets through only items that can be what was asked for (4.2). */
import { PlatformReplyInvalid } from './errors.ts';
import { cameOf, isPrintable, replyFields } from './reply.ts';
import type { Excerpt, Transport } from './transport.ts';
import { META_TYPES_BY_COUNTRY, NOTHING_FOUND_CODE, type MetaType } from './wire.ts';

/** Bounds of our own, as the document shows none: longer ones are no codes and names. */
const CODE_CHARACTERS_MAX = 64;
const NAME_CHARACTERS_MAX = 500;
/** A country has some thousands of banks at most. */
const LIST_LENGTH_MAX = 50_000;

/** An item of a list (platform-api.md 2.2). */
export interface MetaItem {
  readonly code: string;
  readonly name: string;
  /** Only payout methods have one. */
  readonly type: 'WALLET' | 'BANK' | null;
}

export interface ListQuery {
  readonly metaType: MetaType;
  /** ISO 3166-1 alpha-2; just for banks and payout methods (4.2). */
  readonly countryCode?: string;
}

export interface ReferenceReader {
  /**
   * One whole list; empty where the platform says that nothing is found (2.2). A list with one item that cannot be
   * read is refused whole, as the codes left out would seem to have disappeared. Rejects with a `PlatformError`, and
   * with the signal's reason when aborted; throws `RangeError` where a query breaks the contract.
   */
  readonly list: (query: ListQuery, signal?: AbortSignal) => Promise<MetaItem[]>;
}

/** The request's body (4.2): a country exactly where the list is one of a country. */
function requestOf({ metaType, countryCode }: ListQuery): object {
  if (META_TYPES_BY_COUNTRY.includes(metaType)) {
    if (!/^[A-Z]{2}$/.test(countryCode ?? '')) throw new RangeError(`${metaType} needs a country`);
    return { metaType, countryCode };
  }
  if (countryCode !== undefined) throw new RangeError(`${metaType} is not asked for by country`);
  return { metaType };
}

/** What keeps an element from being an item of the list (2.2), or null. */
function itemProblem(element: unknown, { metaType, countryCode }: ListQuery): string | null {
  if (typeof element !== 'object' || element === null) return 'is no object';
  const { code, name, type } = element as Record<string, unknown>;
  if (!isPrintable(code, CODE_CHARACTERS_MAX)) return 'has no code';
  if (!isPrintable(name, NAME_CHARACTERS_MAX)) return 'has no name';
  if (metaType === 'payout_method' && type !== 'WALLET' && type !== 'BANK') {
    return 'is a payout method of neither type WALLET nor BANK';
  }
  if (metaType === 'bank' && !code.toUpperCase().startsWith(countryCode!)) {
    return `is a bank whose code does not begin with ${countryCode!}`;
  }
  return null;
}

/** The items of a reply (2.2), without the single one that stands for nothing found. */
function itemsOf(text: string, excerpt: Excerpt, query: ListQuery): MetaItem[] {
  const { metaDataList } = replyFields(text, excerpt, ['metaDataList']);
  if (!Array.isArray(metaDataList)) {
    throw new PlatformReplyInvalid(`metaDataList is no list: ${cameOf(text, excerpt)}`);
  }
  if (metaDataList.length > LIST_LENGTH_MAX) {
    throw new PlatformReplyInvalid(`the list has more than ${LIST_LENGTH_MAX} items`);
  }
  const items = new Map<string, MetaItem>();
  for (const [index, element] of (metaDataList as unknown[]).entries()) {
    if ((element as { code?: unknown } | null)?.code === NOTHING_FOUND_CODE) continue;
    const problem = itemProblem(element, query);
    if (problem !== null) throw new PlatformReplyInvalid(`item ${index + 1} ${problem}`);
    const { code, name, type } = element as { code: string; name: string; type: 'WALLET' | 'BANK' };
    const item: MetaItem = { code, name, type: query.metaType === 'payout_method' ? type : null };
    const twin = items.get(code);
    if (twin !== undefined && (twin.name !== item.name || twin.type !== item.type)) {
      throw new PlatformReplyInvalid(`item ${index + 1} gives code ${code} a second meaning`);
    }
    items.set(code, item);
  }
  return [...items.values()];
}

/** Calls that belong to no merchant, as the document shows no authentication for them (5). */
export function createReferenceReader(transport: Transport): ReferenceReader {
  return {
    list: async (query, signal) => {
      const body = requestOf(query);
      const read = (text: string, excerpt: Excerpt) => itemsOf(text, excerpt, query);
      return transport.post(
        {
          operation: 'sp2502',
          access: { kind: 'agent' },
          repeatable: true,
          confidential: false,
          body,
          read,
        },
        signal,
      );
    },
  };
}
