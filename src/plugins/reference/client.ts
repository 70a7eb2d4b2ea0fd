/**
 * sp2502, metadata lists: asks for one list and checks its items. Items that cannot be used are returned apart, with
 * the reason (docs/platform.md 4.2).
 */
import { storableText } from '../../ledger/text.ts';
import { PlatformReplyInvalid } from '../../platform/errors.ts';
import { cameOf, isPrintable, jsonIn, openReply, type ReplyFields } from '../../platform/reply.ts';
import type { ReplyContext, Transport } from '../../platform/transport.ts';
import {
  META_TYPES_BY_COUNTRY,
  NATURE_PROMPT_CODE,
  NOTHING_FOUND_CODE,
  type MetaType,
} from '../../platform/wire.ts';

/** A limit of our own, as the document has none. Anything longer is no code. */
const CODE_CHARACTERS_MAX = 64;
/** A longer name is kept, with a notice. */
const NAME_CHARACTERS_MAX = 500;
/** No country has more than a few thousand banks. */
const LIST_LENGTH_MAX = 50_000;
/** How deep JSON text may lie in JSON text. */
const TEXTS_MAX = 3;

const REPLY = { expected: ['metaDataList'], data: ['metaDataList'] };

export interface MetaItem {
  readonly code: string;
  readonly name: string;
  /** Only payout methods have one. */
  readonly type: 'WALLET' | 'BANK' | null;
}

/** An unusable item, as received. */
export interface ItemSetAside {
  /** Its position in the list, from 1. */
  readonly place: number;
  /** What is wrong with it, as the end of a sentence that begins with its place: `has no code`. */
  readonly reason: string;
  /** Its JSON, with numbers as text. */
  readonly raw: string;
  /** Null if it has no readable code. Then it may be any item that is missing from the list. */
  readonly code: string | null;
}

export interface MetaList {
  readonly items: readonly MetaItem[];
  readonly setAside: readonly ItemSetAside[];
  /** Oddities of items that were kept, one sentence each: `the name of CN1 is empty`. */
  readonly notices: readonly string[];
}

export interface ListQuery {
  readonly metaType: MetaType;
  /** ISO 3166-1 alpha-2. Only for banks and payout methods (docs/platform.md 4.2). */
  readonly countryCode?: string;
}

export interface ReferenceReader {
  /**
   * One complete list; empty if the platform says that nothing is found (docs/platform.md 2.2). Unusable items are set
   * aside. If no item at all is usable, the list is refused. Rejects with a `PlatformError`, or with the
   * signal's reason when aborted. Throws `RangeError` if a query breaks the contract.
   */
  readonly list: (query: ListQuery, signal?: AbortSignal) => Promise<MetaList>;
}

/** The request's body (docs/platform.md 4.2). It has a country only if the list is one per country. */
function requestOf({ metaType, countryCode }: ListQuery): object {
  if (META_TYPES_BY_COUNTRY.includes(metaType)) {
    if (!/^[A-Z]{2}$/.test(countryCode ?? '')) throw new RangeError(`${metaType} needs a country`);
    return { metaType, countryCode };
  }
  if (countryCode !== undefined) throw new RangeError(`${metaType} is not asked for by country`);
  return { metaType };
}

/** Why an element cannot be an item of the list (docs/platform.md 2.2); null if it can. */
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

/** What is odd about a name that is kept nevertheless, or null. */
function nameNotice(name: string): string | null {
  if (name.trim() === '') return 'is empty';
  if (/\p{C}/u.test(name)) return 'holds characters that are not printed';
  if (name.trim() !== name) return 'begins or ends with a blank';
  return name.length > NAME_CHARACTERS_MAX ? `has more than ${NAME_CHARACTERS_MAX} characters` : null;
}

/** What is in a text of JSON, or in one within it; an empty text holds nothing. */
function unfolded(value: unknown): unknown {
  let inner = value;
  for (let depth = 0; typeof inner === 'string' && depth < TEXTS_MAX; depth += 1)
    inner = inner.trim() === '' ? null : jsonIn(inner);
  return inner;
}

/**
 * The list's elements; null if it is none. The document describes an object and shows an array (docs/platform.md 2.2),
 * so either may come, or JSON text of them. Null is a list of nothing.
 */
function elementsOf(metaDataList: unknown): readonly unknown[] | null {
  const list = unfolded(metaDataList);
  if (list === null) return [];
  if (Array.isArray(list))
    return list.map((element: unknown) =>
      typeof element === 'string' && element.trimStart().startsWith('{') ? unfolded(element) : element,
    );
  if (typeof list !== 'object') return null;
  if ('code' in list) return [list];
  const values: unknown[] = Object.values(list);
  const [only] = values;
  return values.length === 1 && Array.isArray(only) ? (only as unknown[]) : itemsByCode(list);
}

/**
 * Items or names by their codes; null if it is neither. A field of an error has a text, too, but no digit in its name:
 * all codes of a list without types have one, except for the prompt.
 */
function itemsByCode(list: object): readonly unknown[] | null {
  const entries = Object.entries(list) as [string, unknown][];
  if (entries.some(([, value]) => typeof value !== 'string' && value !== null))
    return entries.map(([code, item]) => (typeof item === 'object' ? { code, ...item } : item));
  return entries.every(([code]) => /\d/.test(code) || code === NATURE_PROMPT_CODE)
    ? entries.map(([code, name]) => ({ code, name }))
    : null;
}

const codeOf = (element: unknown): string | null => {
  const code = (element as ReplyFields | null)?.['code'];
  return isPrintable(code, CODE_CHARACTERS_MAX) ? code : null;
};

/** The items of a reply (docs/platform.md 2.2), without the one that means 'nothing found'. */
function listOf(text: string, context: ReplyContext, query: ListQuery): MetaList {
  const { layers, field } = openReply(text, context, REPLY);
  const isThere = layers.some((layer) => 'metaDataList' in layer);
  const elements = elementsOf(field('metaDataList') ?? (isThere ? null : undefined));
  if (elements === null)
    throw new PlatformReplyInvalid(`metaDataList is no list: ${cameOf(text, context.excerpt)}`);
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
  // An error in place of an item has a code as well. Believed, it would take all others off the list.
  if (items.size > 0 && elements.every((element) => (element as ReplyFields | null)?.['name'] === undefined))
    throw new PlatformReplyInvalid(`no item has a name: ${cameOf(text, context.excerpt)}`);
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

/** These calls belong to no merchant: the document shows no authentication for them (docs/platform.md 5). */
export function createReferenceReader(transport: Transport): ReferenceReader {
  return {
    list: async (query, signal) => {
      const body = requestOf(query);
      const read = (text: string, context: ReplyContext) => listOf(text, context, query);
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
