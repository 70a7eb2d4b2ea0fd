/**
 * Finds in a reply what says that the platform refused. The document shows no error reply (docs/platform.md 7), so the
 * usual names of codes, statuses and flags are read, in each object around the data.
 */
import type { Layer } from './reply.ts';

/** Names are compared in lower case and without `_` and `-`. */
const CODES = new Set(
  'code respcode responsecode rspcode retcode returncode rtncode resultcode rescode statuscode bizcode subcode'.split(
    ' ',
  ),
);
const STATUSES = new Set(
  'status respstatus responsestatus resultstatus returnstatus result state'.split(' '),
);
const FLAGS = new Set('success issuccess successful succeeded ok'.split(' '));
const ERRORS = new Set(
  'error errors err errorcode errcode errno errorno failure failed fault exception'.split(' '),
);

const YES = /^(?:1|y|yes)$/i;
const NO_ERROR = /^(?:false|none|no|null)$/i;

const kindOf = (name: string): ReadonlySet<string> | undefined => {
  const plain = name.toLowerCase().replace(/[_-]/g, '');
  return [CODES, STATUSES, FLAGS, ERRORS].find((names) => names.has(plain));
};

/** Whether the value of an outcome field says no. */
function saysNo(kind: ReadonlySet<string>, value: unknown, isSuccess: (code: string) => boolean): boolean {
  if (typeof value === 'boolean') return kind === ERRORS ? value : !value;
  // Objects and lists under another name are envelopes.
  if (typeof value === 'object' && value !== null) return kind === ERRORS && Object.keys(value).length > 0;
  if (typeof value !== 'string' || value.trim() === '') return false;
  const text = value.trim();
  if (isSuccess(text)) return false;
  if (kind === FLAGS) return !YES.test(text);
  if (kind === ERRORS) return !NO_ERROR.test(text);
  // A text of JSON is an envelope.
  return !/^[{[]/.test(text);
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
      if (kind === undefined || (hasState && kind === STATUSES)) continue;
      if (saysNo(kind, json.digitsOf(given) ?? given, isSuccess)) return name;
    }
  }
  return null;
}
