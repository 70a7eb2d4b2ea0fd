/** Checks numbers, choices, times and patterns in settings, which are always text in the environment; and reads what is given. */
import { z } from 'zod';
import { isTimeZone } from '../../ledger/business-day.ts';
import { zoneProblem } from '../../ledger/zone-names.ts';
import { cronProblem } from '../cron.ts';

const PATTERN_CHARACTERS_MAX = 500;

export const integer = (min: number, max: number) => {
  const error = `must be an integer from ${min} to ${max}`;
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

export const timeZone = () => text().refine(isTimeZone, { error: ({ input }) => zoneProblem(String(input)) });

/** When a job is due; null for `off`: never. */
export const jobTimes = () =>
  reading((value): string | null => {
    if (value === 'off') return null;
    const problem = cronProblem(value);
    if (problem === null) return value;
    throw new Wrong(`is no cron expression (minute hour day month weekday) and not off: ${problem}`);
  });

export const directory = () => text().min(1, { error: 'must name a directory' });

/** An instant with an offset or Z, as ms since 1970. */
export const instant = () =>
  reading((value) => {
    const written = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})$/.test(
      value,
    );
    const ms = written ? Date.parse(value) : Number.NaN;
    if (Number.isNaN(ms)) throw new Wrong('must be an instant with its offset, or Z');
    return ms;
  });

/** A regular expression, without flags, that the full text must match. */
export const pattern = () =>
  reading((value) => {
    if (value.length > PATTERN_CHARACTERS_MAX) {
      throw new Wrong(`has more than ${PATTERN_CHARACTERS_MAX} characters`);
    }
    const anchored = `^(?:${value})$`;
    try {
      new RegExp(anchored, 'u');
    } catch {
      throw new Wrong('is no regular expression');
    }
    return anchored;
  });

/**
 * Reads JSON in a text. In the environment, lists and mappings are written as JSON; in YAML they are values already.
 */
export const jsonText = (value: unknown): unknown => {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
};

/** A list in YAML. In the environment: a JSON list, or words separated by commas. */
export const givenList = (value: unknown): unknown =>
  typeof value === 'string' && !value.trimStart().startsWith('[')
    ? value.split(',').map((part) => part.trim())
    : jsonText(value);

export const text = (problem = 'must be text (in YAML, put it in quotes)') => z.string({ error: problem });

/** A `reading` throws this to say what is wrong with a value. */
export class Wrong extends Error {}

export const reading = <T>(read: (value: string) => T) =>
  text().transform((value, context): T => {
    try {
      return read(value);
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      context.issues.push({ code: 'custom', message: error.message, input: value });
      return z.NEVER;
    }
  });
