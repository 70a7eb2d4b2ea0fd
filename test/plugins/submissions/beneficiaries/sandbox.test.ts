/** Compares our check with the sandbox. The two are written independently from the document. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerBeneficiary, type RegisterDeps } from '../../../../src/plugins/submissions/register.ts';
import { createBeneficiaryClient } from '../../../../src/plugins/submissions/registration-client.ts';
import { sandbox, TOKEN } from '../../sandbox/support.ts';
import { freshDatabase } from '../../../support/database.ts';
import { rejection, transportTo } from '../../../platform/stranger.ts';
import type { Database } from '../../../../src/store/engine/database.ts';
import { thisHolder } from '../../../../src/host/process-identity.ts';
import { CONTEXT, RULES } from './cases.ts';
import { checked, SECRET_KEY } from './support.ts';

let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

const ACCEPTED = RULES.flatMap(([rule, accepted]) =>
  accepted.map((file, index) => [`${rule} ${index + 1}`, file] as const),
);

const depsTo = (url: string): RegisterDeps => ({
  db: database.db,
  client: createBeneficiaryClient(transportTo(url, { retriesMax: 0 }).transport),
  secretKeys: [{ id: 'k1', key: SECRET_KEY }],
  publicUrl: null,
  holder: thisHolder(),
  now: () => new Date(),
  signal: new AbortController().signal,
});
const SANDBOX_MERCHANT = { merchantNo: 'M1', token: TOKEN };

it('a registration whose reply was lost is one registration, however often it is sent', async () => {
  const { url, acted } = await sandbox({ hostility: { lostRepliesEvery: 1, strikesMax: 2 } });
  const register = () => registerBeneficiary(depsTo(url), SANDBOX_MERCHANT, checked());
  for (let lost = 1; lost <= 2; lost += 1)
    expect(await rejection(register())).toMatchObject({ name: 'RegistrationUnanswered' });
  const { beneficiary } = await register();
  expect(beneficiary).toMatchObject({ sends: 3, isNotified: false });
  expect(acted.payees()).toMatchObject([{ payeeId: beneficiary.payeeId, bizFlowNo: beneficiary.bizFlowNo }]);
});

describe('the sandbox accepts what the check accepts', () => {
  it.each(ACCEPTED.map(([name, file], index) => [name, file, index] as const))(
    '%s',
    async (_, file, index) => {
      const { url } = await sandbox({
        walletMethods: [...CONTEXT.walletMethods],
        reference: { bank: {}, payout_method: {} },
        latitude: { furtherFields: true },
      });
      const { beneficiary } = await registerBeneficiary(
        depsTo(url),
        SANDBOX_MERCHANT,
        checked({ ...file, merOrderNo: `CASE-${index}`, accountNo: `ACCOUNT-${index}` }),
      );
      expect(beneficiary).toMatchObject({ status: '01', problem: null });
    },
  );
});
