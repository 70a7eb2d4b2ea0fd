/** How one setting's value is read, alike from the environment (always text) and from YAML (text, number, mapping). */
import { validate as isCron } from 'node-cron';
import { z } from 'zod';
import { isTimeZone } from '../ledger/business-day.ts';
import { isCountryCode } from '../ledger/countries.ts';
import type { ListenAddress, SecretKey } from './settings.ts';

const SECRET_KEY_BYTES = 32;
/** Leaves 75 of the 255 characters of a callbackUrl for the path: kind and secret. */
const PUBLIC_URL_CHARACTERS_MAX = 180;
const PORT_MAX = 65_535;
const LIST_LENGTH_MAX = 1_000;
const PATTERN_CHARACTERS_MAX = 500;
const CODE = /^[^\p{C}\s](?:[^\p{C}]{0,62}[^\p{C}\s])?$/u;
const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** What a setting's schema says about itself beside its type. */
export interface SettingNotes {
  /** A value that would do. */
  readonly example: string;
  /** Never repeat the value in a message. */
  readonly secret?: true;
}

/** How people write lists and mappings in the environment, and YAML writes them by itself. */
const jsonText = (value: unknown): unknown => {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
};

const text = (problem = 'must be text (in YAML, put it in quotes)') => z.string({ error: problem });

/** What is wrong with a value, thrown by a `reading`. */
class Wrong extends Error {}

const reading = <T>(read: (value: string) => T) =>
  text().transform((value, context): T => {
    try {
      return read(value);
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      context.issues.push({ code: 'custom', message: error.message, input: value });
      return z.NEVER;
    }
  });

const parseUrl = (value: string): URL => {
  if (!URL.canParse(value)) throw new Wrong('is not a URL');
  return new URL(value);
};

export const wholeNumber = (min: number, max: number) => {
  const error = `must be a whole number from ${min} to ${max}`;
  const fromText = (value: unknown) =>
    typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return z.preprocess(fromText, z.int({ error }).min(min, { error }).max(max, { error }));
};

export const positiveNumber = (max: number) => {
  const error = `must be a number above 0 and up to ${max}`;
  const fromText = (value: unknown) =>
    typeof value === 'string' && /^\d{1,9}(?:\.\d{1,9})?$/.test(value) ? Number(value) : value;
  return z.preprocess(fromText, z.number({ error }).positive({ error }).max(max, { error }));
};

export const yesOrNo = () => {
  const fromText = (value: unknown) => (value === 'true' ? true : value === 'false' ? false : value);
  return z.preprocess(fromText, z.boolean({ error: 'must be true or false' }));
};

export const oneOf = <const T extends readonly [string, ...string[]]>(choices: T) =>
  z.enum(choices, { error: `must be one of ${choices.join(', ')}` });

export const timeZone = () => text().refine(isTimeZone, { error: 'is no IANA time zone this machine knows' });

export const cronExpression = () =>
  text().refine((value) => isCron(value), { error: 'is no cron expression (minute hour day month weekday)' });

export const directory = () => text().min(1, { error: 'must name a directory' });

/** An address's origin and path: https, or http where nothing leaves this machine. */
function addressOf(value: string, credentialsMend: string): string {
  const url = parseUrl(value);
  if (url.username !== '' || url.password !== '') {
    throw new Wrong(`must not carry a user or password${credentialsMend}`);
  }
  if (url.search !== '' || url.hash !== '') throw new Wrong('must end with its path, without ? or #');
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.test(url.hostname))) {
    throw new Wrong('must be https; plain http is for loopback only');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** Where the platform is. */
export const baseUrl = () => reading((value) => addressOf(value, '; credentials go into PLATFORM_HEADERS'));

/** Where the platform reaches us; a callbackUrl is made of it and has 255 characters at most (platform-api.md 8). */
export const publicUrl = () =>
  reading((value) => {
    const address = addressOf(value, '');
    if (address.length > PUBLIC_URL_CHARACTERS_MAX) {
      throw new Wrong(
        `has ${address.length} characters, where ${PUBLIC_URL_CHARACTERS_MAX} leave room for the path behind it`,
      );
    }
    return address;
  });

/** `127.0.0.1:8080`, `[::1]:8080`; port 0 takes a free one. */
export const listenAddress = () =>
  reading((value): ListenAddress => {
    const [, bracketed, plain, port = ''] =
      /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(value) ?? [];
    const host = bracketed ?? plain;
    if (host === undefined) throw new Wrong('must be a host and a port, like 127.0.0.1:8080');
    if (Number(port) > PORT_MAX) throw new Wrong(`has a port above ${PORT_MAX}`);
    return { host, port: Number(port) };
  });

export const databaseUrl = () =>
  reading((value) => {
    const { protocol } = parseUrl(value);
    if (protocol !== 'postgres:' && protocol !== 'postgresql:')
      throw new Wrong('must begin with postgres://');
    return value;
  });

/** Where statements go: a directory of this machine, or a bucket. */
export const statementsUrl = () =>
  reading((value) => {
    const url = parseUrl(value);
    if (url.username !== '' || url.password !== '' || url.search !== '') {
      throw new Wrong(
        'must not carry credentials or options; the AWS SDK reads them from its own environment',
      );
    }
    if (url.protocol === 's3:') {
      if (url.hostname === '') throw new Wrong('names no bucket');
    } else if (url.protocol !== 'file:') {
      throw new Wrong('must begin with file:// or s3://');
    } else if (url.hostname !== '') {
      throw new Wrong('must be absolute: three slashes after file:');
    }
    return value;
  });

/** An instant with its offset, in ms since 1970. */
export const instant = () =>
  reading((value) => {
    const written = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})$/.test(
      value,
    );
    const ms = written ? Date.parse(value) : Number.NaN;
    if (Number.isNaN(ms)) throw new Wrong('must be an instant with its offset, or Z');
    return ms;
  });

/** Goes into statement paths, so it must not be able to climb out of them. */
export const merchantNo = () =>
  text().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/, {
    error: 'must be 1 to 32 letters, digits, dots, dashes or underscores, the first a letter or digit',
  });

export const token = () =>
  text().regex(/^[\x21-\x7e]{1,512}$/, {
    error: 'must be printable ASCII without spaces or line breaks, up to 512 characters',
  });

/** The agent number sp1101 carries (platform-api.md 2.3, 5). */
export const referralChannel = () =>
  text().regex(/^[\x21-\x7e]{1,16}$/, {
    error: 'must be 1 to 16 printable ASCII characters without spaces',
  });

/** A list of words, told wrong once however many of them are. */
const listOf = (isWord: (text: string) => boolean, error: string) =>
  z
    .array(z.unknown(), { error })
    .max(LIST_LENGTH_MAX, { error: `has more than ${LIST_LENGTH_MAX} elements` })
    .refine((list): list is string[] => list.every((one) => typeof one === 'string' && isWord(one)), {
      error,
    })
    .readonly();

/** A list of YAML; in the environment a JSON list, or words with commas between them. */
const givenList = (value: unknown): unknown =>
  typeof value === 'string' && !value.trimStart().startsWith('[')
    ? value.split(',').map((part) => part.trim())
    : jsonText(value);

const isCode = (text: string): boolean => CODE.test(text);

export const codes = () =>
  z.preprocess(givenList, listOf(isCode, 'must be a list of codes, 1 to 64 printable characters each'));

export const countries = () =>
  z.preprocess(
    givenList,
    listOf(isCountryCode, 'must be a list of ISO 3166-1 alpha-2 country codes, two capitals each'),
  );

/** Lists of codes by the name of the field they are for; null where the document's own list is not known. */
export const codeLists = <const Field extends string>(fields: readonly Field[]) => {
  const error = `must map ${fields.join(', ')} to lists of codes, or to null (in the environment: JSON)`;
  const list = listOf(isCode, error).nullable().default(null);
  const shape = Object.fromEntries(fields.map((field) => [field, list])) as Record<Field, typeof list>;
  return z.preprocess(jsonText, z.strictObject(shape, { error }).readonly());
};

/** A regular expression without flags that says what a whole text must look like. */
export const pattern = () =>
  reading((value) => {
    if (value.length > PATTERN_CHARACTERS_MAX) {
      throw new Wrong(`has more than ${PATTERN_CHARACTERS_MAX} characters`);
    }
    const whole = `^(?:${value})$`;
    try {
      new RegExp(whole, 'u');
    } catch {
      throw new Wrong('is no regular expression');
    }
    return whole;
  });

/** Headers the HTTP client writes itself. */
const CLIENT_HEADERS = [
  'connection',
  'content-length',
  'content-type',
  'host',
  'transfer-encoding',
  'upgrade',
];

/** The first thing wrong with header templates, told without their contents. */
function headersProblem(
  headers: Readonly<Record<string, string>>,
  placeholders: readonly string[],
): string | null {
  for (const [index, [name, template]] of Object.entries(headers).entries()) {
    const which = `header ${index + 1}`;
    if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/.test(name)) return `has no valid name in ${which}`;
    if (CLIENT_HEADERS.includes(name.toLowerCase())) return `sets ${name}, which the client sets itself`;
    if (!/^[\x20-\x7e]*$/.test(template)) return `has more than printable ASCII in the value of ${which}`;
    for (const [, placeholder = ''] of template.matchAll(/\{([^{}]*)\}/g)) {
      if (!placeholders.includes(placeholder)) {
        const known = placeholders.map((name) => `{${name}}`).join(' nor ');
        return `has something in braces in ${which} that is neither ${known}`;
      }
    }
  }
  return null;
}

export const headerTemplates = (...placeholders: readonly string[]) => {
  const error = 'must be a mapping of header names to texts (in the environment: JSON)';
  return z.preprocess(
    jsonText,
    z.record(z.string(), z.string({ error }), { error }).superRefine((headers, context) => {
      const problem = headersProblem(headers, placeholders);
      if (problem !== null) context.addIssue({ code: 'custom', message: problem });
    }),
  );
};

export const currencyUnits = () => {
  const error = 'must map three-letter codes to their number of decimals, 0 to 8 (in the environment: JSON)';
  return z.preprocess(
    jsonText,
    z.record(
      z.string({ error }).regex(/^[A-Z]{3}$/, { error }),
      z.int({ error }).min(0, { error }).max(8, { error }),
      {
        error,
      },
    ),
  );
};

/** `id:base64,...`, told apart by position in messages, as even an id may be a key put in the wrong place. */
export const secretKeys = () =>
  reading((value): readonly SecretKey[] => {
    const keys = value.split(',').map((part, index): SecretKey => {
      const which = `key ${index + 1}`;
      const [, id, base64] = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]+={0,2})$/.exec(part.trim()) ?? [];
      if (id === undefined || base64 === undefined) throw new Wrong(`has no id:base64 as ${which}`);
      const key = Buffer.from(base64, 'base64');
      if (key.length !== SECRET_KEY_BYTES) {
        throw new Wrong(`has ${key.length} bytes in ${which}, where ${SECRET_KEY_BYTES} are needed`);
      }
      return { id, key };
    });
    if (new Set(keys.map(({ id }) => id)).size < keys.length) throw new Wrong('gives two keys the same id');
    return keys;
  });
