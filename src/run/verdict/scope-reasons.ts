/** Words that a merchant with a ledger here is not read. Pure. */
import { EXIT } from './exit-codes.ts';
import type { Reason } from './reason.ts';

/** What to do about merchants whose token is nowhere. */
export const howToReadOrDisable = (merchantNo: string): string =>
  `give it its token with \`daybook merchants add --merchant-no ${merchantNo} --token-stdin\`; where it has left, ` +
  `\`daybook merchants disable ${merchantNo}\` puts that on record`;

export const notReadText = (merchantNo: string): string =>
  `${merchantNo} is not read, though it is active or has a ledger here: neither the settings nor the database have its token`;

export const reasonOfNotRead = (merchantNo: string): Reason => ({
  exitCode: EXIT.incomplete,
  what: notReadText(merchantNo),
  todo: howToReadOrDisable(merchantNo),
  merchantNo,
  awaitsPerson: true,
});
