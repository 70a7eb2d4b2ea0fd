/** Words what changed many entries, in place of a sentence for each entry and break. Pure. */
import { moneyText } from '../../ledger/money.ts';
import { netOf } from '../../ledger/common-change.ts';
import { counted } from '../../ledger/text.ts';
import type { MerchantCommonChange } from '../../store/common-changes.ts';
import type { MovedBalances } from '../../store/moved-balances.ts';
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

const MOVED: Readonly<Record<MovedBalances['kind'], readonly [begin: string, then: string, todo: string]>> = {
  late: ['late entry', 'moved', 'ask the platform why the entry came late'],
  vanished: [
    'entry',
    'vanished and moved',
    'ask the platform why it no longer shows it; it is kept, and left out of the chain',
  ],
  amended: ['amended entry', 'moved', 'ask the platform why it changed a booked entry'],
};

/** One entry that the balances of later ones follow. */
export function reasonOfMoved({ merchantNo, kind, entry, moved }: MovedBalances): Reason {
  const [begin, then, todo] = MOVED[kind];
  const { batchNo, bookedAt, currency } = entry;
  const net = netOf(entry);
  const [side, size] = net.startsWith('-') ? ['debit', net.slice(1)] : ['credit', net];
  return {
    exitCode: EXIT.needsPerson,
    what:
      `${merchantNo}: ${begin} ${batchNo} of ${bookedAt.slice(0, 10)}, a ${side} of ${moneyText(size, currency)}, ${then} ` +
      counted(moved, 'later balance'),
    todo,
    merchantNo,
  };
}
