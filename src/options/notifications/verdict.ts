/** What is to become of a notification: the types that all operations share. */
import { z } from 'zod';
import { isPrintable, opened } from '../../platform/reply.ts';
import type { NotificationOutcome } from './stored.ts';
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

export type Reading<Result> =
  { readonly result: Result; readonly problem: null } | { readonly result: null; readonly problem: string };

/** A reference number. It is stored and shown to a person, so it must have no invisible characters. */
export const reference = (charactersMax: number) =>
  z
    .string()
    .max(charactersMax)
    .refine((text) => text === '' || isPrintable(text, text.length), 'holds what cannot be shown');

/** Text that may be left out, null or empty; null then. */
export const absentAsNull = (text: ReturnType<typeof reference>) =>
  text.nullish().transform((value) => (value === undefined || value === '' ? null : value));

const PROBLEMS_SHOWN_MAX = 3;

/**
 * Reads the fields of a payload, in whatever envelope it comes. The payload is the part that has the `expected` fields,
 * so that a `code` of the envelope is not taken for the payload's.
 */
export function readJson<Result>(
  body: string,
  schema: z.ZodType<Result>,
  expected: readonly string[],
): Reading<Result> {
  const payload = payloadIn(body, expected);
  if (payload === undefined) return { result: null, problem: 'the body is no JSON' };
  const checked = schema.safeParse(payload);
  if (checked.success) return { result: checked.data, problem: null };
  const problems = checked.error.issues
    .slice(0, PROBLEMS_SHOWN_MAX)
    .map((issue) => `${issue.path.join('.') || 'the body'} ${wordingOf(issue)}`);
  return { result: null, problem: problems.join('; ') };
}

function payloadIn(body: string, expected: readonly string[]): unknown {
  try {
    return opened(body, expected)?.body ?? null;
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
