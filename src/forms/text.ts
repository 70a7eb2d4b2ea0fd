/** Texts of a form: what any text may hold, and what several fields ask of theirs. */
import { z } from 'zod';
import { parseDay } from '../ledger/business-day.ts';

/** What is wrong with a text, as a sentence that goes on from its path; null where nothing is. */
export type TextProblem = (text: string) => string | null;

const REQUIRED = 'is required';

/** The error of a schema: that a value is missing, or what is wrong with the one there is. */
export const requiredOr =
  (wrong: string | ((value: unknown) => string)) =>
  ({ input }: { readonly input?: unknown }): string => {
    if (input === undefined) return REQUIRED;
    return typeof wrong === 'string' ? wrong : wrong(input);
  };

const CONTROL = /\p{Cc}/u;
/** For texts in which white space of every kind is allowed, the end of a line as well. */
export const CONTROL_BUT_SPACE = /[^\P{Cc}\s]/u;

function generalProblem(text: string, control: RegExp): string | null {
  if (control.test(text)) return 'holds a line break or another control character; write it on one line';
  if (!text.isWellFormed()) return 'holds half a character; write it anew';
  return text === text.trim() ? null : 'begins or ends with a blank; leave the blank out';
}

/**
 * A maker of a form's texts. `notText` is what it tells of a value that is none; `wrong` is asked about a text that may
 * stand in a form at all, and `control` has the characters that none may have.
 */
export const textsOf =
  (notText: string | ((value: unknown) => string)) =>
  (wrong: TextProblem = () => null, control = CONTROL) =>
    z.string({ error: requiredOr(notText) }).superRefine((text, context) => {
      const message = generalProblem(text, control) ?? wrong(text);
      if (message !== null) context.addIssue({ code: 'custom', message });
    });

export const matching =
  (pattern: RegExp, problem: string): TextProblem =>
  (text) =>
    pattern.test(text) ? null : problem;

/** One of a few texts and nothing else; `wording` lists them. */
export const oneOf = <const Texts extends readonly string[]>(texts: Texts, wording: string) =>
  z.enum(texts, { error: requiredOr(`must be ${wording}`) });

/** Characters as a person counts them. */
export const charactersIn = (text: string): number => Array.from(text).length;

/** No letter of another alphabet; accents, digits and signs are none of its matter. */
export const hasLatinLettersOnly = (text: string): boolean => !/[^\P{L}\p{Script=Latin}]/u.test(text);

/** A day of the calendar, `YYYY-MM-DD`. */
export function isDay(text: string): boolean {
  try {
    parseDay(text);
    return true;
  } catch {
    return false;
  }
}

export const LIES_AHEAD = 'lies in the future';

export const isHttps = (text: string): boolean => URL.canParse(text) && new URL(text).protocol === 'https:';
