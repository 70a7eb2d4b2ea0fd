/** The options of daybook, one line each. Without its line and its folder, an option is gone. */
import { beneficiaries } from './beneficiaries/option.ts';
import { notifications } from './notifications/option.ts';
import { onboarding } from './onboarding/option.ts';
import { reference } from './reference/option.ts';
import { sandbox } from './sandbox/option.ts';
import type { Option } from './option.ts';

export const OPTIONS: readonly Option[] = [reference, onboarding, beneficiaries, notifications, sandbox];
