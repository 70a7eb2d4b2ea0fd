/** Reads a JSON value by its JSON Schema, as far as the manifest's schema asks for it. */

export interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly default?: unknown;
}

/** The words that `readAs` obeys. A schema with any other must not be read by it. */
export const WORDS_KNOWN: readonly string[] = [
  ...['type', 'properties', 'required', 'items', 'minItems', 'anyOf', 'enum', 'const'],
  ...['pattern', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'default'],
];

export class Misfit extends Error {
  override readonly name = 'Misfit';
}

/** The value with the defaults that it lacks, and without keys that the schema does not have. Throws `Misfit`. */
export function readAs(schema: Schema, value: unknown): unknown {
  if (schema.anyOf !== undefined) return readAsAny(schema.anyOf, value);
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length > 0 && !types.some((type) => isOfType(type, value)))
    throw new Misfit(`no ${types.join(' or ')}: ${JSON.stringify(value)}`);
  if (!isAllowed(schema, value)) throw new Misfit(`not allowed: ${JSON.stringify(value)}`);
  const { items } = schema;
  if (Array.isArray(value)) return items === undefined ? value : value.map((item) => readAs(items, item));
  return typeof value === 'object' && value !== null ? readObject(schema, value) : value;
}

function readAsAny(schemas: readonly Schema[], value: unknown): unknown {
  for (const schema of schemas) {
    try {
      return readAs(schema, value);
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
    }
  }
  throw new Misfit(`fits none of what it may be: ${JSON.stringify(value)}`);
}

function readObject({ properties = {}, required = [] }: Schema, value: object): unknown {
  const given = new Map<string, unknown>(Object.entries(value));
  const read: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries(properties)) {
    if (given.has(key)) read[key] = readAs(schema, given.get(key));
    else if (schema.default !== undefined) read[key] = schema.default;
    else if (required.includes(key)) throw new Misfit(`${key} is missing`);
  }
  return read;
}

function isOfType(type: string, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isSafeInteger(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}

/** Whether the value is within what the schema says of one value: its words, bounds and length. */
function isAllowed(schema: Schema, value: unknown): boolean {
  if (schema.const !== undefined && value !== schema.const) return false;
  if (schema.enum !== undefined && !schema.enum.includes(value)) return false;
  if (typeof value === 'string')
    return schema.pattern === undefined || new RegExp(schema.pattern).test(value);
  if (Array.isArray(value)) return value.length >= (schema.minItems ?? 0);
  if (typeof value !== 'number') return true;
  return (
    value >= (schema.minimum ?? -Infinity) &&
    value <= (schema.maximum ?? Infinity) &&
    value > (schema.exclusiveMinimum ?? -Infinity) &&
    value < (schema.exclusiveMaximum ?? Infinity)
  );
}
