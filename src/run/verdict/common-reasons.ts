/** Words one change of the platform's over many entries, in place of a sentence for each entry and break. Pure. */
import type { MerchantCommonChange } from '../../store/common-changes.ts';
import { EXIT } from './exit-codes.ts';
import type { Reason } from './reason.ts';

/** The exit code of the run comes from what was found of the single entries and windows. */
export const reasonOfCommon = ({ merchantNo, count, of, what, from, to }: MerchantCommonChange): Reason => ({
  exitCode: EXIT.needsPerson,
  what:
    `${merchantNo}: ${count === of ? `${count} entries` : `${count} of ${of} changed entries`} of ` +
    `${from === to ? from : `${from} to ${to}`} ${what}`,
  todo: 'send this sentence to the platform: it is one change over many entries, not one of each entry',
  merchantNo,
});
