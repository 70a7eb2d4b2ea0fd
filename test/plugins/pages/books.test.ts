/** The pages of own books: import, proposals, decisions, and what is refused. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addDays } from '../../../src/ledger/business-day.ts';
import { storeEntries } from '../../../src/store/store-entries.ts';
import { FORM_TOKEN, namedAccess, saidOf, sendBook, showPages, textOf, type ShownPages } from './support.ts';
import { MERCHANT, openStage, OTHER, scenario, type Stage } from '../../support/stage.ts';

const { merchantNo } = MERCHANT;
const PAGE = `/books/${merchantNo}/USD`;

/** Olga is of the other merchant alone. */
const access = namedAccess((name) => ({ merchants: name === 'Olga' ? [OTHER.merchantNo] : null }));

let stage: Stage;
let pages: ShownPages;
let entries: readonly { readonly batchNo: string; readonly day: string; readonly amount: string }[];
beforeAll(async () => {
  const opened = await openStage({
    scenario: scenario({ from: '2026-03-02', to: '2026-03-04', entriesPerDay: 6 }),
  });
  const books = {
    ...{ ...opened.app.settings.books, approvalAbove: new Map([['KWD', '1.5']]) },
    closeNeedsMatch: true,
  };
  stage = { ...opened, app: { ...opened.app, settings: { ...opened.app.settings, books } } };
  pages = await showPages(stage, { access });
  await stage.run();
  entries = stage.sandbox
    .entriesOf(merchantNo)
    .filter(({ currency }) => currency === 'USD')
    .map(({ batchNo, busiDate, inAmount, outAmount }) => ({
      batchNo,
      day: busiDate.slice(0, 10),
      amount: inAmount === null ? `-${outAmount}` : inAmount,
    }));
});
afterAll(async () => {
  await pages.close();
  await stage.close();
});

const words = async (path = PAGE, person = 'Ada'): Promise<string> =>
  textOf(await pages.html(path, { 'x-person': person }));
const send = (step: string, fields: Record<string, string> = {}, person = 'Ada') =>
  pages.post(PAGE, { form_token: FORM_TOKEN, step, ...fields }, { 'x-person': person });

const MAPPING = (merchant = merchantNo) => `merchant: ${JSON.stringify(merchant)}
format: csv
columns: {number: No, booked: Day, currency: Currency, amount: Amount, reference: Reference}`;
const sendFile = async (content: string, mapping = MAPPING(), person = 'Ada'): Promise<string> =>
  saidOf(await sendBook(pages, { content, mapping }, person));
const csv = (rows: readonly (readonly string[])[]): string =>
  [['No', 'Day', 'Currency', 'Amount', 'Reference'], ...rows].map((row) => row.join(',')).join('\n');
const openRows = async (): Promise<string[]> =>
  [...(await pages.html(PAGE, { 'x-person': 'Ada' })).matchAll(/name="entry"\s+value="([^"]*)"/g)].map(
    ([, value]) => value!,
  );

test('a file is imported and matched; what is left is shown, and decided on until the days agree', async () => {
  expect(await words('/books')).toContain('No own book is imported yet');
  const [first, second, ...rest] = entries;
  // The first without a reference and with another amount, the second is missing.
  const rows = rest.map(({ batchNo, day, amount }, nth) => [`N${nth}`, day, 'USD', amount, batchNo]);
  const said = await sendFile(csv([['X1', first!.day, 'USD', '77777.01', ''], ...rows]));
  expect(said).toMatch(/^200 /);
  expect(said).toContain(`march.csv: ${entries.length - 1} rows, ${entries.length - 1} added`);
  expect(await words('/books')).toContain(`${merchantNo} USD unmatched 2 1`);
  expect((await openRows()).toSorted()).toEqual(
    [`ledger:${first!.batchNo}`, `ledger:${second!.batchNo}`, 'own:books:X1'].toSorted(),
  );
  // What keeps the month open leads here, and so does the status.
  const month = await pages.html(`/m/${merchantNo}/2026-03?close=yes`, { 'x-person': 'Ada' });
  expect(textOf(month)).toContain('3 entries in USD up to 2026-03-31 are unmatched');
  expect(month).toContain(`href="${PAGE}"`);
  const status = await pages.html('/status', { 'x-person': 'Ada' });
  expect(textOf(status)).toContain('USD: 2 entries only in the ledger, 1 only in own books');
  expect(status).toContain('href="/books"');
  const checked = await send('check', { entry: `ledger:${first!.batchNo}` });
  expect(await saidOf(checked)).toMatch(/^200 .*Chosen: ledger \S+, own books 0, difference/);
  const written = await send('writeoff', {
    entry: 'own:books:X1',
    type: 'error',
    note: 'typed twice',
  });
  expect(written.headers.get('location')).toBe(`${PAGE}?done=writeoff`);
  expect(await words(`${PAGE}?done=writeoff`)).toContain('The entries are written off.');
  for (const { batchNo } of [first!, second!]) {
    const entry = `ledger:${batchNo}`;
    expect((await send('writeoff', { entry, type: 'missing', note: 'not ours' })).status).toBe(303);
  }
  expect(await words()).toContain('All entries are matched.');
  expect(await words('/books')).toContain(`${merchantNo} USD agrees 0 0`);
});

test('a match is taken back for a reason, and an entry assigned', async () => {
  const html = await pages.html(PAGE, { 'x-person': 'Ada' });
  const id = /name="match"\s+value="(\d+)"/.exec(html)![1]!;
  expect(await saidOf(await send('undo', { match: id }))).toContain(
    'the reason is missing; say why, in the note.',
  );
  expect((await send('undo', { match: id, note: 'it was ours' })).status).toBe(303);
  const [entry] = await openRows();
  const assigned = await send('assign', { entry: entry!, to: 'Grace', due: '2026-12-31' });
  expect(assigned.headers.get('location')).toBe(`${PAGE}?done=assign`);
  expect(await words()).toContain('Grace, due');
  expect(await saidOf(await send('assign', { entry: entry!, due: '2020-01-01' }))).toContain('is over');
});

test('above an amount another person approves', async () => {
  const own = (entry: string) => ({ entry, type: 'error', note: 'x' });
  const file = csv([
    ['K1', '2026-03-02', 'KWD', '1.501', ''],
    ['K2', '2026-03-02', 'KWD', '1.5', ''],
  ]);
  const mapping = `book: kwd\n${MAPPING()}`;
  expect(await sendFile(file, mapping)).toMatch(/^409 .*waits for a second person: it adds 3\.001 KWD/);
  expect(await sendFile(file, mapping, 'Grace')).toContain('2 added');
  const page = `/books/${merchantNo}/KWD`;
  const post = (step: string, fields: Record<string, string>, person = 'Ada') =>
    pages.post(page, { form_token: FORM_TOKEN, step, ...fields }, { 'x-person': person });
  const [below, above] = ['K2', 'K1'].map((number) => own(`own:kwd:${number}`));
  expect((await post('writeoff', below!)).headers.get('location')).toContain('done=writeoff');
  expect((await post('writeoff', above!)).headers.get('location')).toContain('done=waits');
  expect(await pages.html(page, { 'x-person': 'ada' })).not.toContain('Approve match');
  const html = await pages.html(page, { 'x-person': 'Grace' });
  const match = /aria-label="Approve match (\d+)"/.exec(html)![1]!;
  expect(await saidOf(await post('approve', { match }))).toContain('no one may approve their own decision');
  expect((await post('approve', { match }, 'Grace')).headers.get('location')).toContain('done=approve');
  expect(await pages.html(page, { 'x-person': 'Grace' })).not.toContain('Approve match');
});

test('an approval of what was decided anew since it was shown is refused', async () => {
  const page = `/books/${merchantNo}/KWD`;
  const post = (step: string, fields: Record<string, string>, person: string) =>
    pages.post(page, { form_token: FORM_TOKEN, step, ...fields }, { 'x-person': person });
  const { id } = await stage.app.database.db
    .selectFrom('book_match')
    .select('id')
    .where('approved_event_id', 'is not', null)
    .executeTakeFirstOrThrow();
  const match = String(id);
  const undone = await post('undo', { match, note: 'wrong order' }, 'Grace');
  expect(undone.headers.get('location')).toContain('done=undoWaits');
  const html = await pages.html(page, { 'x-person': 'Linus' });
  expect(textOf(html)).toMatch(/to be taken back, waits for approval\s*, Grace: wrong order/);
  expect(await words('/books')).toMatch(/KWD .* 1 2 Mar 2026 1|KWD/);
  expect(await saidOf(await post('approve', { match, seen: '1' }, 'Linus'))).toContain(
    'decided on again since it was shown',
  );
  expect(await saidOf(await post('approve', { match }, 'grace'))).toContain('no one may approve');
  const seen = /name="seen"\s+value="(\d+)"/.exec(html.slice(html.indexOf(`value="${match}"`)))![1]!;
  expect((await post('approve', { match, seen }, 'Linus')).headers.get('location')).toContain('done=approve');
});

test('a box names its entry, whatever characters its number has, and no other', async () => {
  const numbers = ['P-1', 'P-\u200b1', 'P-\\u200b1', 'Ä:1/2%20'];
  const rows = numbers.map((number, nth) => [number, '2026-03-02', 'OMR', `${nth + 1}.5`, '']);
  expect(await sendFile(csv(rows), `book: odd.book\n${MAPPING()}`)).toContain('4 added');
  const page = `/books/${merchantNo}/OMR`;
  const boxes = async () =>
    [...(await pages.html(page, { 'x-person': 'Ada' })).matchAll(/name="entry"\s+value="([^"]*)"/g)].map(
      ([, value]) => value!,
    );
  const [, second] = await boxes();
  const fields = { form_token: FORM_TOKEN, step: 'writeoff', entry: second!, type: 'error', note: 'x' };
  expect((await pages.post(page, fields, { 'x-person': 'Ada' })).status).toBe(303);
  const { rows: left } = await sql<{ number: string }>`
    SELECT number FROM book_entry JOIN book_match_entry ON book_entry_id = book_entry.id WHERE book = 'odd.book' AND match_id IS NOT NULL`.execute(
    stage.app.database.db,
  );
  const number = decodeURIComponent(second!.split(':')[2]!);
  expect(left).toEqual([{ number }]);
  expect(number).not.toBe(numbers[0]);
});

/** An entry of 5 in the ledger on each of the days. */
const storeLedger = (currency: string, days: readonly string[]) =>
  stage.app.database.db.transaction().execute((trx) =>
    storeEntries(trx, {
      ...{ merchantNo, runId: 1, now: new Date('2026-03-05T00:00:00Z') },
      entries: days.map((day, nth) => ({
        ...{
          batchNo: `${currency}${nth}`,
          currency,
          transactionType: 'PAY',
          credit: '5',
          debit: null,
          balance: '5',
        },
        ...{ bookedAt: `${day} 12:00:00`, bookedMs: Date.parse(`${day}T04:00:00Z`) },
      })),
    }),
  );

test('each proposal can be accepted on the page, and a refusal keeps what was chosen and typed', async () => {
  const days = ['2026-02-01', '2026-02-10', '2026-02-19'];
  await storeLedger('EUR', days);
  // Each has a reference and another amount.
  const rows = days.map((day, nth) => [`E${nth}`, day, 'EUR', '7', `EUR${nth}`]);
  expect(await sendFile(csv(rows), `book: eur\n${MAPPING()}`)).toContain('3 added');
  const page = `/books/${merchantNo}/EUR`;
  const answersOf = (html: string) =>
    [...html.matchAll(/type="radio"\s+name="(answer\d+)"\s+value="([^"]*)"(\s*checked)?/g)].map(
      ([, name, value, checked]) => ({ name: name!, value: value!, isChosen: checked !== undefined }),
    );
  const shown = answersOf(await pages.html(page, { 'x-person': 'Ada' }));
  expect(shown).toHaveLength(3);
  const chosen = Object.fromEntries(shown.map(({ name, value }) => [name, value]));
  const post = (fields: Record<string, string>) =>
    pages.post(page, { form_token: FORM_TOKEN, step: 'accept', ...fields }, { 'x-person': 'Ada' });
  const refused = await post({ ...chosen, type1: 'bank fee', answersNote: 'asked the bank' });
  expect(refused.status).toBe(409);
  const html = await refused.text();
  expect(textOf(html)).toContain('give the type of the difference');
  expect(answersOf(html).map(({ isChosen }) => isChosen)).toEqual(shown.map(() => true));
  expect(html).toMatch(/name="type1"\s+maxlength="50"\s+value="bank fee"/);
  expect(html).toContain('asked the bank</textarea>');
  const types = Object.fromEntries(shown.map((_, nth) => [`type${nth}`, 'bank fee']));
  expect((await post({ ...chosen, ...types })).headers.get('location')).toContain('done=accept');
  expect(answersOf(await pages.html(page, { 'x-person': 'Ada' }))).toEqual([]);
});

test('all proposals are shown, page by page', async () => {
  const days = Array.from({ length: 25 }, (_, nth) => addDays('2025-07-20', 9 * nth));
  await storeLedger('JOD', days);
  const rows = days.flatMap((day, nth) =>
    [`A${nth}`, `B${nth}`].map((number) => [number, day, 'JOD', '5', '']),
  );
  expect(await sendFile(csv(rows), `book: jod\nfrom: 2025-07-20\n${MAPPING()}`)).toContain('50 added');
  const page = `/books/${merchantNo}/JOD`;
  const proposals = (html: string): number => html.match(/<h3 id="proposal/g)?.length ?? 0;
  const first = await pages.html(page, { 'x-person': 'Ada' });
  expect([proposals(first), textOf(first)]).toEqual([20, expect.stringContaining('1 to 20 of')]);
  const next = /href="([^"]*skipped=20[^"]*)"/.exec(first)![1]!;
  const second = await pages.html(next, { 'x-person': 'Ada' });
  expect(proposals(second)).toBeGreaterThan(0);
  const count = Number(/1 to 20 of (\d+)/.exec(textOf(first))![1]);
  expect(textOf(second)).toContain(`21 to ${Math.min(40, count)} of ${count}`);
});

test('what is not possible is refused with a reason, and changes nothing', async () => {
  const [entry] = await openRows();
  expect(await saidOf(await send('match', { entry: entry! }))).toMatch(/^409 .*needs entries of both sides/);
  expect(await saidOf(await send('writeoff', { entry: entry!, note: 'x' }))).toContain(
    'say what is written off',
  );
  expect(await saidOf(await send('accept', { answer0: 'USD/2026-03-02/0123456789' }))).toContain(
    'is no answer now',
  );
  expect(await saidOf(await send('accept'))).toMatch(/^409 .*No answer is chosen/);
  expect(await saidOf(await send('approve', { match: '999999' }))).toContain('there is no match');
  expect((await send('nonsense')).status).toBe(400);
  expect((await send('match', { entry: 'nonsense' })).status).toBe(400);
  expect(await sendFile('nonsense', 'merchant: [')).toMatch(/^409 /);
  expect(await sendFile(csv([]), `${MAPPING()}\nnonsense: 1`)).toMatch(/^409 /);
  expect(await openRows()).toEqual([entry]);
});

test('a viewer sees and changes nothing; others do not learn whose books there are', async () => {
  expect(await words(PAGE, 'Vera')).toContain('Unmatched entries');
  expect(await pages.html(PAGE, { 'x-person': 'Vera' })).not.toContain('<form method="post" action="/books');
  expect((await send('undo', { match: '1', note: 'x' }, 'Vera')).status).toBe(403);
  expect((await pages.get(PAGE, { 'x-person': 'Olga' })).status).toBe(404);
  expect(await words('/books', 'Olga')).toContain('No own book is imported yet');
  expect((await send('undo', { match: '1', note: 'x' }, 'Olga')).status).toBe(404);
  expect(await sendFile(csv([]), MAPPING(), 'Olga')).toContain(`merchant ${merchantNo} is not known`);
});
