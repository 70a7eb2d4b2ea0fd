import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openObjectStore } from '../../src/objects/open.ts';
import { exitCodeOf } from '../../src/run/verdict/exit-codes.ts';
import { clientOf, gatewayServer, startFauxqsServer, type S3Server } from '../objects/s3-servers.ts';
import { startProxy } from '../support/proxy.ts';
import {
  DAYS,
  FROM,
  MERCHANT,
  objectsOf,
  openStage,
  publishedIn,
  storedOf,
  truthOf,
  type Stage,
} from '../support/stage.ts';

const { merchantNo } = MERCHANT;
const gateway = gatewayServer();
const servers: readonly (readonly [string, () => Promise<S3Server>])[] = [
  ['fauxqs', startFauxqsServer],
  ...(gateway === null ? [] : ([['the gateway', () => Promise.resolve(gateway)]] as const)),
];

/** What each request has to be allowed, by its first line. */
const ACTIONS: readonly (readonly [RegExp, string])[] = [
  [/^GET \/[^/?]+\/?\?\S*\blist-type=2\b/, 's3:ListBucket'],
  [/^GET \/[^/?]+\/?\?\S*\buploads\b/, 's3:ListBucketMultipartUploads'],
  [/^(?:GET|HEAD) \/[^/?]+\/[^?]+(?:\?x-id=GetObject)?$/, 's3:GetObject'],
  [/^PUT \/[^/?]+\/[^?]+\?(?:partNumber=\S*|x-id=PutObject)$/, 's3:PutObject'],
  [/^POST \/[^/?]+\/[^?]+\?upload(?:s=?|Id=\S+)$/, 's3:PutObject'],
  [/^DELETE \/[^/?]+\/[^?]+\?\S*\buploadId=/, 's3:AbortMultipartUpload'],
];
const actionOf = (line: string): string => ACTIONS.find(([pattern]) => pattern.test(line))?.[1] ?? line;

describe.each(servers)('statements on S3 (%s)', (_, start) => {
  let server: S3Server;
  let client: S3Client;
  let stage: Stage | null = null;
  beforeAll(async () => {
    server = await start();
    client = clientOf(server);
  });
  afterEach(async () => {
    await stage?.close();
    stage = null;
  });
  afterAll(async () => {
    client.destroy();
    await server.stop();
  });

  const objectsIn = (bucket: string, env: Readonly<Record<string, string>> = {}) =>
    openObjectStore({
      statementsUrl: `s3://${bucket}/ledger/statements`,
      s3ForcePathStyle: null,
      env: { ...server.env, ...env },
    });
  const newBucket = async (): Promise<string> => {
    const bucket = `daybook-${randomUUID()}`;
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    return bucket;
  };
  const text = async (bucket: string, key: string): Promise<string> => {
    const { Body } = await client.send(
      new GetObjectCommand({ Bucket: bucket, Key: `ledger/statements/${key}` }),
    );
    return Body!.transformToString();
  };

  test('all works as with a folder: exact copy, statements, a rerun that uploads nothing', async () => {
    const bucket = await newBucket();
    stage = await openStage({ objects: await objectsIn(bucket) });
    const report = await stage.run();
    expect(report).toMatchObject({ exitCode: 0, notes: [] });
    expect(await storedOf(stage)).toEqual(truthOf(stage));
    const onDirectory = await openStage();
    try {
      await onDirectory.run();
      const directory = await objectsOf(onDirectory);
      const objects = await objectsOf(stage);
      expect([...objects.keys()]).toEqual([...directory.keys()]);
      expect(objects).toEqual(directory);
    } finally {
      await onDirectory.close();
    }
    expect(await stage.run()).toMatchObject({ exitCode: 0, publish: { published: [] } });
  });

  test('a superseded revision keeps its bytes', async () => {
    const bucket = await newBucket();
    stage = await openStage({ objects: await objectsIn(bucket) });
    await stage.run();
    const key = (revision: number) =>
      `merchant=${merchantNo}/date=${FROM}/${merchantNo}_USD_${FROM}.r${revision}.csv`;
    const first = await text(bucket, key(1));
    const entry = stage.sandbox.entriesOf(merchantNo).find(({ currency }) => currency === 'USD')!;
    stage.sandbox.amend(merchantNo, entry.batchNo, { busiType: 'CORRECTED' });
    const report = await stage.run();
    expect(publishedIn(report)).toEqual([`USD ${FROM} r2`]);
    expect(await text(bucket, key(1))).toBe(first);
    expect(await text(bucket, key(2))).toBe(first.replace(`USD,${entry.busiType}`, 'USD,CORRECTED'));
    const manifest = JSON.parse(
      await text(bucket, `merchant=${merchantNo}/date=${FROM}/manifest.json`),
    ) as object;
    expect(JSON.stringify(manifest)).toContain(key(2).split('/').at(-1));
  });

  test('runs, a repair and the check of doctor ask for what the guide’s policy allows, and nothing else', async () => {
    const bucket = await newBucket();
    const proxy = await startProxy(server.env['AWS_ENDPOINT_URL_S3']!);
    const asked = new Set<string>();
    proxy.judge = ({ direction, bytes }) => {
      const line = /^([A-Z]+ \/\S*) HTTP\/1\.1\r\n/.exec(bytes.toString('latin1'));
      if (direction === 'up' && line !== null) asked.add(actionOf(line[1]!));
      return 'pass';
    };
    const objects = await objectsIn(bucket, { AWS_ENDPOINT_URL_S3: proxy.url });
    stage = await openStage({ objects });
    await objects.check();
    await stage.run();
    const Key = `ledger/statements/merchant=${merchantNo}/date=${FROM}/manifest.json`;
    await client.send(new DeleteObjectCommand({ Bucket: bucket, Key }));
    const repair = await stage.run({ command: 'publish', range: null, repairs: true });
    expect(repair.publish?.repaired).toHaveLength(1);
    await objects.put('in-parts', Buffer.alloc(9 * 1024 * 1024), {});
    await proxy.close();
    const page = readFileSync('docs/operations.md', 'utf8');
    const { Statement } = JSON.parse(/^```json\n([\s\S]*?)^```$/m.exec(page)![1]!) as {
      Statement: { Action: string[] }[];
    };
    expect([...asked].sort()).toEqual(Statement.flatMap(({ Action }) => Action).sort());
  });

  test('a missing bucket is reported before the platform is called', async () => {
    stage = await openStage({ objects: await objectsIn('no-such-bucket-at-all') });
    const failure: unknown = await stage.run().catch((error: unknown) => error);
    expect(failure).toMatchObject({
      name: 'ObjectStoreRefused',
      message: expect.stringMatching(/no-such-bucket-at-all.* does not exist/),
    });
    expect(exitCodeOf(failure)).toBe(2);
    expect(stage.sandbox.requestCount()).toBe(0);
    expect(await storedOf(stage)).toEqual([]);
  });

  test('wrong credentials are reported before the platform is called, without the secret', async (context) => {
    if (!server.strict) return context.skip('this server takes any credentials');
    const bucket = await newBucket();
    stage = await openStage({
      objects: await objectsIn(bucket, { AWS_SECRET_ACCESS_KEY: 'wrong-and-never-to-be-shown' }),
    });
    const failure = (await stage.run().catch((error: unknown) => error)) as Error;
    expect(exitCodeOf(failure)).toBe(2);
    expect(failure.message).toMatch(/AWS_SECRET_ACCESS_KEY/);
    expect(failure.message).not.toContain('never-to-be-shown');
    expect(stage.sandbox.requestCount()).toBe(0);
  });

  test('a server that is away is reported with what to check, before the platform is called', async () => {
    const away = await startFauxqsServer();
    const env = away.env;
    await away.stop();
    stage = await openStage({ objects: await objectsIn('bucket', env) });
    const report = await stage.run();
    expect(report).toMatchObject({ exitCode: 4, notes: [expect.stringMatching(/object store|S3|bucket/i)] });
    // It is recorded, so that a person on call sees the failed night.
    const run = await stage.app.database.db.selectFrom('run').selectAll().executeTakeFirstOrThrow();
    expect(run).toMatchObject({ id: report.runId, exit_code: 4, figures: { notes: report.notes } });
    expect(stage.sandbox.requestCount()).toBe(0);
  });

  test('a store lost during a run keeps the ledger and what was published; the next run publishes the rest', async () => {
    const bucket = await newBucket();
    const store = await objectsIn(bucket);
    const none = await objectsIn('no-such-bucket-at-all');
    // The store refuses everything from the second day's summary on.
    let isLost = true;
    const refused = `merchant=${merchantNo}/date=${DAYS[1]}/summary`;
    stage = await openStage({
      objects: {
        ...store,
        put: (...args) =>
          (isLost && args[0].startsWith('merchant=') && args[0] >= refused ? none : store).put(...args),
      },
    });
    const lost = await stage.run();
    expect(lost).toMatchObject({
      exitCode: 4,
      notes: [
        expect.stringMatching(/no-such-bucket-at-all/),
        expect.stringContaining('KWD: 3 days proven without an up-to-date statement'),
        expect.stringContaining('USD: 3 days proven without an up-to-date statement'),
      ],
    });
    expect(publishedIn(lost)).toEqual([`KWD ${FROM} r1`, `USD ${FROM} r1`]);
    expect(await storedOf(stage)).toEqual(truthOf(stage));
    isLost = false;
    const report = await stage.run();
    expect(report).toMatchObject({ exitCode: 0, notes: [] });
    const rest = DAYS.slice(1).flatMap((day) => [`KWD ${day} r1`, `USD ${day} r1`]);
    expect(publishedIn(report)).toEqual(rest.sort());
  });
});
