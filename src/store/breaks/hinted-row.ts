/** A stored break, as far as its hint depends on it. */
import type { Explanation } from '../../ledger/chain/break-scene.ts';

/** The columns of a stored break that hints depend on. */
export interface HintedRow {
  readonly id: number;
  readonly currency: string;
  readonly after_batch_no: string | null;
  readonly before_batch_no: string;
  readonly expected_balance: string;
  readonly found_balance: string;
  readonly missing_net: string;
  readonly begin_ms: number;
  readonly end_ms: number;
  readonly hint: string;
  readonly hint_batch_no: string | null;
}

/** Hints by the id of their break. */
export type Hints = Map<number, Explanation>;
