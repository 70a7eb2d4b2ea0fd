/**
 * A bucket as docs/operations.md sets it up: every version is kept and locked, and daybook may do what the guide's policy
 * allows and nothing else. On a real gateway only, as no npm server has locks.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  ListObjectVersionsCommand,
  PutBucketPolicyCommand,
  PutObjectCommand,
  PutObjectLockConfigurationCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openObjectStore } from '../../src/objects/open.ts';
import { clientOf, gatewayServer } from '../objects/s3-servers.ts';
import { verifyProblems } from '../statements/store-oracle.ts';
import { FROM, MERCHANT, objectsOf, openStage, publishedIn, scenario, type Stage } from '../support/stage.ts';

const PREFIX = 'daybook';
const { merchantNo } = MERCHANT;
const folder = `merchant=${merchantNo}/date=${FROM}`;
const STATEMENT = `${folder}/${merchantNo}_USD_${FROM}.r1.csv`;
const SUMMARY = `${folder}/summary.r1.csv`;
const gateway = gatewayServer();

/** What else can be done with objects and buckets. The gateway knows no NotAction. */
const OTHER_ACTIONS = [
  ...['s3:BypassGovernanceRetention', 's3:DeleteObject', 's3:DeleteObjectVersion', 's3:GetBucketAcl'],
  ...[
    's3:GetBucketLocation',
    's3:GetBucketObjectLockConfiguration',
    's3:GetBucketPolicy',
    's3:GetBucketVersioning',
  ],
  ...['s3:GetObjectAcl', 's3:GetObjectRetention', 's3:GetObjectTagging', 's3:GetObjectVersion'],
  ...['s3:ListBucketVersions', 's3:ListMultipartUploadParts', 's3:PutBucketAcl', 's3:PutBucketVersioning'],
  ...['s3:PutLifecycleConfiguration', 's3:PutObjectAcl', 's3:PutObjectRetention', 's3:PutObjectTagging'],
];

/** The actions that the guide's policy allows. */
const allowed = (): string[] => {
  const page = readFileSync('docs/operations.md', 'utf8');
  const policy = JSON.parse(/^```json\n([\s\S]*?)^```$/m.exec(page)![1]!) as {
    Statement: { Action: string[] }[];
  };
  return policy.Statement.flatMap(({ Action }) => Action);
};

describe.skipIf(gateway === null)('a bucket with versions and object lock', () => {
  let client: S3Client;
  let Bucket: string;
  let stage: Stage;
  beforeEach(async () => {
    client = clientOf(gateway!);
    Bucket = `daybook-${randomUUID()}`;
    await client.send(new CreateBucketCommand({ Bucket, ObjectLockEnabledForBucket: true }));
    await client.send(
      new PutObjectLockConfigurationCommand({
        Bucket,
        ObjectLockConfiguration: {
          ObjectLockEnabled: 'Enabled',
          Rule: { DefaultRetention: { Mode: 'COMPLIANCE', Days: 1 } },
        },
      }),
    );
    const objects = await openObjectStore({
      statementsUrl: `s3://${Bucket}/${PREFIX}`,
      s3ForcePathStyle: null,
      env: gateway!.env,
    });
    stage = await openStage({ scenario: scenario({ entriesPerDay: 10 }), objects });
  });
  afterEach(async () => {
    await stage.close();
    client.destroy();
  });

  const amend = (busiType: string): void => {
    const entry = stage.sandbox.entriesOf(merchantNo).find(({ currency }) => currency === 'USD')!;
    stage.sandbox.amend(merchantNo, entry.batchNo, { busiType });
  };
  /** How many versions each key has. */
  async function versions(): Promise<Map<string, number>> {
    const { Versions = [] } = await client.send(new ListObjectVersionsCommand({ Bucket }));
    const counts = new Map<string, number>();
    for (const { Key } of Versions) {
      const key = Key!.slice(PREFIX.length + 1);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return counts;
  }
  const repair = () => stage.run({ command: 'publish', range: null, repairs: true });

  test('statements and summaries are written once, manifests get versions, and nobody can take one away', async () => {
    expect(await stage.run()).toMatchObject({ exitCode: 0, notes: [] });
    amend('CHANGED');
    expect(publishedIn(await stage.run())).toEqual([`USD ${FROM} r2`]);
    expect((await stage.run()).publish).toMatchObject({ published: [], unrepaired: [] });
    expect((await repair()).publish).toMatchObject({ published: [], repaired: [], unrepaired: [] });
    const counts = await versions();
    expect([...counts].filter(([key, count]) => key.endsWith('.csv') && count > 1)).toEqual([]);
    expect(counts.get(`${folder}/manifest.json`)).toBe(2);
    expect(await verifyProblems(stage.app.objects)).toEqual([]);

    const { Versions = [] } = await client.send(new ListObjectVersionsCommand({ Bucket }));
    const [first] = Versions.filter(({ Key }) => Key === `${PREFIX}/${STATEMENT}`);
    await expect(
      client.send(new DeleteObjectCommand({ Bucket, Key: first!.Key, VersionId: first!.VersionId })),
    ).rejects.toMatchObject({ name: 'AccessDenied' });
  });

  test('what was hidden by a delete marker or overwritten comes back as a new version', async () => {
    await stage.run();
    const before = await objectsOf(stage);
    await client.send(new DeleteObjectCommand({ Bucket, Key: `${PREFIX}/${STATEMENT}` }));
    await client.send(new PutObjectCommand({ Bucket, Key: `${PREFIX}/${SUMMARY}`, Body: 'altered' }));
    expect((await repair()).publish?.repaired).toMatchObject([
      { key: STATEMENT, damage: 'missing' },
      { key: SUMMARY, damage: 'altered' },
    ]);
    expect(await objectsOf(stage)).toEqual(before);
    expect((await versions()).get(SUMMARY)).toBe(3);
  });

  test('with the actions of the guide’s policy and no other, runs, repairs and the check of doctor do all they do', async () => {
    await client.send(
      new PutBucketPolicyCommand({
        Bucket,
        Policy: JSON.stringify({
          Version: '2012-10-17',
          Statement: [
            {
              Effect: 'Deny',
              Principal: '*',
              Action: OTHER_ACTIONS.filter((action) => !allowed().includes(action)),
              Resource: [`arn:aws:s3:::${Bucket}`, `arn:aws:s3:::${Bucket}/*`],
            },
          ],
        }),
      }),
    );
    await expect(client.send(new DeleteObjectCommand({ Bucket, Key: 'any' }))).rejects.toMatchObject({
      name: 'AccessDenied',
    });
    await stage.app.objects.check();
    expect(await stage.run()).toMatchObject({ exitCode: 0, notes: [] });
    amend('CHANGED');
    expect(publishedIn(await stage.run())).toEqual([`USD ${FROM} r2`]);
    expect((await repair()).publish).toMatchObject({ repaired: [], unrepaired: [] });
    expect(await verifyProblems(stage.app.objects)).toEqual([]);
  });
});
