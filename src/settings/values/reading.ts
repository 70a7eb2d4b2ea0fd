/** How a value given as text is read, and told to be wrong. */
import { z } from 'zod';

/** How people write lists and mappings in the environment, and YAML writes them by itself. */
export const jsonText = (value: unknown): unknown => {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
};

export const text = (problem = 'must be text (in YAML, put it in quotes)') => z.string({ error: problem });

/** What is wrong with a value, thrown by a `reading`. */
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
