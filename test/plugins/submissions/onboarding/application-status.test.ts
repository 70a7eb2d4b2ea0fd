import { expect, it } from 'vitest';
import { adviceOf } from '../../../../src/plugins/submissions/application-status.ts';
import { withoutValues } from '../../../../src/plugins/submissions/findings.ts';
import type { ApplicationRow } from '../../../../src/plugins/submissions/applications.ts';
import { application, path, person } from './applications.ts';

const payload = application({ shareholder: [person('Ada (Wong)', { certNo: 'K8.1+2' })] });

it.each([
  ['the licence is cut off', 'the licence is cut off'],
  ['KYC@EXAMPLE.COM bounced', '*** bounced'],
  ['certNo K8.1+2 of ada (wong) is unknown', 'certNo *** of *** is unknown'],
  ['certNo K8X1+2 is unknown', 'certNo K8X1+2 is unknown'],
  ['Ada is not (Wong)', '*** is not ***'],
  [`${path('registration')} is not legible`, '*** is not legible'],
  ['natureType 0 is wrong for HK', 'natureType 0 is wrong for HK'],
])('%s: shown as %s', (reason, shown) => {
  expect(withoutValues(reason, payload)).toBe(shown);
});

it('of an approved one the merchant is named', () => {
  expect(adviceOf({ state: 'approved', merchantNo: 'M1' } as ApplicationRow)).toMatch(
    /^Merchant M1 is known; /,
  );
});
