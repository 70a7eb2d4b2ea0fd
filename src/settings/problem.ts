/**
 * The error for refused settings. It lists every problem at once, each with its key and an example, and shows no
 * secret.
 */
import { EXIT, ExpectedError } from '../ledger/ending.ts';

export interface SettingsProblem {
  /** The name that the user used: an environment variable, or a key and its file. */
  readonly key: string;
  /** What is wrong, for a person. Never the value of a secret. */
  readonly problem: string;
  /** A valid value, or where to find one. */
  readonly example: string;
}

const sentence = ({ key, problem, example }: SettingsProblem): string =>
  `  ${key} ${problem}${problem.endsWith('?') ? '' : '.'} Example: ${example}`;

export class SettingsInvalid extends ExpectedError {
  override readonly name = 'SettingsInvalid';
  readonly exitCode = EXIT.usage;
  readonly problems: readonly SettingsProblem[];

  /** One setting may have several problems; the same one is said once. */
  constructor(given: readonly SettingsProblem[]) {
    const sentences = new Map(given.map((problem) => [sentence(problem), problem]));
    const settings = new Set(given.map(({ key }) => key)).size;
    const count = settings === 1 ? '1 setting is' : `${settings} settings are`;
    super([`${count} invalid; nothing was started.`, ...sentences.keys()].join('\n'));
    this.problems = [...sentences.values()];
  }
}

const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** What a misspelled name was meant to be: the most similar known name with at most a third of its letters different, or null. */
export function didYouMean(name: string, known: readonly string[]): string | null {
  const asked = plain(name);
  const near = known
    .map((candidate) => ({ candidate, wrong: distance(asked, plain(candidate)) }))
    .filter(({ candidate, wrong }) => wrong <= Math.floor(plain(candidate).length / 3))
    .sort((a, b) => a.wrong - b.wrong);
  return near[0]?.candidate ?? null;
}

/** How many characters to insert, leave out or replace to make one word of the other (Levenshtein). */
export function distance(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 0; row < one.length; row += 1) {
    const next = [row + 1];
    for (let at = 0; at < other.length; at += 1)
      next.push(Math.min(above[at]! + Number(one[row] !== other[at]), above[at + 1]! + 1, next[at]! + 1));
    above = next;
  }
  return above.at(-1)!;
}
