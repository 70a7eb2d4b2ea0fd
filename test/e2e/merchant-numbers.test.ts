/** A night of merchants whose numbers are any printable text, from `merchants add` to the files and pages. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSandbox, type Sandbox } from '../../src/plugins/sandbox/server.ts';
import { merchantWord, monthSubject } from '../../src/store/downloaded.ts';
import { daybook, startDaybook, type Env } from '../cli/daybook.ts';
import { KEYS } from '../plugins/submissions/notifications/support.ts';
import { scenario, FROM, NIGHT } from '../support/stage.ts';
import { freshDatabase } from '../support/database.ts';

/** Some would leave their folder, some would take another's file or address if one of them were not encoded. */
const NUMBERS = [
  'A1',
  'a/b c',
  'a%2Fb c',
  '..',
  '~..',
  '商户号/一二三四五六七八九十一二三四五六七八九十一二三四五六七',
  '-x',
  "it's #1?&=+",
  '=1+1',
];
const token = (at: number): string => `made-up-token-${at}`;

let database: Awaited<ReturnType<typeof freshDatabase>>;
let sandbox: Sandbox;
let folder: string;
let env: Env;
beforeAll(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), 'daybook-numbers-'));
  sandbox = createSandbox({
    ...scenario({ to: FROM, entriesPerDay: 5 }),
    merchants: NUMBERS.map((merchantNo, at) => ({ merchantNo, token: token(at), currencies: ['USD'] })),
  });
  env = {
    DATABASE_URL: database.url,
    DAYBOOK_DATA_DIR: folder,
    STATEMENTS_URL: `file://${folder}/store`,
    PLATFORM_BASE_URL: (await sandbox.listen({ port: 0 })).url,
    PLATFORM_TIME_ZONE: 'Asia/Shanghai',
    DAYBOOK_SECRET_KEYS: `k1:${KEYS[0]!.key.toString('base64')}`,
    DAYBOOK_NOW: NIGHT,
    DAYBOOK_LOG_LEVEL: 'silent',
  };
});
afterAll(async () => {
  await sandbox.close();
  await database.close();
  await rm(folder, { recursive: true, force: true });
});

const done = async (args: readonly string[], more: Env = {}): Promise<string> => {
  const { code, stdout, stderr } = await daybook(args, { ...env, ...more });
  expect(code, stderr + stdout).toBe(0);
  return stdout;
};

it('each is read, published, downloaded and verified under its own name', { timeout: 120_000 }, async () => {
  for (const [at, merchantNo] of NUMBERS.entries()) {
    const text = await done(
      ['merchants', 'add', '--merchant-no', merchantNo, '--token-env', 'GIVEN_TOKEN', '--check'],
      { GIVEN_TOKEN: token(at) },
    );
    expect(text.includes('percent-encoded')).toBe(merchantNo.startsWith('商'));
  }
  await done(['run', '--from', FROM, '--to', FROM]);
  expect(await readdir(join(folder, 'store'))).toHaveLength(NUMBERS.length + 1);
  expect(await done(['verify', join(folder, 'store')])).toContain(`${NUMBERS.length} manifests`);
  const paths = [];
  for (const merchant of NUMBERS) {
    const flags = ['--merchant', merchant, '--out', join(folder, 'got'), '--json'];
    const day = JSON.parse(
      await done(['statements', 'get', '--currency', 'USD', '--day', FROM, ...flags]),
    ) as object;
    expect(day).toMatchObject({ merchant_no: merchant });
    const month = JSON.parse(await done(['statements', 'get', '--month', '2026-03', ...flags])) as object;
    paths.push((day as { path: string }).path, (month as { path: string }).path);
  }
  // A statement, its manifest and the month's ZIP of each, all of them in the folder asked for.
  expect(new Set(paths).size).toBe(2 * NUMBERS.length);
  expect(await readdir(join(folder, 'got'))).toHaveLength(3 * NUMBERS.length);
  await done(['statements', 'get', '--month', '2026-03', '--out', join(folder, 'all.zip')]);
  await promisify(execFile)('python3', ['-m', 'zipfile', '-e', join(folder, 'all.zip'), join(folder, 'all')]);
  expect(await done(['verify', join(folder, 'all')])).toContain(`${NUMBERS.length} manifests`);
  for (const merchant of NUMBERS) {
    await done(['merchants', 'disable', '--', merchant]);
    await done(['merchants', 'enable', '--', merchant]);
  }
});

/** What a browser makes of the entities. */
const decoded = (html: string): string =>
  html
    .replaceAll(/&#(x?)([0-9a-f]+);/gi, (_, x: string, code: string) =>
      String.fromCodePoint(Number.parseInt(code, x === '' ? 10 : 16)),
    )
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');

it('the database writes a number into an audit subject as the commands do', async () => {
  for (const merchantNo of NUMBERS) {
    const { rows } = await sql<{
      word: string;
    }>`SELECT ${merchantWord(sql`${merchantNo}::text`)} AS word`.execute(database.db);
    expect(`2026-03 ${rows[0]!.word}`).toBe(monthSubject('2026-03', [merchantNo]));
  }
});

it('each has its pages, and a list longer than a page goes on behind it', { timeout: 60_000 }, async () => {
  const serving = startDaybook(['serve', '--json'], {
    ...env,
    DAYBOOK_LISTEN: '127.0.0.1:0',
    DAYBOOK_PAGES_LISTEN: '127.0.0.1:0',
  });
  const { pagesUrl, pagesLink } = JSON.parse(String((await once(serving.child.stdout!, 'data'))[0])) as {
    readonly pagesUrl: string;
    readonly pagesLink: string;
  };
  const entered = await fetch(pagesLink, { redirect: 'manual' });
  const cookie = entered.headers
    .getSetCookie()
    .map((one) => one.split(';')[0]!)
    .join('; ');
  const page = async (path: string) => {
    const response = await fetch(new URL(path, pagesUrl), { headers: { cookie } });
    return {
      status: response.status,
      name: response.headers.get('content-disposition'),
      text: decoded(await response.text()),
    };
  };
  const list = await page('/?month=2026-03');
  const links = [...list.text.matchAll(/href="(\/m\/[^"/]+\/2026-03[^"]*)"/g)].map(([, address]) => address!);
  expect(new Set(links).size).toBe(NUMBERS.length);
  const heads = await Promise.all(
    links.map(async (address) => /<h1[^>]*>([^]*?)<\/h1>/.exec((await page(address)).text)?.[1]),
  );
  for (const merchant of NUMBERS)
    expect(
      heads.filter((head) => head?.includes(merchant)),
      merchant,
    ).not.toEqual([]);
  expect(new Set(heads).size).toBe(NUMBERS.length);
  const behind = (await page(`/?month=2026-03&after=${encodeURIComponent('a/b c USD')}`)).text;
  const shown = new Set(
    [...behind.matchAll(/href="(\/m\/[^"/]+\/2026-03)[^"]*"/g)].map(([, address]) => address),
  );
  expect(shown.size).toBe(NUMBERS.filter((merchant) => merchant > 'a/b c').length);
  const names = [];
  for (const address of new Set(links)) {
    const month = await page(address);
    expect(month.status, address).toBe(200);
    const downloads = [...month.text.matchAll(/href="(\/download\/[^"]+\.zip)"/g)].map(([, to]) => to!);
    expect(downloads, address).toHaveLength(1);
    const zip = await page(downloads[0]!);
    expect(zip.status, downloads[0]).toBe(200);
    names.push(zip.name);
    const [, day] = /href="(\/m\/[^"]+\/USD\/2026-03-02[^"]*)"/.exec(month.text) ?? [];
    expect((await page(day!)).status, day).toBe(200);
  }
  expect(new Set(names).size).toBe(NUMBERS.length);
  for (const name of names) expect(name).toMatch(/^attachment; filename="[A-Za-z0-9._%=-]+"$/);
  serving.child.kill('SIGTERM');
  await serving.ended;
});
