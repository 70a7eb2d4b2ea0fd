/** What is to become of a notification: the types that all operations share. */
import { z } from 'zod';
import { opened, REFERENCE_CHARACTERS_MAX, referenceIn } from '../../platform/reply.ts';
import { AS_DOCUMENTED, writtenIn } from './body.ts';
import type { NotificationOutcome, OpenNotification } from './notifications.ts';
import type { SecretKey } from '../../store/secrets/secrets.ts';

export interface Verdict<Change> {
  readonly outcome: NotificationOutcome;
  /** A sentence for a person. It repeats nothing of the post. */
  readonly reason: string | null;
  /** What is changed if the outcome is `applied`, else null. */
  readonly change: Change | null;
}

export const applies = <Change>(change: Change): Verdict<Change> => ({
  outcome: 'applied',
  reason: null,
  change,
});

export const changesNothing = (
  outcome: Exclude<NotificationOutcome, 'applied'>,
  reason: string,
): Verdict<never> => ({ outcome, reason, change: null });

export interface ProcessContext {
  readonly secretKeys: readonly SecretKey[];
  /** Key of the digests by which a repeated result is found. */
  readonly digestKey: Buffer;
  readonly now: Date;
}

export interface Settlement {
  readonly outcome: NotificationOutcome;
  readonly reason: string | null;
  /** The order number of the application or registration. Null if the path belongs to none. */
  readonly merOrderNo: string | null;
  /** Digest of a result that was applied, to find it when it comes again; else null. */
  readonly resultDigest: string | null;
}

export const settled = (
  { outcome, reason }: Verdict<unknown>,
  merOrderNo: string | null,
  resultDigest: string | null = null,
): Settlement => ({ outcome, reason, merOrderNo, resultDigest: outcome === 'applied' ? resultDigest : null });

/** What a body says. `written` names how, `AS_DOCUMENTED` or another way, which only a person applies. */
export type Reading<Result> = { readonly written: string } & (
  { readonly result: Result; readonly problem: null } | { readonly result: null; readonly problem: string }
);

/** What becomes of a result that would change something: only JSON changes it without a person. */
export const asWritten = <Change>(
  verdict: Verdict<Change>,
  { written }: Reading<unknown>,
  { number }: Pick<OpenNotification, 'number'>,
): Verdict<Change> =>
  verdict.change === null || written === AS_DOCUMENTED
    ? verdict
    : changesNothing(
        'malformed',
        `it came as ${written}: \`daybook notifications show ${number} --reveal\` prints it as read, and ` +
          `\`daybook notifications apply ${number}\` applies it`,
      );

/**
 * A reference number, without the blanks around it. It is stored and shown to a person, so it must have no invisible
 * characters.
 */
export const reference = z
  .string()
  .trim()
  .refine(
    (text) => text === '' || referenceIn(text) !== null,
    `is longer than ${REFERENCE_CHARACTERS_MAX}, or holds what cannot be shown`,
  );

/** A reference that may be left out, null or empty; null then. */
export const referenceOrNull = reference
  .nullish()
  .transform((value) => (value === undefined || value === '' ? null : value));

const PROBLEMS_SHOWN_MAX = 3;

/**
 * Reads the fields of a payload, in whatever envelope it comes. The payload is the part that has the `expected` fields,
 * so that a `code` of the envelope is not taken for the payload's.
 */
export function readBody<Result>(
  body: string,
  schema: z.ZodType<Result>,
  expected: readonly string[],
): Reading<Result> {
  const found = writtenIn(body);
  const written = found?.written ?? AS_DOCUMENTED;
  const payload = found === null ? undefined : payloadIn(found.json, expected);
  if (payload === undefined) return { written, result: null, problem: 'the body is no JSON' };
  const checked = schema.safeParse(payload);
  if (checked.success) return { written, result: checked.data, problem: null };
  const problems = checked.error.issues
    .slice(0, PROBLEMS_SHOWN_MAX)
    .map((issue) => `${issue.path.join('.') || 'the body'} ${wordingOf(issue)}`);
  return { written, result: null, problem: problems.join('; ') };
}

function payloadIn(json: string, expected: readonly string[]): unknown {
  try {
    return opened(json, expected)?.body ?? null;
  } catch {
    return undefined;
  }
}

/** Zod's own messages may quote a value. */
function wordingOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return `is no ${issue.expected}`;
  if (issue.code === 'too_big') return `is longer than ${issue.maximum}`;
  if (issue.code === 'too_small') return 'is empty';
  if (issue.code === 'invalid_value') return `is none of ${issue.values.join(', ')}`;
  return issue.code === 'custom' ? issue.message : 'is not what the document describes';
}
