/** The setting of published formats. */
import { addedFormats } from '../../statements/formats/registered.ts';
import { setting, settingsGroup } from '../../settings/setting.ts';
import { someOf } from '../../settings/values/lists.ts';

/** Each day is published as CSV, whatever else is chosen: it is the file that is proven. */
const ALWAYS_PUBLISHED = 'csv';
const PUBLISHABLE = [
  ALWAYS_PUBLISHED,
  ...addedFormats.all().flatMap(({ name, canBePublished }) => (canBePublished ? [name] : [])),
];

export const formatSettings = settingsGroup(
  {
    DAYBOOK_STATEMENT_FORMATS: setting(
      someOf(PUBLISHABLE).default([ALWAYS_PUBLISHED]),
      'What each statement is published in. CSV always is; the others lie next to it, from the next revision on, and the manifest lists them: xlsx (a workbook), camt053 (ISO 20022 camt.053.001.08), mt940 (SWIFT MT940), pdf (to read and sign). Any of them can be downloaded without being published.',
      { example: PUBLISHABLE.join(',') },
    ),
  },
  {
    value: (own) => own,
    uses: ({ statementFormats }) =>
      addedFormats
        .all()
        .flatMap(({ name, packages }) =>
          packages === undefined
            ? []
            : [['DAYBOOK_STATEMENT_FORMATS', statementFormats.includes(name), packages] as const],
        ),
  },
);
