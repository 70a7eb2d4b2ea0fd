/** Why a registration was not sent, or has no reply. No message repeats personal data. */
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import { counted } from '../../ledger/text.ts';
import type { BeneficiaryRow } from './registrations.ts';
import { FormInvalid, type Problem } from '../../forms/problem.ts';

/** The file breaks rules of the document. The message lists all of them. Nothing was recorded or sent. */
export class RegistrationInvalid extends FormInvalid {
  override readonly name = 'RegistrationInvalid';

  constructor(problems: readonly Problem[]) {
    super(
      `${counted(problems.length, 'problem', 'problems')} in the registration; nothing was recorded or sent:`,
      problems,
    );
  }
}

/** The order number was used for another registration. The platform would take this one for the same. */
export class OrderNoTaken extends ExpectedError {
  override readonly name = 'OrderNoTaken';
  readonly exitCode = EXIT.usage;

  constructor({ id, merOrderNo, merchantNo }: BeneficiaryRow, asked: string) {
    const other = merchantNo === asked ? 'with other contents' : `for merchant ${merchantNo}`;
    super(
      `merOrderNo ${merOrderNo} was used before, ${other} (registration ${id}); nothing was sent. Give a new ` +
        'registration a number of its own.',
    );
  }
}

/** The same payee must not be submitted again while under review (docs/platform.md 3.1). */
export class PayeeInReview extends ExpectedError {
  override readonly name = 'PayeeInReview';
  readonly exitCode = EXIT.usage;

  constructor({ id, merOrderNo, status }: BeneficiaryRow) {
    const stands = status === '01' ? 'is under review' : 'was sent and may be under review';
    const todo =
      status === '01'
        ? `Wait for its result; \`daybook beneficiary status ${id}\` shows it`
        : 'Register that one again, under its own number, to get its result';
    super(
      `this payee ${stands} already, as registration ${id} (merOrderNo ${merOrderNo}); nothing was sent. ` +
        `${todo}.`,
    );
  }
}

/** Another process is sending this registration now. */
export class RegistrationInFlight extends ExpectedError {
  override readonly name = 'RegistrationInFlight';
  readonly exitCode = EXIT.leaseHeld;

  constructor({ id, merOrderNo }: BeneficiaryRow) {
    super(
      `registration ${id} (merOrderNo ${merOrderNo}) is being sent by another process; nothing was sent twice. ` +
        `\`daybook beneficiary status ${id}\` shows its result.`,
    );
  }
}

/** It was sent, or was about to be, and no reply was stored. */
export class RegistrationUnanswered extends ExpectedError {
  override readonly name = 'RegistrationUnanswered';
  readonly exitCode = EXIT.incomplete;

  constructor({ id, merOrderNo }: BeneficiaryRow, problem: string, options?: ErrorOptions) {
    super(
      `registration ${id} (merOrderNo ${merOrderNo}) has no reply yet: ${problem}. It is recorded; the same command ` +
        'sends it again under the same number, which the platform does not process twice.',
      options,
    );
  }
}

/** What the stored problem of a doubtful registration begins with. */
export const REFUSED_LATER = 'the platform refused a later try, and may have it already from an earlier one';

/** A try was refused after an earlier one that may have arrived. Only the platform knows whether it has it. */
export class RegistrationDoubtful extends ExpectedError {
  override readonly name = 'RegistrationDoubtful';
  readonly exitCode = EXIT.needsPerson;

  constructor({ id, merOrderNo }: BeneficiaryRow, problem: string, options?: ErrorOptions) {
    super(
      `registration ${id} (merOrderNo ${merOrderNo}): ${REFUSED_LATER}. The refusal: ${problem}.\n${settleOrRelease(id)}.`,
      options,
    );
  }
}

/** What a person does about a registration whose state only the platform knows. */
export const settleOrRelease = (id: number): string =>
  `  Ask the platform how this number stands. If it has it: \`daybook beneficiary settle ${id} --status 01\`, 03 or 04, ` +
  `with its payeeId.\n  If it does not: \`daybook beneficiary release ${id} --note TEXT\``;

/** The state of the registration does not allow it. The message says why. Nothing was changed. */
export class RegistrationStands extends ExpectedError {
  override readonly name = 'RegistrationStands';
  readonly exitCode = EXIT.usage;
}
