/** Finds the one merchant that a call is made for. */
import type { MerchantAccess } from '../platform/ledger-reader.ts';
import { chosenMerchants } from './chosen-merchants.ts';
import { UsageError } from './verdict/exit-codes.ts';
import type { PlatformApp } from './app.ts';

/** The merchant asked for, or the only one there is. Throws `UsageError`. */
export async function oneMerchant(app: PlatformApp, asked: string | undefined): Promise<MerchantAccess> {
  const found = await chosenMerchants(app, asked === undefined ? null : [asked]);
  const [merchant, ...others] = found;
  if (merchant === undefined || others.length > 0) {
    const known = found.map(({ merchantNo }) => merchantNo).join(', ');
    throw new UsageError(`say for which merchant with --merchant NO; known: ${known}.`);
  }
  return merchant;
}
