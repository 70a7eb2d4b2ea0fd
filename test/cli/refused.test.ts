/** A platform that refuses, and sends page fields next to the refusal: nothing of it is believed, by any command. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { entriesOfAmounts, type PlainPlatform, type WireReply } from '../support/plain-platform.ts';
import { daybook, type Env } from './daybook.ts';
import { openPlainHome } from './plain-home.ts';
import { shortAndLong } from '../support/short-and-long.ts';

const BUSY = { respMsg: 'system busy' };
const EMPTY = { pageNum: 1, pageSize: 100, total: 0, list: [] };
const FORMS: readonly [string, unknown][] = [
  ['a code beside the page', { respCode: 'E99999', ...BUSY, ...EMPTY }],
  ['a code inside data', { data: { respCode: 'E99999', ...BUSY, ...EMPTY } }],
  ['a code around data', { code: 'E99999', ...BUSY, data: EMPTY }],
  ['a status', { status: 'FAIL', ...EMPTY }],
  ['a flag', { success: false, data: EMPTY }],
  ['a list of one', [{ respCode: 'E99999', ...EMPTY }]],
  ['JSON as text', { data: JSON.stringify({ respCode: 'E99999', ...EMPTY }) }],
  ['an error object', { error: { text: 'busy' }, ...EMPTY }],
  ['a code alone', { respCode: 'E99999', ...BUSY }],
  ['HTTP 500 with a page', EMPTY],
  ['a status in a header', { header: { retStatus: 'F' }, body: EMPTY }],
];

let platform: PlainPlatform;
let folder: string;
let env: Env;
let close: () => Promise<void>;

const ENTRIES = entriesOfAmounts('USD', [
  ['B1', '2026-03-02 10:00:00', 12_345],
  ['B2', '2026-03-02 11:00:00', -2_345],
  ['B3', '2026-03-03 10:00:00', 700],
  ['B4', '2026-03-04 10:00:00', -50],
]);

beforeEach(async () => {
  const merchant = { PLATFORM_MERCHANT_NO: 'M1', PLATFORM_TOKEN: 'made-up-token' };
  ({ platform, folder, env, close } = await openPlainHome(merchant));
  platform.entriesOf = () => ENTRIES;
});
afterEach(() => close());

const night = (day: string, time = '01:30:00'): Env => ({ ...env, DAYBOOK_NOW: `${day}T${time}+08:00` });
const refuse = (form: string, body: unknown) => {
  platform.alter = (): WireReply => ({ status: form.startsWith('HTTP 500') ? 500 : 200, body });
};
const obey = () => (platform.alter = (honest) => honest);

async function published(): Promise<Record<string, string>> {
  const files = await readdir(join(folder, 'statements'), { recursive: true, withFileTypes: true });
  const texts = files
    .filter((file) => file.isFile() && file.name.endsWith('.csv'))
    .map(async (file) => [file.name, await readFile(join(file.parentPath, file.name), 'utf8')] as const);
  return Object.fromEntries((await Promise.all(texts)).sort());
}

for (const { options, cases } of shortAndLong(FORMS, 3))
  describe.each(cases)('refused by %s', options, (form, body) => {
    test('a first night publishes nothing and is not 0', async () => {
      refuse(form, body);
      const { code } = await daybook(
        ['run', '--from', '2026-03-02', '--to', '2026-03-04'],
        night('2026-03-05'),
      );
      expect(code).toBe(4);
      expect(await published().catch(() => ({}))).toEqual({});
    });
  });

for (const [index, [form, body]] of FORMS.filter((_, at) => at % 2 === 0).entries())
  describe(`refused by ${form} after a good night`, { tags: index < 1 ? [] : ['long'] }, () => {
    test('later nights change no statement, lose no entry, and all is as before once it is over', async () => {
      await daybook(['run', '--from', '2026-03-02', '--to', '2026-03-04'], night('2026-03-05'));
      const before = await published();
      expect(Object.keys(before).length).toBeGreaterThan(2);
      refuse(form, body);
      for (const time of ['02:30:00', '04:30:00']) {
        const { code, stdout } = await daybook(['run'], night('2026-03-05', time));
        expect(code, stdout).toBe(4);
        expect(stdout).not.toMatch(/vanished/i);
      }
      expect(await published()).toEqual(before);
      obey();
      const after = await daybook(['run'], night('2026-03-05', '08:30:00'));
      expect(after.code, after.stdout).toBe(0);
      expect(await published()).toEqual(before);
    });
  });

test('a refused list takes no stored code from the lists', async () => {
  const list = { metaDataList: [{ code: '01', name: 'Teacher' }] };
  platform.alter = (_, { body }): WireReply => ({
    status: 200,
    body: body['metaType'] === 'occupation' ? list : { metaDataList: [{ code: 'ALL0000001', name: 'ALL' }] },
  });
  await daybook(['reference', 'sync'], night('2026-03-05'));
  const nothing = { metaDataList: [{ code: 'ALL0000001', name: 'ALL' }] };
  platform.alter = () => ({ status: 200, body: { respCode: 'E99999', ...BUSY, ...nothing } });
  const { code, stdout, stderr } = await daybook(['reference', 'sync'], night('2026-03-06'));
  expect(code).toBe(4);
  expect(stdout + stderr).toContain('respCode');
  const shown = await daybook(['reference', 'list', 'occupation'], night('2026-03-06'));
  expect(shown.stdout).toContain('Teacher');
  expect(shown.stdout).not.toMatch(/no longer/);
});
