/** `publish --repair` says how much it compared and what came of it; with `--dry-run` it writes nothing. */
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bytesOf, FROM, MERCHANT, openStage, scenario, TO, type Stage } from '../support/stage.ts';
import { daybook, envOf } from './daybook.ts';

const { merchantNo } = MERCHANT;
const csv = (currency: string) =>
  `merchant=${merchantNo}/date=${FROM}/${merchantNo}_${currency}_${FROM}.r1.csv`;
const MANIFEST = `merchant=${merchantNo}/date=${FROM}/manifest.json`;

let stage: Stage;
let root: string;
beforeEach(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 5 }) });
  root = join(stage.app.settings.dataDir, 'statements');
  await stage.run();
});
afterEach(() => stage.close());

const repair = (...flags: string[]) => daybook(['publish', '--repair', ...flags], envOf(stage));
const runs = async () => (await stage.app.database.db.selectFrom('run').select('id').execute()).length;
/** Four days of two statements, a summary and a manifest. */
const ALL = `compared 16 files, ${FROM} to ${TO}: `;

it('says how many files of which days it compared, and that all are as published', async () => {
  const before = await runs();
  expect(await repair('--dry-run')).toEqual({ code: 0, stdout: `${ALL}all as published\n`, stderr: '' });
  expect(await runs()).toBe(before);
  const done = await repair();
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining(`${ALL}all as published\n`) });
  const some = await repair('--dry-run', '--from', FROM, '--to', FROM);
  expect(some.stdout).toBe(`compared 4 files, ${FROM} to ${FROM}: all as published\n`);
});

it('--dry-run says what would be written again, ends with 4 and writes nothing; then the repair does it', async () => {
  const published = await bytesOf(stage);
  await rm(join(root, csv('USD')));
  await appendFile(join(root, csv('KWD')), 'x');
  const harmed = await bytesOf(stage);
  const { code, stdout } = await repair('--dry-run');
  expect({ code, stdout }).toEqual({
    code: 4,
    stdout:
      `${ALL}2 missing or altered, 2 would be written again\n` +
      `would be written again: ${csv('KWD')} (altered)\nwould be written again: ${csv('USD')} (missing)\n`,
  });
  expect(await bytesOf(stage)).toEqual(harmed);
  expect((await repair()).stdout).toContain(`${ALL}2 missing or altered, 2 written again\n`);
  expect(await bytesOf(stage)).toEqual(published);
});

it('a file that needs a decision is not called beyond repair, and ends with 3', async () => {
  const manifest = await readFile(join(root, MANIFEST), 'utf8');
  await writeFile(join(root, MANIFEST), manifest.replace('"revision": 1,', '"revision": 9,'));
  const { code, stdout } = await repair('--dry-run');
  expect(code).toBe(3);
  expect(stdout).toContain(
    `${ALL}1 missing or altered, 1 file of another or newer database needs a decision\n`,
  );
  expect(stdout).toContain('daybook statements adopt');
  expect(stdout).not.toContain('beyond repair');
});

it('an altered file that cannot be made again is beyond repair, and ends with 3', async () => {
  const entry = stage.sandbox.entriesOf(merchantNo).find(({ currency }) => currency === 'USD')!;
  stage.sandbox.amend(merchantNo, entry.batchNo, { busiType: 'CHANGED' });
  await stage.run();
  await appendFile(join(root, csv('USD')), 'x');
  const { code, stdout } = await repair('--dry-run');
  expect(code).toBe(3);
  expect(stdout).toMatch(/: 1 missing or altered, 1 file beyond repair\n/);
});

it('--dry-run alone, and without a published day', async () => {
  const alone = await daybook(['publish', '--dry-run'], envOf(stage));
  expect(alone).toMatchObject({ code: 2, stderr: expect.stringContaining('--dry-run goes with --repair') });
  const none = await repair('--dry-run', '--from', '2026-02-01', '--to', '2026-02-02');
  expect(none).toMatchObject({ code: 0, stdout: 'no statement is published in these days\n' });
});
