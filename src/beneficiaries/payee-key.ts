/** Tells two registrations of the same payee, without keeping in the clear who that is. */
import { createHmac } from 'node:crypto';
import type { Registration } from './registration.ts';

/** How account numbers and codes are written, with blanks, dashes or small letters, does not make another account. */
const bare = (text: string): string => text.toUpperCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

/** A BIC of eight names the head office, as one with XXX behind it does. */
const headOffice = (swiftCode: string): string => swiftCode.replace(/^(.{8})XXX$/, '$1');

/**
 * What makes a payee: the account money goes to. Names and addresses may be written in many ways, and correcting one
 * does not make another payee; nor do a second currency, branch or number of ours, as the document knows payees, not
 * currencies, under review (docs/platform.md 3.1). Where there is no bank, the wallet's method stands for it.
 */
function accountOf(registration: Registration): readonly string[] {
  const { countryCode, paymentMode, payoutMethod, accountNo, bankCode, swiftCode } = registration;
  const bank = paymentMode === 'SWIFT' ? headOffice(swiftCode ?? '') : (bankCode ?? payoutMethod);
  return [countryCode, bare(bank), bare(accountNo)];
}

/** HMAC-SHA-256 over the account, for one merchant. */
export const payeeKeyOf = (key: Buffer, merchantNo: string, registration: Registration): string =>
  createHmac('sha256', key)
    .update(JSON.stringify([merchantNo, ...accountOf(registration)]))
    .digest('hex');
