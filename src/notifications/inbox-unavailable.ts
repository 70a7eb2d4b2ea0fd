/** What a sender is told where its post is not known to be kept. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';

/** The post is not known to be kept: the sender has to send it again. */
export class InboxUnavailable extends ExpectedError {
  override readonly name = 'InboxUnavailable';
  readonly exitCode = EXIT.incomplete;
  /** What the server answers with. */
  readonly statusCode = 503;
}
