/** What a registration may hold beyond the strictest reading of the document: images, unlisted codes, further fields. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { ENTERPRISE, type File } from './files.ts';
import { reply } from './support.ts';
import { sandbox, TOKEN } from '../sandbox/support.ts';
import { answer, outOfScope } from '../../platform/stranger.ts';
import { emptyTables, freshDatabase } from '../../support/database.ts';
import { daybook, type Env } from '../../cli/daybook.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let folder: string;
beforeAll(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), 'daybook-leeway-'));
});
beforeEach(() => emptyTables(database.db));
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

const SECRET_KEYS = `k1:${randomBytes(32).toString('base64')}`;
const run = (args: readonly string[], env: Env = {}) =>
  daybook(args, {
    DATABASE_URL: database.url,
    DAYBOOK_DATA_DIR: folder,
    DAYBOOK_SECRET_KEYS: SECRET_KEYS,
    PLATFORM_BASE_URL: 'http://127.0.0.1:1',
    PLATFORM_TIME_ZONE: 'UTC',
    PLATFORM_RETRIES_MAX: '0',
    PLATFORM_MERCHANT_NO: 'M1',
    PLATFORM_TOKEN: TOKEN,
    ...env,
  });
async function written(file: File): Promise<string> {
  const path = join(folder, 'payee.yaml');
  await writeFile(path, stringify(file, { lineWidth: 0 }));
  return path;
}

describe('an image', () => {
  const PNG = `iVBORw0KGgoAAAANSUhEUg${'AAAAEAAA'.repeat(10)}==`;
  const withImage = (registerCertImg: string) => written({ ...ENTERPRISE, registerCertImg });

  it.each([
    ['base64', PNG],
    ['url', 'https://files.example/cert.png'],
    ['path', 'upload/2026/cert 1.png'],
  ] as const)('of the form %s is registered where the platform takes that form', async (images, image) => {
    const { url, acted } = await sandbox({ latitude: { images } });
    const ended = await run(['beneficiary', 'register', await withImage(image)], { PLATFORM_BASE_URL: url });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(acted.payees()[0]!.sent).toMatchObject({ registerCertImg: image });
  });

  it('may have megabytes, and hides no code of a refusal', async () => {
    const image = randomBytes(3_000_000).toString('base64');
    const { url, received } = await outOfScope(answer('{"respCode":"E1"}', 400));
    const ended = await run(['beneficiary', 'register', await withImage(image)], { PLATFORM_BASE_URL: url });
    expect(ended.code, ended.stderr).toBe(3);
    expect(ended.stdout).toContain('code E1');
    expect(ended.stdout.length).toBeLessThan(2_000);
    expect(JSON.parse(received[0]!.body)).toMatchObject({ registerCertImg: image });
  });

  it('of a form that the settings do not name is refused, without its content', async () => {
    const only = { PLATFORM_IMAGES: 'path,url' };
    const ended = await run(['beneficiary', 'check', await withImage(PNG)], only);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(
      'registerCertImg is base64; give an uploaded path or an https URL (PLATFORM_IMAGES)',
    );
    expect(ended.stderr).not.toContain(PNG);
    expect((await run(['beneficiary', 'check', await withImage('u/cert.png')], only)).code).toBe(0);
  });
});
