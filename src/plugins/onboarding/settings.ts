/** The setting of applications. */
import { z } from 'zod';
import { setting, settingsGroup } from '../../settings/setting.ts';
import { isCode, listOf } from '../../settings/values/lists.ts';
import { jsonText } from '../../settings/values/scalars.ts';

/**
 * Fields of sp1101 whose codes are listed in an appendix that the document does not include (docs/platform.md 2.3,
 * 2.4).
 */
const CODE_LIST_FIELDS = ['sourceFunds', 'paymentPurpose', 'customerIdentity', 'natures'] as const;
const NO_CODE_LISTS = { sourceFunds: null, paymentPurpose: null, customerIdentity: null, natures: null };

/** For each field the list of codes it accepts, or null if the document's own list is not known. */
const codeLists = <const Field extends string>(fields: readonly Field[]) => {
  const error = `must map ${fields.join(', ')} to lists of codes, or to null (in the environment: JSON)`;
  const list = listOf(isCode, error).nullable().default(null);
  const shape = Object.fromEntries(fields.map((field) => [field, list])) as Record<Field, typeof list>;
  return z.preprocess(jsonText, z.strictObject(shape, { error }).readonly());
};

export const onboardingSettings = settingsGroup(
  {
    PLATFORM_CODE_LISTS: setting(
      codeLists(CODE_LIST_FIELDS).default(NO_CODE_LISTS),
      "Codes that the platform's appendix lists for applications. null accepts any text in the form of a code. In the environment this is JSON.",
      { example: '{"sourceFunds":["01","02"]}' },
    ),
  },
  { value: (own) => own },
);

/** Null for a field accepts any text that resembles a code. */
export type CodeLists = ReturnType<typeof onboardingSettings.value>['codeLists'];
