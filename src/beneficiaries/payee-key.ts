/** A fingerprint that is the same for two registrations of one payee, and does not show who the payee is. */
import { createHmac } from 'node:crypto';
import type { Registration } from './registration.ts';

/** The same for every way to write an account number: with blanks, dashes or small letters. */
const bare = (text: string): string => text.toUpperCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

/** A BIC of eight characters means the head office, as does the same with XXX at its end. */
const headOffice = (swiftCode: string): string => swiftCode.replace(/^(.{8})XXX$/, '$1');

/**
 * The account that money goes to is what makes a payee. A corrected name or address is the same payee, and so is
 * another currency, branch or order number: the document speaks of payees under review, not of currencies
 * (docs/platform.md 3.1). If there is no bank, the wallet's method stands in its place.
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
