/** The options of daybook, two lines each. Without these and its folder, an option is gone. */
import type { MonthFormat, StatementFormat } from '../statements/formats/format.ts';
import { alerts } from './alerts/option.ts';
import { beneficiaries } from './beneficiaries/option.ts';
import { books } from './books/option.ts';
import { embedded } from './embedded/option.ts';
import { formats } from './formats/option.ts';
import { mail } from './mail/option.ts';
import { notifications } from './notifications/option.ts';
import { onboarding } from './onboarding/option.ts';
import { onboardingDemo } from './onboarding-demo/option.ts';
import { observe } from './observe/option.ts';
import type { Option, WorkQueue } from './option.ts';
import { pages } from './pages/option.ts';
import { queue } from './queue/option.ts';
import { reference } from './reference/option.ts';
import { sandbox } from './sandbox/option.ts';

export const OPTIONS: readonly Option[] = [
  // In the order in which `daybook --help` has their commands.
  books,
  queue,
  alerts,
  mail,
  reference,
  onboarding,
  beneficiaries,
  notifications,
  pages,
  observe,
  sandbox,
  onboardingDemo,
  embedded,
  formats,
];

/** What the option with this part brings; null where no option has it. */
export function part<Name extends keyof Option>(name: Name): NonNullable<Option[Name]> | null {
  for (const option of OPTIONS) {
    const own = option[name];
    if (own != null) return own;
  }
  return null;
}

/** The queue of workers; null where these settings ask for none, or no option has one. */
export const queueOf = ({ workers }: { readonly workers: string }): WorkQueue | null =>
  workers === 'none' ? null : part('queue');

/** The formats of statements next to CSV. */
export const optionalFormats = (): readonly StatementFormat[] =>
  OPTIONS.flatMap(({ formats: own = [] }) => own);

/** The formats of a merchant's month. */
export const monthFormats = (): readonly MonthFormat[] =>
  OPTIONS.flatMap(({ monthFormats: own = [] }) => own);
