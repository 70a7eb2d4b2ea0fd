/** One merchant's ledger as the platform shows it now: visible entries by time, found by binary search. */
import { type SandboxEntry, generateLedger } from './ledger.ts';
import type { NewMerchant } from './reviews.ts';
import type { Scenario } from './scenario.ts';

interface Query {
  readonly beginMs: number;
  readonly endMs: number;
  readonly batchNo?: string | undefined;
  readonly currency?: string | undefined;
  readonly flowType?: string | undefined;
  readonly busiType?: string | undefined;
}

const NEVER = { fromMs: Number.POSITIVE_INFINITY, untilMs: Number.NEGATIVE_INFINITY };

const shownFromMs = ({ visibleFromMs, bookedMs }: SandboxEntry): number => Math.max(visibleFromMs, bookedMs);
const asShown = (entry: SandboxEntry, nowMs: number): SandboxEntry =>
  entry.amendment !== null && entry.amendment.fromMs <= nowMs
    ? { ...entry, busiType: entry.amendment.busiType }
    : entry;

const byTime = (a: SandboxEntry, b: SandboxEntry): number => a.bookedMs - b.bookedMs;

export class MerchantLedger {
  readonly #all: SandboxEntry[];
  readonly #byBatchNo: Map<string, SandboxEntry>;
  readonly #nowMs: () => number;
  #visible: SandboxEntry[] = [];
  /** `#visible` is right while the clock is in this span, and until an entry is changed. */
  #valid = NEVER;

  constructor(entries: readonly SandboxEntry[], nowMs: () => number) {
    this.#all = [...entries].sort(byTime);
    this.#byBatchNo = new Map(entries.map((entry) => [entry.batchNo, entry]));
    this.#nowMs = nowMs;
  }

  /** The entries that the platform shows now, by time. */
  visible(): readonly SandboxEntry[] {
    const nowMs = this.#nowMs();
    if (nowMs < this.#valid.fromMs || nowMs >= this.#valid.untilMs) {
      this.#visible = this.#all
        .filter((entry) => shownFromMs(entry) <= nowMs && nowMs < entry.visibleUntilMs)
        .map((entry) => asShown(entry, nowMs));
      this.#valid = { fromMs: nowMs, untilMs: this.#nextTurnMs(nowMs) };
    }
    return this.#visible;
  }

  /** The first instant after `nowMs` at which an entry appears, changes or vanishes. */
  #nextTurnMs(nowMs: number): number {
    let untilMs = Number.POSITIVE_INFINITY;
    for (const entry of this.#all) {
      const { visibleUntilMs, amendment } = entry;
      for (const ms of [shownFromMs(entry), visibleUntilMs, amendment?.fromMs ?? Number.POSITIVE_INFINITY]) {
        if (ms > nowMs && ms < untilMs) untilMs = ms;
      }
    }
    return untilMs;
  }

  /** Changes what an entry says, or when it is shown. Throws an `Error` if there is no such entry. */
  change(
    batchNo: string,
    changes: Partial<Omit<SandboxEntry, 'batchNo' | 'merchantNo' | 'currency' | 'bookedMs'>>,
  ): void {
    const entry = this.#byBatchNo.get(batchNo);
    if (entry === undefined) throw new Error(`the sandbox has no entry ${batchNo}`);
    Object.assign(entry, changes);
    this.#valid = NEVER;
  }

  /** The first entry in a span that is never shown, if any. */
  heldBack(beginMs: number, endMs: number): SandboxEntry | undefined {
    const until = this.#after(this.#all, endMs);
    for (let at = this.#after(this.#all, beginMs - 1); at < until; at += 1) {
      if (this.#all[at]!.visibleFromMs === Number.POSITIVE_INFINITY) return this.#all[at];
    }
    return undefined;
  }

  /** The visible entries that match: how many, and a function that returns the n-th. */
  matching(query: Query): { readonly total: number; readonly at: (index: number) => SandboxEntry } {
    const visible = this.visible();
    if (query.batchNo !== undefined) {
      const entry = visible.find(({ batchNo }) => batchNo === query.batchNo);
      const found =
        entry !== undefined &&
        entry.bookedMs >= query.beginMs &&
        entry.bookedMs <= query.endMs &&
        matches(entry, query)
          ? [entry]
          : [];
      return { total: found.length, at: (index) => found[index]! };
    }
    const from = this.#after(visible, query.beginMs - 1);
    const until = this.#after(visible, query.endMs);
    if (query.currency === undefined && query.flowType === undefined && query.busiType === undefined) {
      // A range that begins after its end has no entries.
      return { total: Math.max(0, until - from), at: (index) => visible[from + index]! };
    }
    const found = visible.slice(from, until).filter((entry) => matches(entry, query));
    return { total: found.length, at: (index) => found[index]! };
  }

  /** Index of the first entry booked after `ms`. */
  #after(entries: readonly SandboxEntry[], ms: number): number {
    let low = 0;
    let high = entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (entries[middle]!.bookedMs <= ms) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const matches = (entry: SandboxEntry, query: Query): boolean =>
  (query.currency === undefined || entry.currency === query.currency) &&
  (query.busiType === undefined || entry.busiType === query.busiType) &&
  (query.flowType === undefined || (query.flowType === '1') === (entry.inAmount !== null));

export type SandboxMerchants = ReturnType<typeof createMerchants>;

export function createMerchants(scenario: Scenario, nowMs: () => number) {
  const merchants = new Map<string, NewMerchant>(scenario.merchants.map((one) => [one.merchantNo, one]));
  const made = ({ merchantNo, currencies }: NewMerchant): MerchantLedger =>
    new MerchantLedger(generateLedger(scenario, merchantNo, currencies), nowMs);
  // Made before the first call, which would have to wait for a large ledger.
  const ledgers = new Map(scenario.merchants.map((merchant) => [merchant.merchantNo, made(merchant)]));
  return {
    all: (): readonly NewMerchant[] => [...merchants.values()],
    /** From now on the token opens the merchant's ledger. If the merchant is known already, only the new token does. */
    add: (merchant: NewMerchant): void => {
      merchants.set(merchant.merchantNo, merchant);
      if (!ledgers.has(merchant.merchantNo)) ledgers.set(merchant.merchantNo, made(merchant));
    },
    /** From now on only this token opens the merchant's ledger. */
    renewToken: (merchantNo: string, token: string): void => {
      merchants.set(merchantNo, { ...merchants.get(merchantNo)!, token });
    },
    /** The merchantNo if the token is that merchant's, else null (docs/platform.md 5, rule 1). */
    withToken: (merchantNo: string, token: string): string | null =>
      merchants.get(merchantNo)?.token === token ? merchantNo : null,
    ledgerOf: (merchantNo: string): MerchantLedger => {
      const ledger = ledgers.get(merchantNo);
      if (ledger === undefined) throw new Error(`the sandbox has no merchant ${merchantNo}`);
      return ledger;
    },
  };
}
