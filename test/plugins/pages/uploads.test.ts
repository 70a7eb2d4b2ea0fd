/** What is sent to the pages as a form or a file: who may send it is known first, its size and number are limited, and it is done in turn. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/engine/connection.ts';
import { rowsOf } from '../../../src/store/engine/database.ts';
import { lockBooks } from '../../../src/plugins/books/open.ts';
import { FORM_TOKEN, namedAccess, saidOf, sendBook, showPages, type ShownPages } from './support.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../../support/stage.ts';

const { merchantNo } = MERCHANT;
const FORM_BYTES_MAX = 10 * 1_048_576;

let stage: Stage;
let pages: ShownPages;
beforeAll(async () => {
  stage = await openStage({ scenario: scenario({ from: '2026-03-02', to: '2026-03-02', entriesPerDay: 2 }) });
  pages = await showPages(stage, { access: namedAccess() });
  await stage.run();
});
afterAll(async () => {
  await pages.close();
  await stage.close();
});

const MAPPING = `merchant: ${JSON.stringify(merchantNo)}
format: csv
covers: nothing
columns: {number: No, booked: Day, currency: Currency, amount: Amount}`;
const HEADS = 'No,Day,Currency,Amount';

const sendFile = async (
  { content = HEADS, mapping = MAPPING, name = 'march.csv' },
  person = 'Ada',
): Promise<string> => saidOf(await sendBook(pages, { content, mapping, name }, person));
const sendBody = async (body: string, person: string, type = 'multipart/form-data; boundary=----x') =>
  saidOf(
    await fetch(`${pages.url}/books`, {
      ...{ method: 'POST', body },
      headers: { 'x-person': person, 'content-type': type },
    }),
  );
const partOf = (head: string, content = ''): string => `------x\r\n${head}\r\n\r\n${content}\r\n`;
const NAMED = 'Content-Disposition: form-data; name="mapping"';
const END = '------x--\r\n';

/** Longest time, in ms, for which the process did nothing else. */
async function heldUp(work: Promise<unknown>): Promise<number> {
  let [longest, last] = [0, performance.now()];
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 5);
  await work.finally(() => clearInterval(timer));
  return Math.max(longest, performance.now() - last);
}
/** Far more than it needs on a busy machine, and far less than what work that grows with the square takes. */
const HELD_UP_MS_MAX = 1_500;

test('a viewer is refused before anything of the body is read', async () => {
  const socket = connect({ port: Number(new URL(pages.url).port), host: '127.0.0.1' });
  const head = ['POST /books HTTP/1.1', 'host: localhost', 'x-person: Vera'];
  const type = ['content-type: multipart/form-data; boundary=----x', `content-length: ${FORM_BYTES_MAX - 1}`];
  socket.write(`${[...head, ...type].join('\r\n')}\r\n\r\n`);
  const [answer] = (await new Promise<Buffer>((resolve) => socket.once('data', resolve)))
    .toString()
    .split('\r\n');
  socket.destroy();
  expect(answer).toMatch(/^HTTP\/1\.1 403 /);
});

test.each([
  ['parts', partOf(NAMED).repeat(146_636)],
  ['lines above a content', partOf(`${NAMED}${'\r\nA: b'.repeat(1_500_000)}`) + END],
  ['a name', partOf(`${NAMED}; filename="${'%22'.repeat(3_000_000)}"`) + END],
  ['marks without an end', '------x'.repeat(1_000_000)],
])('ten megabytes of %s hold up nobody', async (_what, body) => {
  expect(body.length).toBeLessThan(FORM_BYTES_MAX);
  let said = '';
  expect(await heldUp(sendBody(body, 'Ada').then((text) => (said = text)))).toBeLessThan(HELD_UP_MS_MAX);
  expect(said).toMatch(/^400 /);
});

test('a form whose boundary is none of a browser is refused', async () => {
  for (const type of ['multipart/form-data', 'multipart/form-data; boundary=x; boundary=y'])
    expect(await sendBody(END, 'Ada', type)).toMatch(/^(?:400|415) /);
});

test('a file has any name, which is kept up to its limit', async () => {
  const content = `${HEADS}\nA1,2026-03-02,USD,1.00`;
  for (const name of ['a\0b.csv', '\u202e\ud800.csv', `${'n'.repeat(2_000)}.csv`, '', '../../etc/passwd'])
    expect(await sendFile({ content, name }), name.slice(0, 20)).toMatch(/^(?:200|400|409) /);
  expect(await sendFile({ content, name: 'n'.repeat(100_000) })).toMatch(/^400 /);
  const rows = await rowsOf(stage.app.database.db)<{ longest: number }>`
    SELECT max(length(source)) AS longest FROM book_import`;
  expect(rows).toEqual([{ longest: 200 }]);
});

test.each([
  ['a minus, blanks and a letter', `-${' '.repeat(60_000)}x`],
  ['blanks between digits', `1${' '.repeat(60_000)}1`],
  ['groups', `${'1,'.repeat(60_000)}x`],
])('a cell of %s is no amount, and is told at once', async (_what, amount) => {
  const content = [HEADS, `Z1,2026-03-02,USD,1`, `Z2,2026-03-02,USD,"${amount}"`].join('\n');
  let said = '';
  expect(await heldUp(sendFile({ content }).then((text) => (said = text)))).toBeLessThan(HELD_UP_MS_MAX);
  expect(said).toMatch(/^200 .* 1 unreadable/);
});

test('a cell of blanks is no day and no currency, and is told at once', async () => {
  const blanks = ' '.repeat(60_000);
  const dates = 'dates: DD MM YYYY\n';
  for (const row of [`Y1,"2${blanks}x",USD,1`, `Y2,02 03 2026,"U${blanks}D",1`]) {
    const content = [HEADS, 'Y3,02 03 2026,USD,1', row].join('\n');
    const sent = sendFile({ content, mapping: dates + MAPPING });
    expect(await heldUp(sent)).toBeLessThan(HELD_UP_MS_MAX);
    expect(await sent).toMatch(/^200 .* 1 unreadable/);
  }
});

test('ten megabytes of delimiters hold up nobody', async () => {
  let said = '';
  const content = ','.repeat(FORM_BYTES_MAX - 10_000);
  expect(await heldUp(sendFile({ content }).then((text) => (said = text)))).toBeLessThan(HELD_UP_MS_MAX);
  expect(said).toMatch(/^409 .*a row has over 1000 cells/);
});

test.each([
  ['20,000 keys', Array.from({ length: 20_000 }, (_, nth) => `k${nth}:\n`).join('')],
  ['some thousand short keys', Array.from({ length: 1_600 }, (_, nth) => `${nth.toString(36)}:\n`).join('')],
  ['lists in lists', '['.repeat(8_000)],
])('a mapping of %s is refused at once', async (_what, mapping) => {
  let said = '';
  expect(await heldUp(sendFile({ mapping }).then((text) => (said = text)))).toBeLessThan(HELD_UP_MS_MAX);
  expect(said).toMatch(/^409 .*the mapping/);
});

/** Keeps the books of the merchant for as long as `work` takes. */
async function whileAtWork(work: () => Promise<void>): Promise<void> {
  const { databaseUrl } = stage.app.settings;
  const other = await openDatabase({ databaseUrl, dataDir: '', connectionsMax: 2 });
  try {
    await other.db.transaction().execute(async (trx) => {
      await lockBooks(trx, merchantNo);
      await work();
    });
  } finally {
    await other.close();
  }
}

const BUSY = /^409 .*are being imported, matched or decided on, and nothing was changed/;
const imports = async (): Promise<number> => {
  const [{ count } = { count: 0 }] = await rowsOf(stage.app.database.db)<{ count: number }>`
    SELECT count(*)::int AS count FROM book_import`;
  return count;
};

test('while the books of a merchant are at work, files and forms that wait for them keep no page away', async () => {
  const content = `${HEADS}\nB1,2026-03-02,USD,1.00`;
  let sent: Promise<string>[] = [];
  await whileAtWork(async () => {
    sent = Array.from({ length: 2 }, (_, nth) => sendFile({ content }, `Person ${nth}`));
    for (let nth = 0; nth < 2; nth += 1) {
      const fields = { form_token: FORM_TOKEN, step: 'undo', match: '1', note: 'x' };
      const answer = pages.post(`/books/${merchantNo}/USD`, fields, { 'x-person': `Person ${nth}` });
      sent.push(answer.then(saidOf));
    }
    await sleep(200);
    const beganMs = performance.now();
    await pages.html('/books', { 'x-person': 'Olga' });
    expect(performance.now() - beganMs).toBeLessThan(2_000);
    expect(await sendFile({ content }, 'Grace')).toMatch(BUSY);
  });
  expect((await Promise.all(sent)).filter((text) => !/^(?:200|409) /.test(text))).toEqual([]);
});

test('files of a person who sends many wait behind their own, and nobody else does', async () => {
  const rows = Array.from({ length: 100 }, (_, nth) => `C${nth},2026-03-02,USD,1.00`);
  const content = [HEADS, ...rows].join('\n');
  const many = Array.from({ length: 20 }, () => sendFile({ content }, 'Mallory'));
  const one = await sendFile({ content: `${HEADS}\nD1,2026-03-02,USD,1.00` }, 'Grace');
  expect(one).toMatch(/^200 /);
  const said = await Promise.all(many);
  expect(said.filter((text) => text.startsWith('429 ')).length).toBeGreaterThan(0);
  expect(said.filter((text) => !/^(?:200|429) /.test(text))).toEqual([]);
});

test('who leaves ends the import, and nothing of it is stored', async () => {
  const before = await imports();
  const left = new AbortController();
  const body = new FormData();
  body.set('mapping', MAPPING);
  body.set('file', new File([`${HEADS}\nL1,2026-03-02,USD,1.00`], 'march.csv'));
  await whileAtWork(async () => {
    const sent = fetch(`${pages.url}/books`, {
      ...{ method: 'POST', body, headers: { 'x-person': 'Ada' } },
      signal: left.signal,
    });
    const { db } = stage.app.database;
    const waiting = () => rowsOf(db)`SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`;
    await expect.poll(async () => (await waiting()).length).toBe(1);
    left.abort();
    await expect(sent).rejects.toThrow();
  });
  // The same person's next file waits for the end of that one.
  expect(await sendFile({ content: `${HEADS}\nL2,2026-03-02,USD,1.00` })).toMatch(/^200 /);
  expect(await imports()).toBe(before + 1);
});
