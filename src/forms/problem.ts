/** What is wrong with a form: everything at once, each with its place. No value is repeated, as it may be personal. */
import type { z } from 'zod';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { didYouMean } from '../settings/suggest.ts';

/** One thing to mend, or to look at again. */
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

  /** `headline` says how many there are, and stands above them. */
  constructor(headline: string, problems: readonly Problem[]) {
    super([headline, ...problems.map(({ path, problem }) => `  ${path} ${problem}`)].join('\n'));
    this.problems = problems;
  }
}

type Path = readonly PropertyKey[];

/** The path as one would write it to reach the value: `relationProof[1]`. */
const pathText = (path: Path): string =>
  path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index > 0 ? '.' : ''}${String(step)}`))
    .join('');

const SHOWN_NAME = /^[\w.-]{1,40}$/;
/** A name that no field has, shortened and printable: it may be a value put in the wrong place. */
const shownName = (name: string): string => (SHOWN_NAME.test(name) ? name : '(unreadable name)');

/** A field the form does not have. `known` are those it has at the place `at`; a near one is named as a hint. */
export function unknownField(
  name: string,
  {
    at = [],
    known,
    problem,
  }: { readonly at?: Path; readonly known: readonly string[]; readonly problem: string },
): Problem {
  const meant = didYouMean(name, known);
  const hint = meant === null ? '' : `; did you mean ${meant}?`;
  return { path: pathText([...at, shownName(name)]), problem: `${problem}${hint}` };
}

/** An element that stands in its list before: `sameAs` of the issue's params is where. */
function sentenceOf({ path, message, ...issue }: z.core.$ZodIssue): string {
  const earlier: unknown = issue.code === 'custom' ? issue.params?.['sameAs'] : undefined;
  return typeof earlier === 'number'
    ? `is the same as ${pathText([...path.slice(0, -1), earlier])}`
    : message;
}

/** The problems of a parsed form, in the order found; `unknown` tells those of fields the form does not have. */
export const problemsOf = (
  issues: readonly z.core.$ZodIssue[],
  unknown: (names: readonly string[], at: Path) => readonly Problem[],
): Problem[] =>
  issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') return unknown(issue.keys, issue.path);
    return [{ path: pathText(issue.path), problem: sentenceOf(issue) }];
  });
