/** A process that registers one beneficiary, for tests with a second terminal or a killed process. */
import { registerBeneficiary } from '../../../../src/plugins/submissions/register.ts';
import type { Registration } from '../../../../src/plugins/submissions/registration-check.ts';
import { SUCCESS_CODES } from '../../../../src/ledger/success-codes.ts';
import { createBeneficiaryClient } from '../../../../src/plugins/submissions/registration-client.ts';
import { createTransport, systemTransportDeps } from '../../../../src/platform/transport.ts';
import { openDatabase } from '../../../../src/store/engine/connection.ts';
import { thisHolder } from '../../../../src/host/process-identity.ts';

/** The task, as JSON in the first argument. */
export interface ProcessTask {
  readonly databaseUrl: string;
  readonly platformUrl: string;
  readonly secretKey: string;
  readonly merchant: { readonly merchantNo: string; readonly token: string };
  readonly registration: Registration;
}

const task = JSON.parse(process.argv[2]!) as ProcessTask;
const database = await openDatabase({ databaseUrl: task.databaseUrl, dataDir: '' });
const transport = createTransport(
  {
    baseUrl: task.platformUrl,
    headers: { Authorization: 'Bearer {token}' },
    agentHeaders: {},
    agentToken: null,
    referralChannel: null,
    signing: null,
    concurrency: 1,
    rateLimitPerS: null,
    timeoutMs: 30_000,
    retriesMax: 0,
    successCodes: SUCCESS_CODES,
  },
  systemTransportDeps,
);
try {
  const { beneficiary } = await registerBeneficiary(
    {
      db: database.db,
      client: createBeneficiaryClient(transport),
      secretKeys: [{ id: 'k1', key: Buffer.from(task.secretKey, 'base64') }],
      publicUrl: 'https://daybook.example',
      holder: thisHolder(),
      now: () => new Date(),
      signal: new AbortController().signal,
    },
    task.merchant,
    task.registration,
  );
  console.log(beneficiary.status);
} catch (error) {
  console.log(error instanceof Error ? error.name : 'no error');
} finally {
  await transport.close();
  await database.close();
}
