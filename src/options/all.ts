/** The options of daybook, two lines each. Without these and its folder, an option is gone. */
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import type { Alerts } from '../run/alerts.ts';
import type { CloseCheck } from '../statements/closes.ts';
import type { StatementFormat } from '../statements/formats/format.ts';
import { alerts } from './alerts/option.ts';
import { beneficiaries } from './beneficiaries/option.ts';
import { close } from './close/option.ts';
import { embedded } from './embedded/option.ts';
import { formats } from './formats/option.ts';
import { notifications } from './notifications/option.ts';
import { onboarding } from './onboarding/option.ts';
import { onboardingDemo } from './onboarding-demo/option.ts';
import { observe } from './observe/option.ts';
import type { Closes, Observation, Option, PagesPart, Signatures, WorkQueue } from './option.ts';
import { pages } from './pages/option.ts';
import { queue } from './queue/option.ts';
import { reference } from './reference/option.ts';
import { sandbox } from './sandbox/option.ts';
import { signing } from './signing/option.ts';

export const OPTIONS: readonly Option[] = [
  // In the order in which `daybook --help` has their commands.
  close,
  queue,
  alerts,
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
  signing,
];

/** Metrics and traces; null where no option has any. */
export const observation = (): Observation | null =>
  OPTIONS.find((option) => option.observation !== undefined)?.observation ?? null;

/** What sends alerts; null where no option does. */
export const loadAlerts = async (): Promise<Alerts | null> =>
  (await OPTIONS.find((option) => option.alerts !== undefined)?.alerts?.()) ?? null;

/** Opens the database without a server; null where no option has one. */
export const embeddedDatabase = (): NonNullable<Option['embeddedDatabase']> | null =>
  OPTIONS.find((option) => option.embeddedDatabase !== undefined)?.embeddedDatabase ?? null;

/** The pages; null where no option has any. */
export const loadPages = async (): Promise<PagesPart | null> =>
  (await OPTIONS.find((option) => option.pages !== undefined)?.pages?.()) ?? null;

/** Closed months; null where no option closes any. */
export const monthCloses = (): Closes | null =>
  OPTIONS.find((option) => option.closes !== undefined)?.closes ?? null;

/** Begins to check files of closes; null where no option knows any. */
export const beginCloseCheck = async (): Promise<CloseCheck | null> =>
  (await OPTIONS.find((option) => option.closeCheck !== undefined)?.closeCheck?.()) ?? null;

/** The queue that these settings ask for, which are refused where no option has one; null where they ask for none. */
export const queueOf = ({ workers }: Pick<SettingsWithoutPlatform, 'workers'>): WorkQueue | null =>
  workers === 'none' ? null : (OPTIONS.find((option) => option.queue !== undefined)?.queue ?? null);

/** The formats of statements next to CSV. */
export const optionalFormats = (): readonly StatementFormat[] =>
  OPTIONS.flatMap(({ formats: own = [] }) => own);

/** What reads keys and signatures; null where no option does. */
export const signatures = (): Signatures | null =>
  OPTIONS.find((option) => option.signatures !== undefined)?.signatures ?? null;
