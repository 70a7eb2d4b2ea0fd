/** The merchants that the platform knows: those of the scenario and those approved since, with tokens and ledgers. */
import { generateLedger } from './ledger.ts';
import { MerchantLedger } from './merchant-ledger.ts';
import type { NewMerchant } from './review-results.ts';
import type { Scenario } from './scenario.ts';

export interface SandboxMerchants {
  readonly all: () => readonly NewMerchant[];
  /** From now on the token opens the merchant's ledger. If the merchant is known already, only the new token does. */
  readonly add: (merchant: NewMerchant) => void;
  /** The merchantNo if the token is that merchant's, else null (docs/platform.md 5, rule 1). */
  readonly withToken: (merchantNo: string, token: string) => string | null;
  readonly ledgerOf: (merchantNo: string) => MerchantLedger;
}

export function createMerchants(scenario: Scenario, nowMs: () => number): SandboxMerchants {
  const merchants = new Map<string, NewMerchant>(scenario.merchants.map((one) => [one.merchantNo, one]));
  const made = ({ merchantNo, currencies }: NewMerchant): MerchantLedger =>
    new MerchantLedger(generateLedger(scenario, merchantNo, currencies), nowMs);
  // Made before the first call, which would have to wait for a large ledger.
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
