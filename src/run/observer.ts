/** What a process tells of its work while it does it, for its metrics and traces. No one has to listen. */
import { UNTRACED, type Trace } from '../host/trace.ts';
import type { CallMade, Retry } from '../platform/transport.ts';
import type { MerchantOutcome } from './report.ts';
import type { Stage } from './stages/stages-of.ts';

export interface Observer {
  readonly trace: Trace;
  /** A try of a call to the platform is over. */
  readonly onCall: (call: CallMade) => void;
  /** A call is about to be sent again. */
  readonly onRetry: (retry: Retry) => void;
  /** A window had to be read in parts, as it was not steady or too full. */
  readonly onSplit: () => void;
  /** A stage is over for one merchant, well or not. */
  readonly onStage: (stage: Stage, ms: number) => void;
  /** All that was to be done for a merchant is done, or was ended by its trouble. */
  readonly onMerchant: (outcome: MerchantOutcome) => void;
}

const nothing = (): void => undefined;

/** No one listens. */
export const UNOBSERVED: Observer = {
  trace: UNTRACED,
  onCall: nothing,
  onRetry: nothing,
  onSplit: nothing,
  onStage: nothing,
  onMerchant: nothing,
};
