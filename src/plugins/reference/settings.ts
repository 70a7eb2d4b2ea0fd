/** Settings of the platform's lists. */
import { z } from 'zod';
import { isCountryCode } from '../../ledger/countries.ts';
import { setting, settingsGroup } from '../../settings/setting.ts';
import { listOf } from '../../settings/values/lists.ts';
import { givenList, jobTimes } from '../../settings/values/scalars.ts';

const countries = () =>
  z.preprocess(
    givenList,
    listOf(
      (text): text is string => isCountryCode(text),
      'must be a list of ISO 3166-1 alpha-2 country codes, two capitals each',
    ),
  );

export const referenceSettings = settingsGroup(
  {
    DAYBOOK_SCHEDULE_REFERENCE: setting(
      jobTimes().default('0 3 * * 1'),
      'When the reference data are read. Never without platform.agentHeaders: the platform refuses these calls then.',
      { example: '0 3 * * 1' },
    ),
    DAYBOOK_REFERENCE_COUNTRIES: setting(
      countries().default([]),
      'Countries whose banks and payout methods are stored, two letters each.',
      { example: '["CN","US"]' },
    ),
  },
  { value: ({ referenceCountries }) => ({ referenceCountries }) },
);
