/** Closing a month on its page, as the command does it: who may, what it asks, what it freezes, and what shows afterwards. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Person } from '../../../src/plugins/pages/access/access.ts';
import type { SigningKey } from '../../../src/ledger/signature.ts';
import { keyPairOf, readSigningKey } from '../../../src/signing.ts';
import { accessOf, FORM_TOKEN, showPages, textOf, type ShownPages } from './support.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../../support/stage.ts';

const { merchantNo } = MERCHANT;
const RANGE = { from: '2026-02-26', to: '2026-03-02' };
const FEBRUARY = `/m/${merchantNo}/2026-02`;
const MARCH = `/m/${merchantNo}/2026-03`;
const FILE = `merchant=${merchantNo}/close=2026-02/${merchantNo}_2026-02.close1.json`;
const PAIR = keyPairOf(Buffer.alloc(32, 3), Buffer.alloc(8, 3));

let stage: Stage;
let pages: ShownPages;
let viewing: ShownPages;
beforeAll(async () => {
  const now = '2026-03-03T01:30:00+08:00';
  const opened = await openStage({ scenario: scenario({ ...RANGE, entriesPerDay: 8, now }) });
  const settings = { ...opened.app.settings, signingKey: readSigningKey(PAIR.secretKey) as SigningKey };
  stage = { ...opened, app: { ...opened.app, settings } };
  pages = await showPages(stage);
  const viewer: Person = { name: 'Vera', role: 'viewer', merchants: null };
  viewing = await showPages(stage, { access: accessOf(() => viewer) });
});
afterAll(async () => {
  await pages.close();
  await viewing.close();
  await stage.close();
});

const words = async (path: string): Promise<string> => textOf(await pages.html(path));
const night = (days: { from: string; to: string } = RANGE) => stage.run({ range: days });
const close = (path: string, fields: Record<string, string> = {}) =>
  pages.post(path, { form_token: FORM_TOKEN, ...fields });
const fileIn = (key: string) => readFile(join(stage.app.settings.dataDir, 'statements', key), 'utf8');
const closeDeeds = () =>
  stage.app.database.db
    .selectFrom('audit_event')
    .select(['by_whom', 'subject', 'note'])
    .where('command', '=', 'close')
    .orderBy('id')
    .execute();

test('where nothing was published, nothing is offered, and nothing is frozen', async () => {
  expect(await words(FEBRUARY)).not.toContain('Close this month');
  const refused = await close(FEBRUARY);
  expect(refused.status).toBe(409);
  expect(textOf(await refused.text())).toContain('there is nothing to freeze');
});

test('open days are named with cause and what to do, and refuse unless somebody says why', async () => {
  await night({ from: '2026-02-01', to: '2026-02-27' });
  expect(await words(FEBRUARY)).toContain('This month is not closed. Close this month');
  const form = await words(`${FEBRUARY}?close=yes`);
  expect(form).toContain('Close February 2026');
  expect(form).toContain(
    'KWD 28 Feb 2026 not read completely : the day was not read completely ' + '“Read again” an operator',
  );
  const refused = await close(FEBRUARY, { note: 'reviewed <b>', despite: '  ' });
  expect(refused.status).toBe(409);
  const html = await refused.text();
  expect(textOf(html)).toContain('Not closed: days are open.');
  expect(html).toMatch(/>\s*reviewed &lt;b&gt;<\/textarea\s*>/);
  expect(html).toMatch(/<textarea\s+id="despite"[^>]* required/);
  const long = await close(FEBRUARY, { despite: 'x'.repeat(1_001) });
  expect([long.status, textOf(await long.text())]).toEqual([409, expect.stringContaining('up to 1000')]);
  expect(await closeDeeds()).toEqual([]);
});

test('a viewer sees everything, and gets neither button nor close', async () => {
  await night();
  const html = await viewing.html(`${FEBRUARY}?close=yes`);
  expect(textOf(html)).toContain('This month is not closed. Only an operator can close a month.');
  expect(html).not.toContain('<form method="post"');
  expect((await viewing.post(FEBRUARY, {})).status).toBe(403);
  expect((await pages.post(FEBRUARY, {})).status).toBe(403);
  expect(await closeDeeds()).toEqual([]);
});

test('closing it freezes the list under the person’s name, signed, and the page says so', async () => {
  expect(await words(`${FEBRUARY}?close=yes`)).toContain('Every day of every account is over');
  const closed = await close(FEBRUARY, { note: 'reviewed' });
  expect([closed.status, closed.headers.get('location')]).toEqual([303, `${FEBRUARY}?done=yes`]);
  expect(await closeDeeds()).toEqual([
    { by_whom: 'local', subject: `${merchantNo} 2026-02`, note: 'reviewed' },
  ]);
  expect(JSON.parse(await fileIn(FILE))).toMatchObject({ number: 1, by: 'local', note: 'reviewed' });
  expect(await fileIn(`${FILE}.minisig`)).toContain('untrusted comment');
  const reported = await words(`${FEBRUARY}?done=yes`);
  expect(reported).toContain(
    `${merchantNo}, February 2026 closed The month is closed: close 1 freezes 6 statements.`,
  );
  expect(reported).toMatch(
    new RegExp(
      `1 3 Mar 2026, 01:30:00 local 6 reviewed ${merchantNo}_2026-02.close1.json SHA-256 [0-9a-f]{64} ` +
        'Adjustments since Nothing has changed since. Reopen the month Days of KWD',
    ),
  );
  expect(textOf(await viewing.html(`${FEBRUARY}?done=yes`))).not.toContain('The month is closed:');
  expect(await words('/?month=2026-02')).toContain('none closed');
  expect(await words('/?month=2026-03')).not.toContain('closed');
  expect(await words(`/m/${merchantNo}/USD/2026-02-28`)).toContain('Its month is closed (close 1).');
});

test('closing it once more makes no other close', async () => {
  expect((await close(FEBRUARY, { note: 'reviewed' })).status).toBe(303);
  expect(await closeDeeds()).toHaveLength(1);
});

test('another note is not said to be kept where no other close is made', async () => {
  const refused = await close(FEBRUARY, { note: 'approved by Grace' });
  expect(refused.status).toBe(409);
  const html = await refused.text();
  expect(textOf(html)).toContain('Already closed, and nothing has changed since.');
  expect(html).toMatch(/>\s*approved by Grace<\/textarea\s*>/);
  expect((await close(FEBRUARY, { despite: 'in a hurry' })).status).toBe(409);
  expect(await closeDeeds()).toHaveLength(1);
});

test('a later revision shows as an adjustment: on the month, the grid and the day, each leading to the comparison', async () => {
  const entry = stage.sandbox
    .entriesOf(merchantNo)
    .find(({ currency, busiDate }) => currency === 'USD' && busiDate.startsWith('2026-02-28'))!;
  stage.sandbox.amend(merchantNo, entry.batchNo, { busiType: 'CHANGED' });
  await night();
  const compared = `/m/${merchantNo}/USD/2026-02-28?revision=2&amp;against=1#compared`;
  for (const path of [FEBRUARY, `/m/${merchantNo}/USD/2026-02-28`])
    expect(await pages.html(path), path).toContain(compared);
  const month = await words(`${FEBRUARY}?currency=USD`);
  expect(month).toContain(`${merchantNo}, February 2026 closed, changed since`);
  expect(month).toMatch(/28 Feb 2026 USD r1 → r2 3 Mar 2026, 01:30:00 \+\d\d:\d\d 1 entry amended/);
  expect(month).toMatch(/28 Feb 2026 ✓ ∆ proven, revised or first published since the month was closed/);
  expect(month).toContain('Make the next close');
  expect(await words(`/m/${merchantNo}/USD/2026-02-28`)).toContain(
    'Revised or first published since its month was closed (close 1): r1 → r2',
  );
  expect(await words(`/m/${merchantNo}/KWD/2026-02-28`)).toContain('Its month is closed (close 1).');
  expect(await pages.html('/?month=2026-02')).toMatch(
    /USD\/2026-02-28"\s+aria-label="proven, revised or first published since the month was closed"\s*>✓<sup>∆<\/sup>/,
  );
  const grid = await words('/?month=2026-02');
  expect(grid).toContain('none closed, changed since');
  expect(grid).toMatch(/none closed (?!,)/);
  expect(textOf(await viewing.html(FEBRUARY))).toContain('Only an operator can close a month.');
});

test('the next close takes them in and names the one before', async () => {
  expect((await close(FEBRUARY)).status).toBe(303);
  const reported = await words(`${FEBRUARY}?done=yes`);
  expect(reported).toContain('The month is closed: close 2 freezes 6 statements.');
  expect(reported).toContain('Nothing has changed since.');
  expect(JSON.parse(await fileIn(FILE.replace('close1', 'close2')))).toMatchObject({
    previous: { number: 1 },
  });
});

test('a month that is not over is closed only where somebody says why', async () => {
  const form = await words(`${MARCH}?close=yes`);
  expect(form).toContain('58 account days (2 accounts) are open.');
  expect(form).toMatch(
    /KWD 3 Mar 2026 – 31 Mar 2026 not over : the day is not over before 2026-03-04 00:00:00/,
  );
  expect((await close(MARCH, { despite: 'the company is sold' })).status).toBe(303);
  expect(await words(MARCH)).toContain('Despite 58 open account days: the company is sold');
});

test('where the store holds another file in its place, that is told', async () => {
  const { objects } = stage.app;
  await objects.put(FILE.replace('close1', 'close2'), Buffer.from('{}'), { contentType: 'application/json' });
  const reported = await close(FEBRUARY);
  expect([reported.status, textOf(await reported.text())]).toEqual([
    409,
    expect.stringContaining('is not what this database closed'),
  ]);
});
