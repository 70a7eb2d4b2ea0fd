/** The error for a day that a format cannot hold. */
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import type { StatementDay } from './format.ts';

/** A day does not fit into a format: too many entries, or too long an amount. The CSV holds every day. */
export class FormatTooSmall extends ExpectedError {
  override readonly name = 'FormatTooSmall';
  readonly exitCode = EXIT.usage;
  /** `why`: the end of a sentence that begins with the statement and the format. */
  constructor({ account, day }: Pick<StatementDay, 'account' | 'day'>, format: string, why: string) {
    super(
      `the statement of ${account.merchantNo} in ${account.currency} for ${day} cannot be written as ${format}: ${why}. ` +
        'Take the CSV, which holds every day.',
    );
  }
}
