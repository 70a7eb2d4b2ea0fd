/** Checks of single fields, written from the document for the sandbox alone: the client's own are not looked at. */
import { z } from 'zod';

/**
 * A text of so many characters, as people count them: one outside the basic plane is one
 * (docs/platform.md 2.3).
 */
const upTo = (charactersMax: number) =>
  z
    .string()
    .refine((text) => Array.from(text).length <= charactersMax, `has more than ${charactersMax} characters`);

/** Whatever the document marks mandatory is there and not empty. */
export const filled = (charactersMax = Number.MAX_SAFE_INTEGER) => upTo(charactersMax).min(1);
/** Optional text; an empty string counts as left out. */
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

/**
 * What the sandbox's file upload hands out: an absolute path, no local name and no URL
 * (docs/platform.md 4.3, rule 1).
 */
export const uploadedFile = () =>
  z
    .string()
    .regex(
      /^(?:\/[^/\\\s:?#]+){2,}$/,
      'must be a path of the file upload operation, no local name and no URL',
    );

const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);

/**
 * HTTPS, at most 255 characters (docs/platform.md 2.3, 8); plain http to this machine, where the sandbox runs
 * too.
 */
export const callbackUrl = () =>
  z
    .string()
    .max(255)
    .refine((text) => {
      if (!URL.canParse(text)) return false;
      const { protocol, hostname } = new URL(text);
      return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
    }, 'must be an HTTPS endpoint');

/** Whether the sandbox may speak to an address: what it acts out stays on this machine. */
export const staysHere = (url: string): boolean => isLoopback(new URL(url).hostname);
