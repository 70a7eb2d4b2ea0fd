/** Why settings were refused: every problem at once, each with its key and an example, no secret among them. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';

export interface SettingsProblem {
  /** As the user gave it: an environment name, or the file's key with the file. */
  readonly key: string;
  /** What is wrong, for a person; never the value of a secret. */
  readonly problem: string;
  /** A value that would do, or what to look at. */
  readonly example: string;
}

const sentence = ({ key, problem, example }: SettingsProblem): string =>
  `  ${key} ${problem}${problem.endsWith('?') ? '' : '.'} Example: ${example}`;

export class SettingsInvalid extends ExpectedError {
  override readonly name = 'SettingsInvalid';
  readonly exitCode = EXIT.usage;
  readonly problems: readonly SettingsProblem[];

  constructor(problems: readonly SettingsProblem[]) {
    const count = problems.length === 1 ? 'A setting needs' : `${problems.length} settings need`;
    super([`${count} mending; nothing was started.`, ...problems.map(sentence)].join('\n'));
    this.problems = problems;
  }
}
