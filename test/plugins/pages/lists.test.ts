/** Lists of the pages that have an end: what changed, breaks; and addresses that make no sense. */
import { expect, test } from 'vitest';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { sql } from 'kysely';
import { terminalWidth } from '../../../src/cli/output/width.ts';
import { localeOf } from '../../../src/plugins/pages/html/format.ts';
import { cellsOf } from '../../support/cells.ts';
import { textOf } from './support.ts';
import { BROKEN_DAY, usePagesStage, REVISED_DAY } from './stage.ts';

const REVISED = `/download/SBX-M-1/KWD/${REVISED_DAY}`;
const { stage, pages, words } = usePagesStage();

const database = () => stage().app.database.db;
const revised = async (): Promise<string[]> =>
  cellsOf(await pages().html('/?month=2026-03')).filter((cell) => cell.includes('revised since'));
const auditEvents = () =>
  database().selectFrom('audit_event').select(['subject', 'note']).orderBy('id').execute();
const downloadedAt = (subject: string, at: string, note: string | null = null) =>
  database()
    .insertInto('audit_event')
    .values({ at: new Date(at), by_whom: 'local', command: 'statements get', subject, note })
    .execute();

test('a day counts as revised for whoever has an earlier revision of it, and only then', async () => {
  const key = `merchant=SBX-M-1/date=${REVISED_DAY}/SBX-M-1_KWD_${REVISED_DAY}`;
  await downloadedAt('2026-03 SBX-M-1', '2026-03-05T01:00:00+08:00');
  expect(await revised()).toEqual([]);
  await downloadedAt(`${key}.r1.csv`, '2026-03-06T02:00:00+08:00', 'cut off');
  await downloadedAt(`${key}.r1.csv`, '2026-03-06T02:00:00+08:00', 'cut off, as xlsx');
  expect(await revised()).toEqual([]);
  stage().setNow('2026-03-07T09:00:00+08:00');
  await (await pages().get(`${REVISED}?revision=1&format=spreadsheet`)).arrayBuffer();
  const found = `KWD ${REVISED_DAY} proven, revised since you downloaded it`;
  expect(await revised()).toEqual([found]);
  expect(await words('/changes?since=2026-03-07')).toContain('revised since you downloaded it');
  const before = await auditEvents();
  expect((await fetch(pages().url + REVISED, { method: 'HEAD' })).status).toBe(404);
  expect(await auditEvents()).toEqual(before);
  await (await pages().get(`${REVISED}?revision=2`)).text();
  await (await pages().get(`${REVISED}?revision=1`)).text();
  expect(await revised()).toEqual([]);
  expect((await auditEvents()).slice(-2)).toEqual([
    { subject: `${key}.r2.csv`, note: null },
    { subject: `${key}.r1.csv`, note: null },
  ]);
});

test('what changed goes on over further pages, the newest first', async () => {
  await sql`
    INSERT INTO statement SELECT (jsonb_populate_record(s, jsonb_build_object(
      'revision', 2 + g, 'supersedes', 1 + g, 'published_at', to_jsonb(s.published_at + g * interval '1 second'),
      'object_key', s.object_key || '.' || g))).*
    FROM statement s, generate_series(1, 150) g WHERE s.revision = 2`.execute(database());
  const first = await pages().html('/changes?since=2026-03-07');
  const changes = (html: string): string[] => textOf(html).match(/r\d+ → r\d+/g) ?? [];
  expect([changes(first).length, changes(first)[0], changes(first).at(-1)]).toEqual([
    100,
    'r151 → r152',
    'r52 → r53',
  ]);
  const [, next] = /href="(\/changes\?[^"]*after=[^"]*)"/.exec(first)!;
  const second = await pages().html(next!.replaceAll('&amp;', '&'));
  expect([changes(second).length, changes(second)[0], changes(second).at(-1)]).toEqual([
    51,
    'r51 → r52',
    'r1 → r2',
  ]);
  expect(second).not.toContain('Older ones');
  expect(second).toContain('First page');
  expect((await pages().get('/changes?since=2026-03-07&after=nix')).status).toBe(400);
});

test.each(['/?month=9999-12', '/?month=0000-01', '/changes?since=2026-13-01', '/changes?since=abc'])(
  '%s is told that it cannot be understood',
  async (path) => {
    expect((await pages().get(path)).status).toBe(400);
  },
);

test('a page of breaks behind the last one shows the last one', async () => {
  expect(await words('/breaks?page=9')).toContain(`SBX-M-1 USD 3 Mar 2026`);
  expect(await words('/breaks?page=9&all=yes')).toContain('healed');
});

test('a download that the store cuts off is recorded as such, and brings nothing', async () => {
  const key = `merchant=SBX-M-1/date=${BROKEN_DAY}/SBX-M-1_USD_${BROKEN_DAY}.r1.csv`;
  const path = `${stage().app.settings.dataDir}/statements/${key}`;
  const bytes = await readFile(path);
  const before = await auditEvents();
  await chmod(path, 0o644);
  await writeFile(path, bytes.subarray(0, 500));
  expect((await pages().get(`/download/SBX-M-1/USD/${BROKEN_DAY}`)).status).toBe(503);
  expect(await auditEvents()).toEqual(before);
  const cut = await pages()
    .get('/download/SBX-M-1/2026-03.zip')
    .then(
      (response) => response.arrayBuffer().catch(() => null),
      () => null,
    );
  expect(cut).toBeNull();
  await pages()
    .get('/download/SBX-M-1/2026-03.zip?format=spreadsheet')
    .then(
      (response) => response.arrayBuffer().catch(() => null),
      () => null,
    );
  expect((await auditEvents()).slice(before.length)).toEqual([
    { subject: '2026-03 SBX-M-1', note: 'cut off' },
    { subject: '2026-03 SBX-M-1', note: 'cut off, as spreadsheet' },
  ]);
  await writeFile(path, bytes);
});

test('the language that a reader wants most, and the width of a terminal that tells none', () => {
  expect(localeOf('fr;q=0.3, de;q=0.8, en;q=0')).toBe('de');
  expect(localeOf('fr;q=0')).toBe('en-GB');
  expect(terminalWidth({ isTTY: true, columns: 0 })).toBe(Infinity);
  expect(terminalWidth({ isTTY: true, columns: 80 })).toBe(80);
});
