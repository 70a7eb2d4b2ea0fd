/** What the pages hand out in the plugin's formats, and what they say where a format cannot hold a day. */
import { expect, test } from 'vitest';
import { statementOf } from '../../../src/store/statements/statements.ts';
import { pagesOf, textOf as pdfText } from '../../support/read-pdf.ts';
import { BROKEN_DAY, usePagesStage, REVISED_DAY } from '../pages/stage.ts';
import { textOf } from '../pages/support.ts';

const { stage, pages } = usePagesStage();

const database = () => stage().app.database.db;
const auditEvents = () =>
  database().selectFrom('audit_event').select(['subject', 'note']).orderBy('id').execute();

test('downloads come in every format that a day or a month links to, and are on record', async () => {
  const linked = async (path: string) =>
    [...(await pages().html(path)).matchAll(/href="(\/download\/[^"]*)"/g)].map(([, link]) =>
      link!.replaceAll('&amp;', '&'),
    );
  const links = new Set([
    ...(await linked(`/m/SBX-M-1/USD/${BROKEN_DAY}`)),
    ...(await linked('/m/SBX-M-1/2026-03')),
  ]);
  const before = (await auditEvents()).length;
  const names = [];
  for (const link of links) {
    const response = await pages().get(link);
    expect((await response.arrayBuffer()).byteLength, link).toBeGreaterThan(1_000);
    names.push(/filename="(.*)"/.exec(response.headers.get('content-disposition')!)![1]);
  }
  const name = `SBX-M-1_USD_${BROKEN_DAY}.r1`;
  const ofMonth = ['.xlsx', '_KWD.csv', '_KWD.camt053.xml', '_KWD.mt940'].map(
    (end) => `month-2026-03-SBX-M-1${end}`,
  );
  expect(names).toEqual([
    ...['csv', 'spreadsheet.csv', 'xlsx', 'camt053.xml', 'mt940', 'pdf'].map((one) => `${name}.${one}`),
    ...['month-2026-03-SBX-M-1.pdf', ...ofMonth, 'statements-2026-03-SBX-M-1.zip'],
    ...['spreadsheet', 'xlsx', 'camt053', 'mt940', 'pdf'].map(
      (format) => `statements-2026-03-SBX-M-1-${format}.zip`,
    ),
  ]);
  const added = (await auditEvents()).slice(before);
  const formats = ['spreadsheet', 'xlsx', 'camt053', 'mt940', 'pdf'];
  expect(added.map(({ subject, note }) => [subject, note])).toEqual([
    ...[null, ...formats].map((format) => [
      `merchant=SBX-M-1/date=${BROKEN_DAY}/${name}.csv`,
      format && `as ${format}`,
    ]),
    ['month-2026-03-SBX-M-1.pdf', null],
    ['2026-03 SBX-M-1', 'as workbook'],
    ...[null, 'as camt053', 'as mt940'].map((note) => ['2026-03 SBX-M-1 KWD', note]),
    ...[null, ...formats].map((format) => ['2026-03 SBX-M-1', format && `as ${format}`]),
  ]);
});

test('a month as PDF has the figures of its page, what is open and why, and each hash', async () => {
  const response = await pages().get('/download/SBX-M-1/2026-03.pdf');
  expect(response.headers.get('content-type')).toBe('application/pdf');
  const text = pdfText(await pagesOf(new Uint8Array(await response.arrayBuffer())));
  expect(text).toContain('USD | 0.00 | 37,554,408.63 | 36,060,078.71 | 1,494,023.77 | 4 published');
  expect(text).toContain(
    'USD: balance difference of -306.15 USD: the closing is 306.15 USD lower than opening plus credits minus debits.',
  );
  expect(text).toMatch(/USD \| 2026-03-03 \| its balance chain is broken: break \d+/);
  expect(text).toContain(
    'USD | 2026-03-07 to 2026-03-31 | the day is not over before 2026-03-08 00:00:00 (Asia/Shanghai) (the first of these days)',
  );
  const { sha256 } = (await statementOf(
    database(),
    { merchantNo: 'SBX-M-1', currency: 'KWD' },
    REVISED_DAY,
  ))!;
  expect(text).toContain(`SHA-256 ${sha256}`);
});

test('what a format cannot hold is said in plain words, and no download is on record', async () => {
  const before = await auditEvents();
  const db = database();
  const ofDay = () => db.updateTable('statement').where('currency', '=', 'USD').where('day', '=', BROKEN_DAY);
  const { opening } = (await statementOf(db, { merchantNo: 'SBX-M-1', currency: 'USD' }, BROKEN_DAY))!;
  await ofDay().set({ opening: '12345678901234567.89' }).execute();
  const refused = await pages().get(`/download/SBX-M-1/USD/${BROKEN_DAY}?format=camt053`);
  await ofDay().set({ opening }).execute();
  expect([refused.status, textOf(await refused.text())]).toEqual([
    422,
    expect.stringContaining('the amount 12345678901234567.89 has more than 18 digits'),
  ]);
  expect(await auditEvents()).toEqual(before);
});
