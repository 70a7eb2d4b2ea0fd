/** The problems of a form, all reported at once. No value is repeated, as it may be personal. */
import type { z } from 'zod';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { didYouMean } from '../settings/problem.ts';

/** One error or warning. */
export interface Problem {
  /** Where in the file: `shareholder[0].certNo`. */
  readonly path: string;
  /** A sentence that goes on from the path: `is required`. */
  readonly problem: string;
}

/** The form breaks rules of the document; nothing was sent. */
export abstract class FormInvalid extends ExpectedError {
  readonly exitCode = EXIT.usage;
  readonly problems: readonly Problem[];

  /** The message has `headline` first, then a line for each problem. */
  constructor(headline: string, problems: readonly Problem[]) {
    super([headline, ...problems.map(({ path, problem }) => `  ${path} ${problem}`)].join('\n'));
    this.problems = problems;
  }
}

export type Path = readonly PropertyKey[];

/** For example `relationProof[1]`, or `businessNature.natures`. */
export const pathText = (path: Path): string =>
  path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index > 0 ? '.' : ''}${String(step)}`))
    .join('');

const SHOWN_NAME = /^[\w.-]{1,40}$/;
/** An unknown name is shown only if it is short and plain, as it may be a value in the wrong place. */
export const shownName = (name: string): string => (SHOWN_NAME.test(name) ? name : '(unreadable name)');

export const NO_FIELD = 'is no field of the platform’s document';

/** The problem of a field that the form does not have. Names one of the `known` fields as a hint if it is similar. */
export function unknownField(name: string, known: readonly string[], at: Path = []): Problem {
  const meant = didYouMean(name, known);
  const hint = meant === null ? 'put it under `extra` to send it as it is' : `did you mean ${meant}?`;
  return { path: pathText([...at, shownName(name)]), problem: `${NO_FIELD}; ${hint}` };
}

/** For a repeated element of a list, `sameAs` has the index of the first one. */
function sentenceOf({ path, message, ...issue }: z.core.$ZodIssue): string {
  const earlier: unknown = issue.code === 'custom' ? issue.params?.['sameAs'] : undefined;
  return typeof earlier === 'number'
    ? `is the same as ${pathText([...path.slice(0, -1), earlier])}`
    : message;
}

/** Converts zod's issues to problems, in their order. `unknown` does so for fields that the form does not have. */
export const problemsOf = (
  issues: readonly z.core.$ZodIssue[],
  unknown: (names: readonly string[], at: Path) => readonly Problem[],
): Problem[] =>
  issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') return unknown(issue.keys, issue.path);
    return [{ path: pathText(issue.path), problem: sentenceOf(issue) }];
  });
