import { expect, it } from 'vitest';
import { checkRegistration } from '../../src/plugins/submissions/registration-check.ts';
import { isDay } from '../../src/ledger/business-day.ts';
import { checkApplication } from '../../src/plugins/submissions/application-check.ts';
import { CONTEXT } from '../plugins/submissions/beneficiaries/cases.ts';
import { ENTERPRISE } from '../plugins/submissions/beneficiaries/files.ts';
import { application, rules } from '../plugins/submissions/onboarding/applications.ts';

const problemsOf = (checked: object): unknown => ('problems' in checked ? checked.problems : []);

it.each([
  ['Example\n', 'holds a line break or another control character; write it on one line'],
  ['Example \ud800 ', 'holds half a character; write it anew'],
  [' Example', 'begins or ends with a blank; leave the blank out'],
])('%j has the same fault first in an application and in a registration', (value, problem) => {
  const asked = checkApplication(application({ payerCity: value }), rules());
  expect(problemsOf(asked)).toEqual([{ path: 'payerCity', problem }]);
  const registered = checkRegistration({ ...ENTERPRISE, companyName: value }, CONTEXT);
  expect(problemsOf(registered)).toEqual([{ path: 'companyName', problem }]);
});

it.each([
  ['2000-02-29', true],
  ['1900-02-29', false],
  ['2026-13-01', false],
  ['2026-1-1', false],
  ['9999-12-31', true],
  ['2026-03-10T00:00', false],
])('%s is a day of the calendar: %s', (text, is) => {
  expect(isDay(text)).toBe(is);
});
