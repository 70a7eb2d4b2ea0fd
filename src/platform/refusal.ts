/**
 * Finds in a reply what says that the platform refused. The document shows no error reply (docs/platform.md 7), so the
 * usual names of codes, statuses and flags are read, in each object around the data.
 */
import type { Layer } from './reply.ts';

type Kind = 'code' | 'status' | 'flag' | 'error';

/** Compared in lower case and without `_` and `-`. */
const NAMES: readonly (readonly [Kind, RegExp])[] = [
  ['error', /^(?:has|is)?(?:err|fail|fault|exception)/],
  ['code', /^(?:(?:resp|response|rsp|res|ret|return|rtn|result|status|biz|sub)?(?:code|cd)|ret)$/],
  ['status', /^(?:(?:resp|response|result|return)?status|result|state)$/],
  ['flag', /^(?:is)?(?:success|successful|succeeded|ok)$/],
];

const YES = /^(?:1|y|yes)$/i;
const NO = /^(?:0+|false|none|no|null)$/i;
const TRUE = /^true$/i;

const kindOf = (name: string): Kind | undefined => {
  const plain = name.toLowerCase().replace(/[_-]/g, '');
  return NAMES.find(([, pattern]) => pattern.test(plain))?.[0];
};

/** Whether the value of an outcome field says no. */
function saysNo(kind: Kind, value: unknown, isSuccess: (code: string) => boolean): boolean {
  if (typeof value === 'boolean') return (kind === 'error') === value;
  // Objects and lists under another name are envelopes.
  if (typeof value === 'object' && value !== null) return kind === 'error' && Object.keys(value).length > 0;
  if (typeof value !== 'string' || value.trim() === '') return false;
  const text = value.trim();
  if (kind === 'flag') return NO.test(text) || !(YES.test(text) || isSuccess(text));
  if (kind === 'error') return TRUE.test(text) || !(NO.test(text) || isSuccess(text));
  // A text of JSON is an envelope.
  return !isSuccess(text) && !/^[{[]/.test(text);
}

/** The name of the first field that says no; null where none does. With `hasState`, statuses are not read. */
export function refusalIn(
  layers: readonly Layer[],
  isSuccess: (code: string) => boolean,
  hasState = false,
): string | null {
  for (const { fields, json } of layers) {
    for (const [name, given] of Object.entries(fields)) {
      const kind = kindOf(name);
      if (kind === undefined || (hasState && kind === 'status')) continue;
      if (saysNo(kind, json.digitsOf(given) ?? given, isSuccess)) return name;
    }
  }
  return null;
}
