/** Why an application is not sent, as values a caller decides on. None repeats anything of the application. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { counted } from '../ledger/text.ts';
import { FormInvalid, type Problem } from '../forms/problem.ts';

/** The file breaks rules of the document; all of them are told. */
export class ApplicationInvalid extends FormInvalid {
  override readonly name = 'ApplicationInvalid';

  constructor(problems: readonly Problem[]) {
    super(`${counted(problems.length, 'thing needs', 'things need')} mending; nothing was sent.`, problems);
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
