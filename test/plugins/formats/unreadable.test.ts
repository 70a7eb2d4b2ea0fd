/**
 * A day with entries that could not be read, published once somebody had acknowledged them: each file that finance takes away says so and
 * none calls it proven, and a lost file is made again with the same bytes, whatever became of those entries.
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readXlsx } from 'hucre/xlsx';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Manifest } from '../../../src/verify/manifest.ts';
import { showPages, type ShownPages } from '../pages/support.ts';
import { pagesOf, textOf } from '../../support/read-pdf.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../../support/stage.ts';
import { daybook, envOf, type Env } from '../../cli/daybook.ts';

const { merchantNo } = MERCHANT;
const DAY = '2026-02-28';
const NAME = `${merchantNo}_USD_${DAY}.r1`;
const of = { merchant: merchantNo, what: 'malformed' as const };

let stage: Stage;
let env: Env;
let pages: ShownPages;
let folder: string;
let withheldMonth: string;
beforeAll(async () => {
  stage = await openStage({
    scenario: scenario({
      ...{ from: '2026-02-27', to: DAY, entriesPerDay: 4, now: '2026-03-01T01:30:00+08:00' },
      planted: [2, 3].map((nth) => ({ ...of, currency: 'USD', day: DAY, nth })),
    }),
  });
  env = { ...envOf(stage), DAYBOOK_STATEMENT_FORMATS: 'csv,xlsx,camt053,mt940,pdf' };
  pages = await showPages(stage);
  folder = join(stage.app.settings.dataDir, 'statements', `merchant=${merchantNo}`, `date=${DAY}`);
  const run = () => daybook(['run', '--from', '2026-02-01', '--to', DAY], env);
  await run();
  withheldMonth = await monthPdf();
  const entries = await stage.app.database.db.selectFrom('quarantined_entry').select('id').execute();
  for (const { id } of entries)
    await daybook(['quarantine', 'acknowledge', String(id), '--note', 'case 7', '--by', 'Ada'], env);
  await run();
});
afterAll(async () => {
  await pages.close();
  await stage.close();
});

const published = (name: string): Promise<Buffer> => readFile(join(folder, name));
const pdfText = async (bytes: Uint8Array): Promise<string> =>
  textOf(await pagesOf(bytes)).replaceAll('\n', ' ');
const monthPdf = async (): Promise<string> =>
  pdfText(new Uint8Array(await (await pages.get(`/download/${merchantNo}/2026-02.pdf`)).arrayBuffer()));
const TOLD = '2 entries that may be of this day came and could not be read: the figures lack what they say';

it('says so in the day’s PDF, camt.053, MT940, XLSX, summary and manifest', async () => {
  const pdf = await pdfText(await published(`${NAME}.pdf`));
  expect(pdf).toContain(
    'Not all readable: 2 entries that may be of this day came and could not be read. The figures lack what they say. Of what could be read: every ' +
      'balance follows from the one before. Opening plus credits minus debits is the closing.',
  );
  expect(pdf).not.toContain('Proven');
  expect((await published(`${NAME}.camt053.xml`)).toString()).toContain(`continuous, breaks: 0, ${TOLD}.`);
  const mt940 = (await published(`${NAME}.mt940`)).toString().replaceAll('\r\n', '');
  expect(mt940).toContain(`continuous, breaks: 0, ${TOLD}`);
  const [summary] = (await readXlsx(await published(`${NAME}.xlsx`))).sheets;
  expect(summary!.rows.find(([name]) => name === 'unreadable')?.slice(0, 2)).toEqual(['unreadable', 2]);
  const lines = (await published('summary.r2.csv')).toString().trimEnd().split('\r\n');
  expect(lines.map((line) => line.split(',').at(-1))).toEqual(['unreadable', '0', '2']);
  const manifest = JSON.parse((await published('manifest.json')).toString()) as Manifest;
  expect(manifest.statements.map(({ currency, unreadable }) => [currency, unreadable])).toEqual([
    ['KWD', undefined],
    ['USD', 2],
  ]);
});

it('is not proven in the PDF of its month, which says whether a person has acknowledged it', async () => {
  expect(withheldMonth).toContain('Not complete: 1 account day (1 account) still open, listed below.');
  expect(withheldMonth).toContain('USD | 2026-02-28 | an entry of this day could not be read');
  const acknowledged = await monthPdf();
  expect(acknowledged).toContain(
    'Complete: every day is published, and a person has acknowledged each entry that could not be read. Entries that may be of 1 account day ' +
      'could not be read, and the figures do not include them: USD 2026-02-28.',
  );
  expect(acknowledged).not.toContain('Proven');
});

it('has the same bytes when it is made again, after its entries were acknowledged and withdrawn', async () => {
  await stage.app.database.db
    .updateTable('quarantined_entry')
    .set({ released_at: new Date('2026-03-01T00:00:00Z') })
    .execute();
  const names = ['xlsx', 'camt053.xml', 'mt940', 'pdf'].map((ending) => `${NAME}.${ending}`);
  const files = [...names, 'summary.r2.csv', 'manifest.json'];
  const before = await Promise.all(files.map(published));
  for (const file of files) await rm(join(folder, file));
  const repaired = await daybook(['publish', '--repair', '--from', DAY, '--to', DAY], env);
  expect(repaired.code).toBe(0);
  expect(await Promise.all(files.map(published))).toEqual(before);
});

it('is known again to a database that was restored from before it was published', async () => {
  const { db } = stage.app.database;
  const known = () =>
    db
      .selectFrom('statement')
      .select(['currency', 'unreadable_count'])
      .where('day', '=', DAY)
      .orderBy('currency')
      .execute();
  const before = await known();
  expect(before.map((row) => row.unreadable_count)).toEqual([0, 2]);
  await db.deleteFrom('statement').where('day', '=', DAY).execute();
  await db.deleteFrom('artifact').where('day', '=', DAY).where('kind', '=', 'summary').execute();
  await db
    .updateTable('artifact')
    .set({ revision: 0 })
    .where('day', '=', DAY)
    .where('kind', '=', 'manifest')
    .execute();
  const adopted = await daybook(['statements', 'adopt', '--by', 'Ada'], env);
  expect([adopted.code, await known()]).toEqual([0, before]);
});
