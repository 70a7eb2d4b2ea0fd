/** Helpers to read a setting that is given as text, and to report what is wrong with it. */
import { z } from 'zod';

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
