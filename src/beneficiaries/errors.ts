/** Why a registration was not sent, or brought no reply: values a caller decides on, without anything personal. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { BeneficiaryRow } from '../store/beneficiaries/beneficiaries.ts';
import { FormInvalid, type Problem } from '../forms/problem.ts';

/** The file breaks rules of the document; nothing was recorded or sent. */
export class RegistrationInvalid extends FormInvalid {
  override readonly name = 'RegistrationInvalid';

  constructor(problems: readonly Problem[]) {
    const count =
      problems.length === 1
        ? 'one thing in the registration needs'
        : `${problems.length} things in the registration need`;
    super(`${count} mending; nothing was recorded or sent:`, problems);
  }
}

/** The number stands for another registration; the platform would take this one for a repetition of it. */
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
    const mend =
      status === '01'
        ? `wait for its result; \`daybook beneficiary status ${id}\` shows it`
        : 'register that one again, under its own number, to learn what became of it';
    super(
      `this payee ${stands} already, as registration ${id} (merOrderNo ${merOrderNo}); nothing was sent. ` +
        `${mend[0]!.toUpperCase()}${mend.slice(1)}.`,
    );
  }
}

/** Another process is sending this very registration. */
export class RegistrationInFlight extends ExpectedError {
  override readonly name = 'RegistrationInFlight';
  readonly exitCode = EXIT.leaseHeld;

  constructor({ id, merOrderNo }: BeneficiaryRow) {
    super(
      `registration ${id} (merOrderNo ${merOrderNo}) is being sent by another process; nothing was sent twice. ` +
        `\`daybook beneficiary status ${id}\` shows what becomes of it.`,
    );
  }
}

/** It was sent, or was about to be, and no reply came that could be stored. */
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
