/** All forms of lie, in the order of the card. */
import { amountForms } from './forms/amounts.ts';
import { balanceForms } from './forms/balances.ts';
import { amendedForms, currencyForms } from './forms/changed.ts';
import { clockForms } from './forms/clocks.ts';
import { doubledForms } from './forms/doubled.ts';
import { lateForms } from './forms/late.ts';
import { merchantForms } from './forms/merchants.ts';
import { missingForms } from './forms/missing.ts';
import { movedForms } from './forms/moved.ts';
import { pageForms } from './forms/pages.ts';
import { totalForms } from './forms/totals.ts';
import { unreadableForms } from './forms/unreadable.ts';
import { zoneForms } from './forms/zones.ts';
import type { Form } from './form.ts';

export const FORMS: readonly Form[] = [
  ...missingForms,
  ...totalForms,
  ...doubledForms,
  ...movedForms,
  ...amountForms,
  ...balanceForms,
  ...currencyForms,
  ...amendedForms,
  ...lateForms,
  ...merchantForms,
  ...clockForms,
  ...zoneForms,
  ...pageForms,
  ...unreadableForms,
];
