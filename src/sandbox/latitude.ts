/** What the document leaves open, and how this platform has it: spelling alone, never what is said. */
import { z } from 'zod';

export const latitudeSchema = z.strictObject({
  /** What stands around a reply's, and a notification's, fields (docs/platform.md 4, 6). */
  envelope: z.enum(['none', 'data', 'result']).default('none'),
  /** Content type of replies. */
  replyType: z.string().min(1).default('application/json; charset=utf-8'),
  /** Content type of notifications, which the document does not name; empty: none. */
  pushType: z.string().default('application/json'),
  /** Codes and statuses of digits as JSON numbers. */
  codesAsNumbers: z.boolean().default(false),
  /** Fields in the document's order, or the other way round. */
  fieldOrder: z.enum(['document', 'reversed']).default('document'),
  /** A field with nothing in it. */
  nothing: z.enum(['empty', 'null', 'left-out']).default('empty'),
  /** Fields the document does not show beside those it does. */
  moreFields: z.boolean().default(false),
  /** A slash behind the callback address. */
  pushSlash: z.boolean().default(false),
});
export type Latitude = z.output<typeof latitudeSchema>;
export const LATITUDE_DEFAULTS: Latitude = latitudeSchema.parse({});

const CODES = ['code', 'status', 'respCode'];
/** What a code of digits is as a number: `01` loses its zero in a status, and is kept as text among catalog codes. */
const asNumber = (name: string, text: string): string | number => {
  const isCode = name === 'status' ? /^\d+$/.test(text) : /^[1-9]\d*$/.test(text);
  return CODES.includes(name) && isCode ? Number(text) : text;
};

function spelt(node: unknown, latitude: Latitude): unknown {
  if (Array.isArray(node)) return node.map((element) => spelt(element, latitude));
  if (typeof node !== 'object' || node === null) return node;
  const { codesAsNumbers, fieldOrder, nothing, moreFields } = latitude;
  const fields = Object.entries(node).flatMap(([name, value]): [string, unknown][] => {
    if (value === '' && nothing !== 'empty') return nothing === 'null' ? [[name, null]] : [];
    const isNumber = codesAsNumbers && typeof value === 'string';
    return [[name, isNumber ? asNumber(name, value) : spelt(value, latitude)]];
  });
  if (moreFields) fields.push(['traceId', '7f3a'], ['extension', { note: null }]);
  return Object.fromEntries(fieldOrder === 'document' ? fields : fields.reverse());
}

/** A reply's or a notification's JSON text. */
export const spell = (said: object, latitude: Latitude): string =>
  enclose(JSON.stringify(spelt(said, latitude)), latitude);

/** JSON text in the envelope, whose own code says that the call went well. */
export function enclose(text: string, { envelope, codesAsNumbers }: Latitude): string {
  if (envelope === 'none') return text;
  return `{"code":${codesAsNumbers ? '200' : '"0"'},"message":"ok","${envelope}":${text}}`;
}
