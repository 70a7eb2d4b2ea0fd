/** Sends a registration again that has no reply, when its file is no longer at hand. */
import { type BeneficiaryRow } from '../store/beneficiaries/beneficiaries.ts';
import { beneficiaryPayload } from '../store/beneficiaries/beneficiary-calls.ts';
import { asInTheFile, registerBeneficiary, type RegisterDeps, type Registered } from './register.ts';
import type { MerchantAccess } from '../platform/ledger-reader.ts';
import type { Registration } from './registration.ts';

/** Registers what was recorded, under the same number. Registering the same file again would do the same. */
export async function resendBeneficiary(
  deps: RegisterDeps,
  merchant: MerchantAccess,
  row: BeneficiaryRow,
): Promise<Registered> {
  const payload = await beneficiaryPayload(deps.db, row.merOrderNo, deps.secretKeys);
  // It was checked before it was recorded.
  return registerBeneficiary(deps, merchant, asInTheFile(row, payload) as unknown as Registration);
}
