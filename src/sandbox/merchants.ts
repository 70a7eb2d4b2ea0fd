/** Whom the platform knows: the scenario's merchants and those approved since, each with a token and a ledger. */
import { generateLedger } from './ledger.ts';
import { MerchantLedger } from './merchant-ledger.ts';
import type { NewMerchant } from './reviews.ts';
import type { Scenario } from './scenario.ts';

export interface SandboxMerchants {
  readonly all: () => readonly NewMerchant[];
  /** From now on the token opens the merchant's ledger; the same merchant again has the new token only. */
  readonly add: (merchant: NewMerchant) => void;
  /** Whose token it is, or null (docs/platform.md 5, rule 1). */
  readonly withToken: (merchantNo: string, token: string) => string | null;
  readonly ledgerOf: (merchantNo: string) => MerchantLedger;
}

export function createMerchants(scenario: Scenario, nowMs: () => number): SandboxMerchants {
  const merchants = new Map<string, NewMerchant>(scenario.merchants.map((one) => [one.merchantNo, one]));
  const made = ({ merchantNo, currencies }: NewMerchant): MerchantLedger =>
    new MerchantLedger(generateLedger(scenario, merchantNo, currencies), nowMs);
  // Before the first call, which would wait for a large one.
  const ledgers = new Map(scenario.merchants.map((merchant) => [merchant.merchantNo, made(merchant)]));
  return {
    all: () => [...merchants.values()],
    add: (merchant) => {
      merchants.set(merchant.merchantNo, merchant);
      if (!ledgers.has(merchant.merchantNo)) ledgers.set(merchant.merchantNo, made(merchant));
    },
    withToken: (merchantNo, token) => (merchants.get(merchantNo)?.token === token ? merchantNo : null),
    ledgerOf: (merchantNo) => {
      const ledger = ledgers.get(merchantNo);
      if (ledger === undefined) throw new Error(`the sandbox has no merchant ${merchantNo}`);
      return ledger;
    },
  };
}
