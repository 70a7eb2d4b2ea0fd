/**
 * How a published JSON document is read: every field exactly as its shape says, or not at all. Fields that no shape has are left
 * out, as a later version may add some.
 */

/** A value is not what its shape says. The message names the place: `statements[0].opening has to be an amount, and is "x"`. */
export class Misfit extends Error {
  override readonly name = 'Misfit';
}

export interface Shape<T> {
  /** `at`: where the value stands in the document. Throws `Misfit`. */
  readonly read: (value: unknown, at: string) => T;
  /** As docs/reference names it: `string`, `integer or null`. */
  readonly type: string;
  /** Of an object, or of the objects of a list: what it holds. */
  readonly fields?: Fields;
  readonly isList?: true;
  readonly isOptional?: true;
}

interface Optional<T> extends Shape<T> {
  readonly isOptional: true;
}

type Fields = Readonly<Record<string, Shape<unknown>>>;

/** What a shape reads. */
export type Read<S> = S extends Shape<infer T> ? T : never;

type Optionals<F> = { [K in keyof F]: F[K] extends Optional<unknown> ? K : never }[keyof F];

type ReadFields<F> = { [K in Exclude<keyof F, Optionals<F>>]: Read<F[K]> } & {
  [K in Optionals<F>]?: Read<F[K]> | undefined;
};

const misfit = (at: string, what: string, value: unknown): Misfit =>
  new Misfit(`${at} has to be ${what}, and is ${JSON.stringify(value)}`);

function checked<T>(type: string, what: string, fits: (value: unknown) => boolean): Shape<T> {
  const read = (value: unknown, at: string): T => {
    if (!fits(value)) throw misfit(at, what, value);
    return value as T;
  };
  return { type, read };
}

const isText = (value: unknown): value is string => typeof value === 'string';

export const text = checked<string>('string', 'a text', isText);

export const textLike = (what: string, fits: (value: string) => boolean): Shape<string> =>
  checked('string', what, (value) => isText(value) && fits(value));

export const sha256 = textLike('a SHA-256 in hex', (value) => /^[0-9a-f]{64}$/.test(value));

export const amount = textLike('an amount', (value) => /^-?\d+(\.\d+)?$/.test(value));

export const flag = checked<boolean>('boolean', 'true or false', (value) => typeof value === 'boolean');

export const number = checked<number>('number', 'a number', Number.isFinite);

/** Above 0 and below 1. */
export const share = checked<number>(
  'number',
  'a number above 0 and below 1',
  (value) => typeof value === 'number' && value > 0 && value < 1,
);

/** An integer that JavaScript holds exactly. */
export const integer = (least: number, most = Number.MAX_SAFE_INTEGER): Shape<number> =>
  checked(
    'integer',
    `an integer from ${least} to ${most}`,
    (value) => Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most,
  );

/** One of these texts. */
export const oneOf = <const T extends string>(...texts: readonly T[]): Shape<T> => {
  const types = texts.map((one) => `\`${one}\``).join(', ');
  return checked(types, texts.join(' or '), (value) => texts.some((one) => one === value));
};

export const orNull = <T>(shape: Shape<T>): Shape<T | null> => ({
  ...shape,
  type: `${shape.type} or null`,
  read: (value, at) => (value === null ? null : shape.read(value, at)),
});

export const optional = <T>(shape: Shape<T>): Optional<T> => ({ ...shape, isOptional: true });

export const listOf = <T>(shape: Shape<T>, least = 0): Shape<T[]> => ({
  type: 'array',
  isList: true,
  ...(shape.fields && { fields: shape.fields }),
  read: (value, at) => {
    if (!Array.isArray(value) || value.length < least)
      throw misfit(at, least === 0 ? 'a list' : `a list of ${least} or more`, value);
    return value.map((item: unknown, index) => shape.read(item, `${at}[${index}]`));
  },
});

export const objectOf = <const F extends Fields>(fields: F): Shape<ReadFields<F>> => ({
  type: 'object',
  fields,
  read: (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw misfit(at === '' ? 'the document' : at, 'an object', value);
    const given = new Map<string, unknown>(Object.entries(value));
    const read: Record<string, unknown> = {};
    for (const [name, shape] of Object.entries(fields)) {
      const place = at === '' ? name : `${at}.${name}`;
      if (given.has(name)) read[name] = shape.read(given.get(name), place);
      else if (shape.isOptional !== true) throw new Misfit(`${place} is missing`);
    }
    return read as ReadFields<F>;
  },
});

/** The document that a text is. Throws `Misfit`. */
export function readAs<T>(shape: Shape<T>, json: string): T {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new Misfit('the document is no JSON');
  }
  return shape.read(value, '');
}

/** The same; null where it does not fit. */
export function readOrNull<T>(shape: Shape<T>, json: string): T | null {
  try {
    return readAs(shape, json);
  } catch (error) {
    if (error instanceof Misfit) return null;
    throw error;
  }
}
