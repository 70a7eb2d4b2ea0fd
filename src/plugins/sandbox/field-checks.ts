/** Checks of single fields, written from the document for the sandbox alone. They share no code with the client's. */
import { z } from 'zod';

/**
 * Text of so many characters at most. A character outside Unicode's basic plane counts as one (docs/platform.md 2.3).
 */
const upTo = (charactersMax: number) =>
  z
    .string()
    .refine((text) => Array.from(text).length <= charactersMax, `has more than ${charactersMax} characters`);

/** Text that the document marks as mandatory: it is there and not empty. */
export const filled = (charactersMax = Number.MAX_SAFE_INTEGER) => upTo(charactersMax).min(1);
/** Optional text. An empty string counts as left out. */
export const maybe = (charactersMax = Number.MAX_SAFE_INTEGER) => upTo(charactersMax).optional();
export const isFilled = (value: string | undefined): value is string => value !== undefined && value !== '';

/** ISO 3166-1 alpha-2. */
export const countryCode = () => z.string().regex(/^[A-Z]{2}$/, 'must be two capitals, ISO 3166-1 alpha-2');

export const day = () =>
  z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}$/, 'must be yyyy-MM-dd')
    .refine((text) => {
      const ms = Date.parse(`${text}T00:00:00Z`);
      return !Number.isNaN(ms) && new Date(ms).toISOString().slice(0, 10) === text;
    }, 'is no day of the calendar');

const UPLOADED = /^(?![a-z][a-z\d+.-]*:)(?=.*[^/]\/[^/]|\/[^/])[^\\]*[^/\\]$/i;

/** A path as the platform's file upload returns it: no local name and no URL (docs/platform.md 4.3, rule 1). */
export const uploadedFile = () =>
  z.string().regex(UPLOADED, 'must be a path of the file upload operation, no local name and no URL');

/** The forms of an image. The document says no more than that it is one (docs/platform.md 2.5). */
const IMAGES = {
  path: UPLOADED,
  base64: /^(?:data:image\/[\w.+-]+;base64,)?[A-Za-z0-9+/]{40,}={0,2}$/,
  url: /^https:\/\/[^/\s]+\/\S+$/,
};

/** An image of one of these forms. */
export const image = (form: keyof typeof IMAGES | 'any') => {
  const forms = form === 'any' ? Object.values(IMAGES) : [IMAGES[form]];
  return z.string().refine((text) => forms.some((one) => one.test(text)), `must be an image: ${form}`);
};

const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);

/** An https URL of at most 255 characters (docs/platform.md 2.3, 8). For this machine, plain http is allowed too. */
export const callbackUrl = () =>
  z
    .string()
    .max(255)
    .refine((text) => {
      if (!URL.canParse(text)) return false;
      const { protocol, hostname } = new URL(text);
      return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
    }, 'must be an HTTPS endpoint');

/** Whether the sandbox may call an address: it calls this machine only. */
export const staysHere = (url: string): boolean => isLoopback(new URL(url).hostname);

export class Refused extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * The body, read by the schema. Throws `Refused` that names the first field that breaks a rule of the document. With
 * `furtherFields`, a field that the document does not have breaks none.
 */
export function accepted<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  furtherFields = false,
): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues.find(({ code }) => !furtherFields || code !== 'unrecognized_keys');
  if (issue === undefined) return body as z.output<Schema>;
  const { path, message } = issue;
  throw new Refused(400, 'E40000', `${path.join('.')}: ${message}`);
}
