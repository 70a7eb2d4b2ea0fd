/** Why an application is not sent. No message repeats a value of the application, as these are personal. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { counted } from '../ledger/text.ts';
import { FormInvalid, type Problem } from '../forms/problem.ts';

/** The file breaks rules of the document. The message lists all of them. */
export class ApplicationInvalid extends FormInvalid {
  override readonly name = 'ApplicationInvalid';

  constructor(problems: readonly Problem[]) {
    super(
      `${counted(problems.length, 'problem', 'problems')} in the application; nothing was sent.`,
      problems,
    );
  }
}

/** The state of this or another application does not allow it. The message says which one, and what to do. */
export class ApplicationStands extends ExpectedError {
  override readonly name = 'ApplicationStands';
  readonly exitCode = EXIT.usage;
}

/** The platform's receipt arrived but could not be stored. The message has its content. */
export class ReceiptNotStored extends ExpectedError {
  override readonly name = 'ReceiptNotStored';
  readonly exitCode = EXIT.incomplete;
}
