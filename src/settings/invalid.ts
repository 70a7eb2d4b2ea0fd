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

  constructor(problems: readonly SettingsProblem[]) {
    const count = problems.length === 1 ? '1 setting is' : `${problems.length} settings are`;
    super([`${count} invalid; nothing was started.`, ...problems.map(sentence)].join('\n'));
    this.problems = problems;
  }
}
