/** Settles a registration by hand: its result never arrived, and a person has asked the platform about it. */
import type { Transaction } from 'kysely';
import {
  decideBeneficiary,
  lockBeneficiary,
  type BeneficiaryRow,
} from '../store/beneficiaries/beneficiaries.ts';
import type { DB } from '../store/engine/schema.ts';
import { RegistrationStands } from './errors.ts';

interface Settlement {
  readonly id: number;
  readonly status: '03' | '04';
  readonly payeeId: string | null;
  readonly note: string | null;
}

/** Why it must not be settled so, or null. If it is decided already, only a missing payeeId can be added. */
function whyNot({ status, payeeId }: BeneficiaryRow, asked: Settlement): string | null {
  if (status === 'refused') return 'was not taken by the platform; register it again';
  if (payeeId !== null && asked.payeeId !== null && payeeId !== asked.payeeId)
    return `has payeeId ${payeeId} from the platform already`;
  if (status === '01' || status === 'sending') return null;
  if (status !== asked.status) return `is ${status === '04' ? 'approved' : 'rejected'} by the platform`;
  return payeeId === null && asked.payeeId !== null ? null : 'stands so already';
}

/** Throws `RegistrationStands`, with nothing changed. */
export async function settleBeneficiary(
  trx: Transaction<DB>,
  { now, ...asked }: Settlement & { readonly now: Date },
): Promise<BeneficiaryRow> {
  const row = await lockBeneficiary(trx, asked.id);
  const against = row === null ? 'is no registration' : whyNot(row, asked);
  if (against !== null) {
    throw new RegistrationStands(
      `registration ${asked.id} ${against}; nothing was changed. \`daybook beneficiary status\` lists how they stand.`,
    );
  }
  return (await decideBeneficiary(trx, asked.id, { ...asked, now }))!;
}
