/** How one setting's value is read, alike from the environment (always text) and from YAML (text, number, mapping). */
import { validate as isCron } from 'node-cron';
import { z } from 'zod';
import { isTimeZone } from '../ledger/business-day.ts';
import type { SecretKey } from './settings.ts';

const SECRET_KEY_BYTES = 32;
const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** What a setting's schema says about itself beside its type. */
export interface SettingNotes {
  /** A value that would do. */
  readonly example: string;
  /** Never repeat the value in a message. */
  readonly secret?: true;
}

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

/** An address to speak to: https, or http where nothing leaves this machine. */
export const baseUrl = () =>
  reading((value) => {
    const url = parseUrl(value);
    if (url.username !== '' || url.password !== '') {
      throw new Wrong('must not carry a user or password; credentials go into PLATFORM_HEADERS');
    }
    if (url.search !== '' || url.hash !== '') throw new Wrong('must end with its path, without ? or #');
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.test(url.hostname))) {
      throw new Wrong('must be https; plain http is for loopback only');
    }
    return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
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

const jsonMapping = (value: unknown): unknown => {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
};

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
function headersProblem(headers: Readonly<Record<string, string>>): string | null {
  for (const [index, [name, template]] of Object.entries(headers).entries()) {
    const which = `header ${index + 1}`;
    if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/.test(name)) return `has no valid name in ${which}`;
    if (CLIENT_HEADERS.includes(name.toLowerCase())) return `sets ${name}, which the client sets itself`;
    if (!/^[\x20-\x7e]*$/.test(template)) return `has more than printable ASCII in the value of ${which}`;
    for (const [, placeholder = ''] of template.matchAll(/\{([^{}]*)\}/g)) {
      if (placeholder !== 'token' && placeholder !== 'merchantNo') {
        return `has something in braces in ${which} that is neither {token} nor {merchantNo}`;
      }
    }
  }
  return null;
}

export const headerTemplates = () => {
  const error = 'must be a mapping of header names to texts (in the environment: JSON)';
  return z.preprocess(
    jsonMapping,
    z.record(z.string(), z.string({ error }), { error }).superRefine((headers, context) => {
      const problem = headersProblem(headers);
      if (problem !== null) context.addIssue({ code: 'custom', message: problem });
    }),
  );
};

export const currencyUnits = () => {
  const error = 'must map three-letter codes to their number of decimals, 0 to 8 (in the environment: JSON)';
  return z.preprocess(
    jsonMapping,
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
