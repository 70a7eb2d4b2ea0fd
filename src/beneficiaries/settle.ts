/** A person has asked the platform (sp2402 in its document) what became of a registration whose result never came. */
import type { Transaction } from 'kysely';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import {
  listBeneficiaries,
  settleBeneficiary,
  type BeneficiaryRow,
} from '../store/beneficiaries/beneficiaries.ts';
import type { DB } from '../store/engine/schema.ts';

/** It stands otherwise than a person could settle; the message says how. Nothing was changed. */
class RegistrationStands extends ExpectedError {
  override readonly name = 'RegistrationStands';
  readonly exitCode = EXIT.usage;
}

export interface Settlement {
  readonly id: number;
  readonly status: '03' | '04';
  readonly payeeId: string | null;
  readonly note: string | null;
}

/** Why a registration is not to be settled so, or null. Decided ones only take a payeeId that is missing. */
function whyNot({ status, payeeId }: BeneficiaryRow, asked: Settlement): string | null {
  if (status === 'refused') return 'was not taken by the platform; register it again';
  if (payeeId !== null && asked.payeeId !== null && payeeId !== asked.payeeId)
    return `has payeeId ${payeeId} from the platform already`;
  if (status === '01' || status === 'sending') return null;
  if (status !== asked.status) return `is ${status === '04' ? 'approved' : 'rejected'} by the platform`;
  return payeeId === null && asked.payeeId !== null ? null : 'stands so already';
}

/** Throws `RegistrationStands`. */
export async function settleRegistration(
  trx: Transaction<DB>,
  asked: Settlement,
  now: Date,
): Promise<BeneficiaryRow> {
  await trx.selectFrom('beneficiary').select('id').where('id', '=', asked.id).forUpdate().execute();
  const [row] = await listBeneficiaries(trx, asked.id);
  const against = row === undefined ? 'is no registration' : whyNot(row, asked);
  if (against !== null) {
    throw new RegistrationStands(
      `registration ${asked.id} ${against}; nothing was changed. \`daybook beneficiary status\` lists how they stand.`,
    );
  }
  return (await settleBeneficiary(trx, asked.id, { ...asked, now }))!;
}
