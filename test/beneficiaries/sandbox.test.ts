/** What our check lets through, against the sandbox's own reading of the document: neither looks at the other. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerBeneficiary } from '../../src/beneficiaries/register.ts';
import { createBeneficiaryClient } from '../../src/platform/beneficiary.ts';
import { sandbox, TOKEN } from '../sandbox/support.ts';
import { freshDatabase } from '../support/database.ts';
import { transportTo } from '../platform/stranger.ts';
import type { Database } from '../../src/store/database.ts';
import { thisHolder } from '../../src/store/process-identity.ts';
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

describe('the sandbox takes what the check lets through', () => {
  it.each(ACCEPTED.map(([name, file], index) => [name, file, index] as const))(
    '%s',
    async (_, file, index) => {
      const { url } = await sandbox({
        walletMethods: [...CONTEXT.walletMethods],
        reference: { bank: {}, payout_method: {} },
      });
      const { transport } = transportTo(url, { retriesMax: 0 });
      const { beneficiary } = await registerBeneficiary(
        {
          db: database.db,
          client: createBeneficiaryClient(transport),
          secretKeys: [{ id: 'k1', key: SECRET_KEY }],
          publicUrl: null,
          holder: thisHolder(),
          now: () => new Date(),
          signal: new AbortController().signal,
        },
        { merchantNo: 'M1', token: TOKEN },
        checked({ ...file, merOrderNo: `CASE-${index}`, accountNo: `ACCOUNT-${index}` }),
      );
      expect(beneficiary).toMatchObject({ status: '01', problem: null });
    },
  );
});
