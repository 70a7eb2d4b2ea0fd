/**
 * sp2502, metadata lists: asks for one list, keeps the items that can be what was asked for, and tells the
 * others (docs/platform.md 4.2).
 */
import { storableText } from '../ledger/text.ts';
import { PlatformReplyInvalid } from './errors.ts';
import { cameOf, isPrintable, openReply, type ReplyFields } from './reply.ts';
import type { Excerpt, Transport } from './transport.ts';
import { META_TYPES_BY_COUNTRY, NOTHING_FOUND_CODE, type MetaType } from './wire.ts';

/** A bound of our own, as the document shows none: longer ones are no codes. */
const CODE_CHARACTERS_MAX = 64;
/** A longer name is kept, and told. */
const NAME_CHARACTERS_MAX = 500;
/** A country has some thousands of banks at most. */
const LIST_LENGTH_MAX = 50_000;

/** An item of a list (docs/platform.md 2.2). */
export interface MetaItem {
  readonly code: string;
  readonly name: string;
  /** Only payout methods have one. */
  readonly type: 'WALLET' | 'BANK' | null;
}

/** An item that cannot be kept, as it came. */
export interface ItemSetAside {
  /** From 1. */
  readonly place: number;
  /** What is wrong with it, to be read after its place: `has no code`. */
  readonly reason: string;
  /** Its JSON, numbers as text. */
  readonly raw: string;
  /** Null where it cannot be told: it may be any code that the list seems to lack. */
  readonly code: string | null;
}

export interface MetaList {
  readonly items: readonly MetaItem[];
  readonly setAside: readonly ItemSetAside[];
  /** Oddities of items that were kept, a sentence each: `the name of CN1 is empty`. */
  readonly notices: readonly string[];
}

export interface ListQuery {
  readonly metaType: MetaType;
  /** ISO 3166-1 alpha-2; just for banks and payout methods (docs/platform.md 4.2). */
  readonly countryCode?: string;
}

export interface ReferenceReader {
  /**
   * One whole list; empty where the platform says that nothing is found (docs/platform.md 2.2). An item that
   * cannot be kept is set aside; a list of which no item can be is refused whole. Rejects with a
   * `PlatformError`, and with the signal's reason when aborted; throws `RangeError` where a query breaks the
   * contract.
   */
  readonly list: (query: ListQuery, signal?: AbortSignal) => Promise<MetaList>;
}

/** The request's body (docs/platform.md 4.2): a country exactly where the list is one of a country. */
function requestOf({ metaType, countryCode }: ListQuery): object {
  if (META_TYPES_BY_COUNTRY.includes(metaType)) {
    if (!/^[A-Z]{2}$/.test(countryCode ?? '')) throw new RangeError(`${metaType} needs a country`);
    return { metaType, countryCode };
  }
  if (countryCode !== undefined) throw new RangeError(`${metaType} is not asked for by country`);
  return { metaType };
}

/** What keeps an element from being an item of the list (docs/platform.md 2.2), or null. */
function itemProblem(element: unknown, { metaType, countryCode }: ListQuery): string | null {
  if (typeof element !== 'object' || element === null) return 'is no object';
  const { code, name, type } = element as Record<string, unknown>;
  if (!isPrintable(code, CODE_CHARACTERS_MAX)) return 'has no code';
  if (typeof name === 'object' && name !== null) return 'has a name that is no text';
  if (metaType === 'payout_method' && type !== 'WALLET' && type !== 'BANK') {
    return 'is a payout method of neither type WALLET nor BANK';
  }
  if (metaType === 'bank' && !code.toUpperCase().startsWith(countryCode!)) {
    return `is a bank whose code does not begin with ${countryCode!}`;
  }
  return null;
}

/** What is odd about a name that is kept all the same, or null. */
function nameNotice(name: string): string | null {
  if (name.trim() === '') return 'is empty';
  if (/\p{C}/u.test(name)) return 'holds characters that are not printed';
  if (name.trim() !== name) return 'begins or ends with a blank';
  return name.length > NAME_CHARACTERS_MAX ? `has more than ${NAME_CHARACTERS_MAX} characters` : null;
}

/**
 * The list's elements: it is described as an object and returned as an array (docs/platform.md 2.2), so
 * either may come.
 */
function elementsOf(metaDataList: unknown): readonly unknown[] | null {
  if (Array.isArray(metaDataList)) return metaDataList as unknown[];
  if (typeof metaDataList !== 'object' || metaDataList === null) return null;
  if ('code' in metaDataList) return [metaDataList];
  const values: unknown[] = Object.values(metaDataList);
  const [only] = values;
  return values.length === 1 && Array.isArray(only) ? (only as unknown[]) : values;
}

const codeOf = (element: unknown): string | null => {
  const code = (element as ReplyFields | null)?.['code'];
  return isPrintable(code, CODE_CHARACTERS_MAX) ? code : null;
};

/** The items of a reply (docs/platform.md 2.2), without the single one that stands for nothing found. */
function listOf(text: string, excerpt: Excerpt, query: ListQuery): MetaList {
  const elements = elementsOf(openReply(text, excerpt, ['metaDataList']).field('metaDataList'));
  if (elements === null) throw new PlatformReplyInvalid(`metaDataList is no list: ${cameOf(text, excerpt)}`);
  if (elements.length > LIST_LENGTH_MAX) {
    throw new PlatformReplyInvalid(`the list has more than ${LIST_LENGTH_MAX} items`);
  }
  const items = new Map<string, MetaItem>();
  const setAside: ItemSetAside[] = [];
  const notices: string[] = [];
  for (const [index, element] of elements.entries()) {
    const code = codeOf(element);
    if (code === NOTHING_FOUND_CODE) continue;
    const item = itemProblem(element, query) ?? itemOf(element as ReplyFields, query);
    const reason = typeof item === 'string' ? item : secondMeaning(items, item);
    if (reason !== null || typeof item === 'string') {
      setAside.push({ place: index + 1, reason: reason!, raw: JSON.stringify(element), code });
      continue;
    }
    const notice = nameNotice(item.name);
    if (notice !== null && !items.has(item.code)) notices.push(`the name of ${item.code} ${notice}`);
    items.set(item.code, item);
  }
  const [first] = setAside;
  if (items.size === 0 && first !== undefined) {
    throw new PlatformReplyInvalid(`no item can be read: item ${first.place} ${first.reason}`);
  }
  return { items: [...items.values()], setAside, notices };
}

const itemOf = ({ code, name, type }: ReplyFields, { metaType }: ListQuery): MetaItem => ({
  code: code as string,
  name: storableText(typeof name === 'boolean' ? String(name) : ((name as string | null | undefined) ?? '')),
  type: metaType === 'payout_method' ? (type as 'WALLET' | 'BANK') : null,
});

function secondMeaning(items: ReadonlyMap<string, MetaItem>, { code, name, type }: MetaItem): string | null {
  const twin = items.get(code);
  return twin === undefined || (twin.name === name && twin.type === type)
    ? null
    : `gives code ${code} a second meaning`;
}

/**
 * Calls that belong to no merchant, as the document shows no authentication for them (docs/platform.md 5).
 */
export function createReferenceReader(transport: Transport): ReferenceReader {
  return {
    list: async (query, signal) => {
      const body = requestOf(query);
      const read = (text: string, excerpt: Excerpt) => listOf(text, excerpt, query);
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
