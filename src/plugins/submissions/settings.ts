/** Settings of applications and registrations. */
import { z } from 'zod';
import { dayOf } from '../../ledger/business-day.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import type { SettingsWithoutPlatform } from '../../settings/settings.ts';
import { setting, settingsGroup } from '../../settings/setting.ts';
import { codes, isCode, listOf, someOf } from '../../settings/values/lists.ts';
import { jsonText } from '../../settings/values/scalars.ts';

/** Fields of sp1101 whose codes are in an appendix that the document does not include (docs/platform.md 2.3, 2.4). */
const CODE_LIST_FIELDS = ['sourceFunds', 'paymentPurpose', 'customerIdentity', 'natures'] as const;
const NO_CODE_LISTS = { sourceFunds: null, paymentPurpose: null, customerIdentity: null, natures: null };
/** What an image may be: the path of an uploaded one, the image itself, or where it is on the web. */
const IMAGE_KINDS = ['path', 'base64', 'dataUrl', 'url'] as const;

/** For each field the list of codes it accepts, or null if the document's own list is not known. */
const codeLists = <const Field extends string>(fields: readonly Field[]) => {
  const error = `must map ${fields.join(', ')} to lists of codes, or to null (in the environment: JSON)`;
  const list = listOf(isCode, error).nullable().default(null);
  const shape = Object.fromEntries(fields.map((field) => [field, list])) as Record<Field, typeof list>;
  return z.preprocess(jsonText, z.strictObject(shape, { error }).readonly());
};

export const submissionSettings = settingsGroup(
  {
    PLATFORM_CODE_LISTS: setting(
      codeLists(CODE_LIST_FIELDS).default(NO_CODE_LISTS),
      "Codes that the platform's appendix lists for applications. null accepts any text in the form of a code. In the environment this is JSON.",
      { example: '{"sourceFunds":["01","02"]}' },
    ),
    PLATFORM_WALLET_METHODS: setting(
      codes().default([]),
      'The two wallet payout methods that need no bank code. In the environment: JSON, or words separated by commas.',
      { example: '["WALLET_A","WALLET_B"]' },
    ),
    PLATFORM_IMAGES: setting(
      someOf(IMAGE_KINDS).default(IMAGE_KINDS),
      "What an image of a beneficiary's papers may be: path (of an uploaded file), base64, dataUrl, url (https). The platform's document does not say which it takes.",
      { example: 'base64' },
    ),
  },
  { value: (own) => own },
);

/** The zone of the days that a file is checked by and of lists: the platform's. */
export const zoneOf = ({ platform }: SettingsWithoutPlatform): string => platform?.timeZone ?? 'UTC';
export const todayOf = (settings: SettingsWithoutPlatform, now: Date): BusinessDay =>
  dayOf(now.getTime(), zoneOf(settings));

/** Null for a field accepts any text that resembles a code. */
export type CodeLists = ReturnType<typeof submissionSettings.value>['codeLists'];
