/** Finds where the balances of later entries moved by the amount of one entry before them. Pure. */
import { netOf, type ContentChange } from './common-change.ts';
import type { LedgerEntry } from './entry.ts';
import { addAmounts, compareAmounts, subtractAmounts } from './money.ts';

/** From this entry on, the balances of an account are another amount off than before. */
export interface BalanceStep {
  readonly currency: string;
  /** The first entry whose balance moved. */
  readonly first: LedgerEntry;
  /** By how much, beyond what earlier balances moved. */
  readonly by: string;
  /** The entry's own amount changed by that. */
  readonly isOwn: boolean;
  /** How many balances moved with it; its own does not count if its amount changed. */
  readonly moved: number;
}

/** More steps than this are no balances that follow single entries. */
const STEPS_MAX = 3;

/** The steps of all accounts, in time order; none if there are too many. */
export function balanceSteps(changes: readonly ContentChange[]): BalanceStep[] {
  const following = changes.filter(
    ({ before, after }) => before.currency === after.currency && before.bookedMs === after.bookedMs,
  );
  const byAccount = Map.groupBy(following, ({ after }) => after.currency);
  const steps = [...byAccount.values()].flatMap(accountSteps);
  return steps.length > STEPS_MAX ? [] : steps.filter(({ moved }) => moved > 0);
}

function accountSteps(changes: readonly ContentChange[]): BalanceStep[] {
  const inTime = [...changes].sort(
    ({ after: a }, { after: b }) => a.bookedMs - b.bookedMs || (a.batchNo < b.batchNo ? -1 : 1),
  );
  const steps: BalanceStep[] = [];
  let shift = '0';
  for (const { before, after } of inTime) {
    const by = subtractAmounts(subtractAmounts(after.balance, before.balance), shift);
    const last = steps.at(-1);
    if (compareAmounts(by, '0') === 0) {
      if (last !== undefined) steps[steps.length - 1] = { ...last, moved: last.moved + 1 };
      continue;
    }
    const isOwn = compareAmounts(subtractAmounts(netOf(after), netOf(before)), by) === 0;
    steps.push({ currency: after.currency, first: after, by, isOwn, moved: isOwn ? 0 : 1 });
    shift = addAmounts(shift, by);
  }
  return steps;
}
