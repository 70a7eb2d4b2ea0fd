/** How the sandbox does what the document leaves open. Each way is a setting. */
import { z } from 'zod';

const header = z.string().regex(/^[\t\x20-\x7e]*$/, 'must be text that a header may hold');

/** Only how things are written, never what they say. */
export const latitudeSchema = z.strictObject({
  /**
   * What stands around the fields of a reply or a notification (docs/platform.md 4, 6). `none`: nothing. `data` and
   * `result`: a field of that name. `list`: a list of one in `data`. `text`: JSON text in `data`. `nested`: `body` after
   * a `head` with the code.
   */
  envelope: z.enum(['none', 'data', 'result', 'list', 'text', 'nested']).default('none'),
  replyType: header.min(1).default('application/json; charset=utf-8'),
  /** Content type of notifications, which the document does not name; empty: no header. */
  pushType: header.default('application/json'),
  /** Codes and statuses that are digits come as JSON numbers. */
  codesAsNumbers: z.boolean().default(false),
  /** Whether fields come in the order of the document or in reverse. */
  fieldOrder: z.enum(['document', 'reversed']).default('document'),
  /** How an empty field is written. */
  nothing: z.enum(['empty', 'null', 'left-out']).default('empty'),
  /** Adds fields that the document does not show. */
  moreFields: z.boolean().default(false),
  /** Adds a slash to the callback address. */
  pushSlash: z.boolean().default(false),
  /** By which of its two words a receipt is known (docs/platform.md 4.3). */
  receipt: z.enum(['both', 'status', 'code']).default('both'),
  /** Characters of the numbers of applications and registrations. */
  flowCharacters: z.int().min(8).max(1_000).default(32),
  /** Blanks around numbers and codes, in replies and notifications. */
  padded: z.boolean().default(false),
  /** The number of a new merchant; six digits take the place of `{digits}`. */
  merchantNo: z.string().min(1).default('SANDBOX-2{digits}'),
  /** The code of a rejection (docs/platform.md 6.1). */
  rejectionCode: z.string().min(1).default('E30001'),
  /** How a notification is written: JSON; a form with its fields, or with JSON in one field; JSON in GBK. */
  pushBody: z.enum(['json', 'form', 'field', 'gbk']).default('json'),
  /** Takes requests with fields that the document does not show (sp1101, sp1401). */
  furtherFields: z.boolean().default(false),
  /** A list of sp2502: an array, the items by code, only their names by code, or an array as JSON text. */
  catalogue: z.enum(['array', 'object', 'map', 'text']).default('array'),
  /** What sp2502 answers where nothing is found: the item for it, an empty array, or null. */
  nothingFound: z.enum(['item', 'array', 'null']).default('item'),
  /** Which form images of sp1401 have to have. */
  images: z.enum(['any', 'path', 'base64', 'url']).default('any'),
  /** How sp1401 answers a number that it knows: as before, or by a refusal. */
  knownNumber: z.enum(['answer', 'refusal']).default('answer'),
  /** What `pageSize` of a ledger page repeats: the size asked for, or how many entries the page holds. */
  pageSizeEcho: z.enum(['asked', 'entries']).default('asked'),
  /** What a ledger page without entries calls itself: the page asked for, or page 0 of size 0, also with `list` null. */
  emptyPage: z.enum(['asked', 'zero', 'null']).default('asked'),
  /** What comes for a page beyond the last: one without entries, or the last one, under its own number. */
  pageBeyond: z.enum(['empty', 'last']).default('empty'),
  /** The batchNo of an entry: with letters, of digits alone, or these as a JSON number. */
  batchNo: z.enum(['letters', 'digits', 'number']).default('letters'),
  /** The amounts of an entry: JSON numbers, the same as text, or text with commas between thousands. */
  amounts: z.enum(['numbers', 'text', 'grouped']).default('numbers'),
  /** The amount that an entry does not have. */
  noAmount: z.enum(['null', 'empty', 'zero', 'left-out']).default('null'),
  currencyCase: z.enum(['upper', 'lower']).default('upper'),
  /** What follows the seconds of busiDate: nothing, `.000`, or other thousandths. */
  secondParts: z.enum(['none', 'zeros', 'thousandths']).default('none'),
});
export type Latitude = z.output<typeof latitudeSchema>;
export const LATITUDE_DEFAULTS: Latitude = latitudeSchema.parse({});

const CODES = ['code', 'status', 'respCode'];
const NUMBERS = ['bizFlow', 'bizFlowNo', 'merOrderNo', 'payeeId', 'merchantNo', 'token'];
/** A code of digits as a number. A status `01` becomes 1; any other code with a leading zero stays text. */
const asNumber = (name: string, text: string): string | number => {
  const isCode = name === 'status' ? /^\d+$/.test(text) : /^[1-9]\d*$/.test(text);
  return CODES.includes(name) && isCode ? Number(text) : text;
};

function spelt(node: unknown, latitude: Latitude): unknown {
  if (Array.isArray(node)) return node.map((element) => spelt(element, latitude));
  if (typeof node !== 'object' || node === null) return node;
  const { codesAsNumbers, fieldOrder, nothing, moreFields, padded } = latitude;
  const fields = Object.entries(node).flatMap(([name, value]): [string, unknown][] => {
    if (value === '' && nothing !== 'empty') return nothing === 'null' ? [[name, null]] : [];
    const written: unknown = codesAsNumbers && typeof value === 'string' ? asNumber(name, value) : value;
    const isPadded = padded && typeof written === 'string' && [...CODES, ...NUMBERS].includes(name);
    return [[name, isPadded ? ` ${written} ` : spelt(written, latitude)]];
  });
  if (moreFields) fields.push(['traceId', '7f3a'], ['extension', { note: null }]);
  return Object.fromEntries(fieldOrder === 'document' ? fields : fields.reverse());
}

/** The JSON text of a reply or a notification. */
export const spell = (said: object, latitude: Latitude): string =>
  enclose(JSON.stringify(spelt(said, latitude)), latitude);

/** Puts JSON text into the envelope, whose own code says that the call went well. */
export function enclose(text: string, { envelope, codesAsNumbers }: Latitude): string {
  const head = `"code":${codesAsNumbers ? '200' : '"0"'},"message":"ok"`;
  switch (envelope) {
    case 'none':
      return text;
    case 'list':
      return `{${head},"data":[${text}]}`;
    case 'text':
      return `{${head},"data":${JSON.stringify(text)}}`;
    case 'nested':
      return `{"head":{${head}},"body":${text}}`;
    case 'data':
    case 'result':
      return `{${head},"${envelope}":${text}}`;
  }
}

/** The bytes of a notification. */
export function pushed(payload: object, latitude: Latitude): Uint8Array<ArrayBuffer> {
  const text = spell(payload, latitude);
  switch (latitude.pushBody) {
    case 'json':
      return Buffer.from(text);
    case 'form':
      return Buffer.from(String(new URLSearchParams(spelt(payload, latitude) as Record<string, string>)));
    case 'field':
      return Buffer.from(String(new URLSearchParams({ data: text })));
    case 'gbk':
      return inGbk(text);
  }
}

/** GBK has two bytes for each character beyond ASCII. What it does not have becomes a question mark. */
function inGbk(text: string): Uint8Array<ArrayBuffer> {
  const decoder = new TextDecoder('gbk');
  const bytesOf = new Map<string, readonly number[]>();
  for (let lead = 0x81; lead <= 0xfe; lead += 1)
    for (let trail = 0x40; trail <= 0xfe; trail += 1)
      bytesOf.set(decoder.decode(Uint8Array.of(lead, trail)), [lead, trail]);
  return Uint8Array.from(
    Array.from(text).flatMap((character) =>
      character < '\u0080' ? [character.charCodeAt(0)] : [...(bytesOf.get(character) ?? [0x3f])],
    ),
  );
}
