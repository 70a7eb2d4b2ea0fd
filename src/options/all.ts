/** The options of daybook, two lines each. Without these and its folder, an option is gone. */
import { beneficiaries } from './beneficiaries/option.ts';
import { notifications } from './notifications/option.ts';
import { onboarding } from './onboarding/option.ts';
import { onboardingDemo } from './onboarding-demo/option.ts';
import type { Option } from './option.ts';
import { reference } from './reference/option.ts';
import { sandbox } from './sandbox/option.ts';

export const OPTIONS: readonly Option[] = [
  // In the order in which `daybook --help` has their commands.
  reference,
  onboarding,
  beneficiaries,
  notifications,
  sandbox,
  onboardingDemo,
];
