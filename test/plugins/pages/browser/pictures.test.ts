/**
 * Pictures of every page for docs/pages: `DAYBOOK_TEST_PICTURES=write npx vitest run test/plugins/pages/browser/pictures`. In a folder
 * of one's own, which `DAYBOOK_TEST_PICTURES_FOLDER` names (it ends with a slash), also dark and for a phone.
 */
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createAccess } from '../../../../src/plugins/pages/access/open.ts';
import * as desk from '../../../../src/plugins/books/desk.ts';
import { SECRET_KEYS, withPasswords } from '../access/support.ts';
import { doNextRequest } from '../../../../src/run/requests.ts';
import { storeNames } from '../../../../src/store/names.ts';
import { FORM_TOKEN, showPages } from '../support.ts';
import { BROKEN_DAY, closeMarch, openPagesStage, REVISED_DAY } from '../stage.ts';
import type { Stage } from '../../../support/stage.ts';
import { chromiumPath, openChromium, watchedPage } from './chromium.ts';

const OWN_FOLDER = process.env['DAYBOOK_TEST_PICTURES_FOLDER'];
const FOLDER = OWN_FOLDER ?? fileURLToPath(new URL('../../../../docs/pages/', import.meta.url));
const isAsked = process.env['DAYBOOK_TEST_PICTURES'] === 'write' && chromiumPath !== null;

/** Every page, with the height of its wide picture. */
const PICTURES = [
  ['login', '/login', 460],
  ['accounts', '/?month=2026-03', 700],
  ['month', '/m/SBX-M-1/2026-03?currency=USD', 1500],
  ['day', `/m/SBX-M-1/USD/${BROKEN_DAY}`, 1400],
  ['revisions', `/m/SBX-M-1/KWD/${REVISED_DAY}?revision=2&against=1#compared`, 740],
  ['breaks', '/breaks?all=yes', 420],
  ['break', '/breaks/BREAK', 1500],
  ['entry', '/entry/SBX-M-1/ENTRY', 700],
  [
    'search',
    '/entry?merchant=SBX-M-1&currency=USD&from=2026-03-03&to=2026-03-03&amount=100&amountTo=900',
    900,
  ],
  ['unreadable', '/unreadable', 420],
  ['unreadable-one', '/unreadable/UNREADABLE', 700],
  ['names', '/names/SBX-M-1', 900],
  ['work', '/work', 420],
  ['work-one', '/work/WORK', 600],
  ['changes', '/changes?since=2026-03-01', 420],
  ['status', '/status', 700],
  ['books-empty', '/books', 700],
  // Before this one, the books are imported.
  ['books', '/books', 900],
  ['book', '/books/SBX-M-1/USD', 1900],
  ['book-agrees', '/books/SBX-M-1/KWD', 900],
] as const;

const MAPPING = `merchant: SBX-M-1
format: csv
columns: {number: Order, booked: Date, currency: Currency, amount: Amount, reference: Reference}`;

/** The ledger's KWD; its USD with a payment recorded twice, one off by a fee, one missing, and one with another date. */
async function importBooks({ sandbox, app }: Stage): Promise<void> {
  const { db } = app.database;
  const stored = await db
    .selectFrom('ledger_entry')
    .select(['batch_no', 'currency', 'booked_at', 'credit', 'debit'])
    .where('vanished_at', 'is', null)
    .orderBy('booked_at')
    .execute();
  const rows = sandbox
    .entriesOf('SBX-M-1')
    .filter(({ batchNo }) => stored.some(({ batch_no: known }) => known === batchNo))
    .map(({ batchNo, currency, busiDate, inAmount, outAmount }, nth) => [
      ...[`ORD-${1000 + nth}`, busiDate.slice(0, 10), currency],
      ...[inAmount ?? `-${outAmount}`, batchNo],
    ]);
  const usd = rows.filter(([, , currency]) => currency === 'USD');
  usd[3]![4] = '';
  rows.push(['ORD-9001', ...usd[3]!.slice(1)]);
  usd[7]![3] = String(Number(usd[7]![3]) + 1);
  usd[7]![4] = '';
  rows.splice(rows.indexOf(usd[11]!), 1);
  const csv = [['Order', 'Date', 'Currency', 'Amount', 'Reference'], ...rows]
    .map((row) => row.join(','))
    .join('\n');
  const settings = { ...app.settings.books, approvalAbove: new Map([['USD', '1']]) };
  const deciding = {
    ...{
      db,
      settings: { ...app.settings, books: settings },
      now: app.now(),
      zone: app.settings.platform.timeZone,
    },
    ...{ by: 'Ada Lovelace', note: 'the fee of the bank' },
  };
  await desk.takeIn(deciding, {
    ...{ isAllowed: () => true, mapping: MAPPING, name: 'orders-march.csv', content: Buffer.from(csv) },
    signal: new AbortController().signal,
  });
  const merchantNo = 'SBX-M-1';
  const entries = { ledger: [], own: [{ book: null, number: usd[7]![0]! }] };
  await desk.decide(deciding, { step: 'assign', merchantNo, entries, to: 'Grace Hopper', due: '2026-03-10' });
  await desk.decide(deciding, {
    ...{ step: 'match', merchantNo, type: 'fee' },
    entries: {
      ...entries,
      ledger: [sandbox.entriesOf(merchantNo).filter(({ currency }) => currency === 'USD')[7]!.batchNo],
    },
  });
}

/** The documentation has the first form alone. */
const FORMS = [
  ['', { viewport: { width: 1200, height: 0 }, colorScheme: 'light' }],
  ['-dark', { viewport: { width: 1200, height: 0 }, colorScheme: 'dark' }],
  ['-phone', { viewport: { width: 390, height: 2600 }, colorScheme: 'light' }],
  ['-phone-dark', { viewport: { width: 390, height: 1200 }, colorScheme: 'dark' }],
] as const;

test.skipIf(!isAsked)('pictures of the pages', { timeout: 300_000 }, async () => {
  const stage = await openPagesStage(closeMarch, [
    { what: 'malformed', merchant: 'SBX-M-1', currency: 'USD', day: '2026-03-05', nth: 7 },
  ]);
  const { db } = stage.app.database;
  const names = [
    { currency: null, fields: { name: 'Harbour Teas Ltd', reference: 'C-20417' } },
    {
      currency: 'USD',
      fields: { name: 'Sales in dollars', iban: 'DE89370400440532013000', ledgerAccount: '1810' },
    },
  ];
  await db.transaction().execute((trx) =>
    storeNames(
      trx,
      names.map((one) => ({ merchantNo: 'SBX-M-1', ...one })),
      { event: { by: 'ada', command: 'merchants name' }, now: stage.app.now() },
    ),
  );
  const { id } = await db
    .selectFrom('continuity_break')
    .select('id')
    .where('currency', '=', 'USD')
    .executeTakeFirstOrThrow();
  const access = createAccess({
    ...{ settings: withPasswords(), db, random: randomBytes, secretKeys: SECRET_KEYS },
    ...{ isSecure: false, now: stage.app.now },
  });
  const [pages, guarded] = [await showPages(stage), await showPages(stage, { access, canLogOut: true })];
  const asked = {
    ...{ form_token: FORM_TOKEN, merchant: 'SBX-M-1', from: BROKEN_DAY, to: BROKEN_DAY },
    despite: 'yes',
  };
  const work = await pages.post('/work', { ...asked, kind: 'read' });
  await doNextRequest(stage.app, new AbortController().signal);
  await pages.post('/work', { ...asked, kind: 'publish' });
  const { id: unreadable } = await db.selectFrom('quarantined_entry').select('id').executeTakeFirstOrThrow();
  const browser = await openChromium();
  const entry = await db
    .selectFrom('ledger_entry')
    .select('batch_no')
    .where('currency', '=', 'USD')
    .executeTakeFirstOrThrow();
  for (const [name, path, height] of PICTURES) {
    if (name === 'books') await importBooks(stage);
    const { url } = name === 'login' ? guarded : pages;
    for (const [form, options] of OWN_FOLDER === undefined ? FORMS.slice(0, 1) : FORMS) {
      const viewport = { ...options.viewport, height: options.viewport.height || height };
      const { page, complaints } = await watchedPage(browser, url, { ...options, viewport });
      await page.goto(
        path
          .replace('/work/WORK', work.headers.get('location')!)
          .replace('UNREADABLE', String(unreadable))
          .replace('BREAK', String(id))
          .replace('ENTRY', entry.batch_no),
      );
      await page.screenshot({ path: `${FOLDER}${name}${form}.png` });
      expect(complaints).toEqual([]);
      await page.context().close();
    }
  }
  await browser.close();
  await pages.close();
  await guarded.close();
  await stage.close();
});
