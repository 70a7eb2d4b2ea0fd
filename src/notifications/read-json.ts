/** Reads a body that anyone may have written. What it says is wrong names fields and rules, never a value. */
import { z } from 'zod';
import { isPrintable, opened } from '../platform/reply.ts';

export type Reading<Result> =
  { readonly result: Result; readonly problem: null } | { readonly result: null; readonly problem: string };

/** A reference as a reply may have one too: shown to a person and stored, so without anything that cannot be seen. */
export const reference = (charactersMax: number) =>
  z
    .string()
    .max(charactersMax)
    .refine((text) => text === '' || isPrintable(text, text.length), 'holds what cannot be shown');

/** How much of what is wrong is told. */
const PROBLEMS_TOLD_MAX = 3;

/**
 * The fields of a payload, whatever envelope holds them. `expected` are those it is told by: an envelope's own fields of
 * other names do no harm, and its `code` does not stand for the payload's.
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
    .slice(0, PROBLEMS_TOLD_MAX)
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

/** Zod's own messages may quote what came. */
function wordingOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return `is no ${issue.expected}`;
  if (issue.code === 'too_big') return `is longer than ${issue.maximum}`;
  if (issue.code === 'too_small') return 'is empty';
  if (issue.code === 'invalid_value') return `is none of ${issue.values.join(', ')}`;
  return issue.code === 'custom' ? issue.message : 'is not what the document describes';
}
