/** S3 servers to test with: fauxqs in this process, and a real gateway if the environment names one. */
import { randomUUID } from 'node:crypto';
import { CreateBucketCommand, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { startFauxqs } from 'fauxqs';
import type { ObjectStoreSettings, ObjectStore } from '../../src/objects/object-store.ts';
import { openObjectStore } from '../../src/objects/open.ts';

export interface S3Server {
  readonly env: Readonly<Record<string, string>>;
  /** True if it checks credentials and conditions as AWS does. */
  readonly strict: boolean;
  readonly stop: () => Promise<void>;
}

export async function startFauxqsServer(): Promise<S3Server> {
  const server = await startFauxqs({ port: 0, logger: false });
  return {
    env: {
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${server.port}`,
      AWS_ACCESS_KEY_ID: 'test-access',
      AWS_SECRET_ACCESS_KEY: 'test-secret',
    },
    strict: false,
    stop: () => server.stop(),
  };
}

/** A gateway for tests to write to, if DAYBOOK_TEST_S3_ENDPOINT, _ACCESS_KEY and _SECRET_KEY name one, else null. */
export function gatewayServer(): S3Server | null {
  const { DAYBOOK_TEST_S3_ENDPOINT, DAYBOOK_TEST_S3_ACCESS_KEY, DAYBOOK_TEST_S3_SECRET_KEY } = process.env;
  if (!DAYBOOK_TEST_S3_ENDPOINT || !DAYBOOK_TEST_S3_ACCESS_KEY || !DAYBOOK_TEST_S3_SECRET_KEY) return null;
  return {
    env: {
      AWS_ENDPOINT_URL_S3: DAYBOOK_TEST_S3_ENDPOINT,
      AWS_ACCESS_KEY_ID: DAYBOOK_TEST_S3_ACCESS_KEY,
      AWS_SECRET_ACCESS_KEY: DAYBOOK_TEST_S3_SECRET_KEY,
    },
    strict: true,
    stop: () => Promise.resolve(),
  };
}

export function clientOf(server: S3Server, more: S3ClientConfig = {}): S3Client {
  const { AWS_ENDPOINT_URL_S3, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = server.env;
  return new S3Client({
    endpoint: AWS_ENDPOINT_URL_S3!,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: AWS_ACCESS_KEY_ID!, secretAccessKey: AWS_SECRET_ACCESS_KEY! },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    ...more,
  });
}

/** Creates a new bucket and opens it as daybook does. */
export async function freshBucket(
  server: S3Server,
  env: Readonly<Record<string, string>> = {},
  more: Pick<ObjectStoreSettings, 'idleTimeoutMs'> = {},
): Promise<{ readonly store: ObjectStore; readonly bucket: string; readonly client: S3Client }> {
  const bucket = `daybook-${randomUUID()}`;
  const client = clientOf(server);
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  const store = await openObjectStore({
    statementsUrl: `s3://${bucket}/ledger/statements`,
    s3ForcePathStyle: null,
    ...more,
    env: { ...server.env, ...env },
  });
  return { store, bucket, client };
}
