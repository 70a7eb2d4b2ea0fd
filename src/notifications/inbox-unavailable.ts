/** The reply to a sender whose post may not be kept. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';

/** The post may not be kept. The sender has to send it again. */
export class InboxUnavailable extends ExpectedError {
  override readonly name = 'InboxUnavailable';
  readonly exitCode = EXIT.incomplete;
  /** What the server answers with. */
  readonly statusCode = 503;
}
