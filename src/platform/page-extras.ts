/**
 * What an empty page carries next to its own fields. The document shows no refusal (docs/platform.md 7), and its fields may have
 * any name, so an empty page with something next to it is not believed by itself. What pages with entries carry as well
 * says nothing, nor what a page of any platform may have: figures of paging, numbers of calls and times, a word of success.
 */
import { ONLY_ELEMENT } from './exact-json.ts';
import type { ExtraField, PageExtras } from './ledger-reader.ts';
import { saysOutcome, valueText, type Layer } from './reply.ts';

const plainName = (name: string): string => name.toLowerCase().replace(/[_-]/g, '');

/** Figures that lists of records have: how many, from where to where, and whether others follow. */
const OF_PAGING =
  /^(?:(?:page|cur|current|curr)?(?:num|no|number|index|page|size|limit|offset|rows?|current)|pages?|pagesize|totalpages?|(?:total)?(?:count|records?|rows|elements|size|num)|numberofelements|size|limit|offset|startrow|endrow|first|last|empty|(?:pre|prev|previous|next|first|last)page|(?:is|has)(?:first|last|next|pre|prev|previous|more)(?:page)?|hasmore|more|navigate\w*|orders?|orderby|sort|sorted|searchcount|optimizecountsql|hitcount|maxlimit|countid|list|data|records|items|result|results)$/;

/** Names of calls and times, if their value is no sentence. */
const OF_CALL =
  /(?:trace|request|req|span|log|correlation|nonce|sign|signature|serial|seq|time|timestamp|ts|date|cost|costs|took|elapsed|duration|ms|version|lang|locale|zone|server|host|node)(?:id|no|num|ms)?$/;

const IDENTIFIER =
  /^(?:[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|[0-9a-f]{16,}|\d{10,}|\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?)$/i;

const SUCCESS =
  /^(?:[a-z]+ ){0,3}(?:success|successful|successfully|succeeded|ok|okay)[.!]?$|^[\p{Script=Han}]{0,6}成功[。！!]?$/iu;
const FAILURE = /\b(?:not|no|non|un\w+|in\w+|without|fail\w*|never|partly)\b|[不未没無无非败敗]/i;
/** Digits say yes under the name of a code; under another name they may mean no. */
const OF_CODES = /(?:code|cd|rc|ret|errno|err|status|http)$/;

const isDigits = (text: string): boolean => /^-?\d+(?:\.\d+)?$/.test(text);

function isWordOfSuccess(name: string, text: string, isSuccess: (code: string) => boolean): boolean {
  if (text === 'true') return true;
  if (isSuccess(text)) return !isDigits(text) || OF_CODES.test(name);
  return SUCCESS.test(text) && !FAILURE.test(text);
}

function saysNothing(field: ExtraField, isSuccess: (code: string) => boolean): boolean {
  const name = plainName(field.name);
  const text = field.value.trim();
  if (text === '' || text === 'null' || text === '[]' || text === '{}') return true;
  if (OF_PAGING.test(name) && (isDigits(text) || /^(?:true|false|\[["\d,]*\])$/.test(text))) return true;
  if (IDENTIFIER.test(text)) return true;
  if (OF_CALL.test(name) && /\d/.test(text) && !/\s[a-z]/i.test(text)) return true;
  return isWordOfSuccess(name, text, isSuccess);
}

/** The fields next to the page that could say no. `page` is the object with the page, one of the layers. */
export function extrasOf(
  layers: readonly Layer[],
  page: Layer,
  own: readonly string[],
  isSuccess: (code: string) => boolean,
): PageExtras {
  const pathOf = ({ text }: Layer, path: readonly string[]): string => [text.length, ...path].join('\n');
  const opened = new Set(layers.map((layer) => pathOf(layer, layer.path)));
  const isOpened = (layer: Layer, name: string): boolean =>
    [[name], [name, ONLY_ELEMENT]].some((inner) => opened.has(pathOf(layer, [...layer.path, ...inner])));
  const all = layers.flatMap((layer) =>
    Object.entries(layer.fields)
      .filter(([name]) => !(layer === page && own.includes(name)) && !isOpened(layer, name))
      .map(([name, value]): ExtraField => ({ name, value: valueText(value, layer.json) }))
      // A text of JSON is an envelope.
      .filter(({ value }) => !/^\s*[{[]"?\w*"?:/.test(value)),
  );
  const outcomes = all.filter(({ name }) => saysOutcome(name));
  return {
    fields: all.filter((field) => !outcomes.includes(field) && !saysNothing(field, isSuccess)),
    saysYes: outcomes.some(({ value }) => isWordOfSuccess('code', value.trim(), isSuccess)),
  };
}

/** Most names, and most values of each, that are remembered of pages with entries. */
const NAMES_MAX = 200;
const VALUES_MAX = 20;

/** What pages with entries carried next to them. */
export function createHabits() {
  const known = new Map<string, Set<string>>();
  return {
    learn: (fields: readonly ExtraField[]): void => {
      for (const { name, value } of fields) {
        const values = known.get(name) ?? new Set();
        if (values.size < VALUES_MAX) values.add(value);
        if (known.size < NAMES_MAX) known.set(name, values);
      }
    },
    unknown: (fields: readonly ExtraField[]): ExtraField[] =>
      fields.filter(({ name, value }) => known.get(name)?.has(value) !== true),
  };
}
