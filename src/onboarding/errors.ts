/** Why an application is not sent, as values a caller decides on. None repeats anything of the application. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { Problem } from './field-rules.ts';

/** The file breaks rules of the document; all of them are told. */
export class ApplicationInvalid extends ExpectedError {
  override readonly name = 'ApplicationInvalid';
  readonly exitCode = EXIT.usage;
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    const count = problems.length === 1 ? '1 thing needs' : `${problems.length} things need`;
    const list = problems.map(({ path, problem }) => `  ${path} ${problem}`);
    super([`${count} mending; nothing was sent.`, ...list].join('\n'));
    this.problems = problems;
  }
}

/** It might be a second one for the same merchant; the message says which stands in the way and what to do. */
export class ApplicationStands extends ExpectedError {
  override readonly name = 'ApplicationStands';
  readonly exitCode = EXIT.usage;
}

/** The platform's receipt came and could not be stored; the message holds what it said. */
export class ReceiptNotStored extends ExpectedError {
  override readonly name = 'ReceiptNotStored';
  readonly exitCode = EXIT.incomplete;
}
