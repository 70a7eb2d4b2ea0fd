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
import { refusalForms } from './forms/refusals.ts';
import { goneForms } from './forms/gone.ts';
import { windowForms } from './forms/windows.ts';
import { nightlyForms } from './forms/nightly.ts';
import { manyForms } from './forms/many.ts';
import { noticeForms } from './forms/notices.ts';
import { causeForms } from './forms/causes.ts';
import { filterForms } from './forms/filters.ts';
import { dstForms } from './forms/dst.ts';
import { midrunForms } from './forms/midrun.ts';
import { combinedForms } from './forms/combined.ts';
import { roundForms } from './forms/rounds.ts';
import { capForms, totalOfLedgerForms, unlistedRefusalForms } from './forms/caps.ts';
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
  ...refusalForms,
  ...goneForms,
  ...windowForms,
  ...roundForms,
  ...nightlyForms,
  ...manyForms,
  ...noticeForms,
  ...causeForms,
  ...dstForms,
  ...midrunForms,
  ...filterForms,
  ...combinedForms,
  ...capForms,
  ...totalOfLedgerForms,
  ...unlistedRefusalForms,
];
