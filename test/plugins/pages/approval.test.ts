/** Two persons close a month on its page: what each of them is offered, what the page says meanwhile, and what a viewer sees. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FORM_TOKEN, namedAccess, showPages, textOf, type ShownPages } from './support.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../../support/stage.ts';

const { merchantNo } = MERCHANT;
const PAGE = `/m/${merchantNo}/2026-02`;
const FORM = `${PAGE}?close=yes`;

let stage: Stage;
let pages: ShownPages;
beforeAll(async () => {
  const days = { from: '2026-02-26', to: '2026-02-28' };
  const opened = await openStage({
    scenario: scenario({ ...days, entriesPerDay: 4, now: '2026-03-01T01:30:00+08:00' }),
  });
  const settings = { ...opened.app.settings, closeApproval: 'required' as const };
  stage = { ...opened, app: { ...opened.app, settings } };
  pages = await showPages(stage, { access: namedAccess() });
  await stage.run({ range: { from: '2026-02-01', to: days.to } });
});
afterAll(async () => {
  await pages.close();
  await stage.close();
});

const html = (person: string, path: string) => pages.html(path, { 'x-person': person });
const words = async (person: string, path: string): Promise<string> => textOf(await html(person, path));
/** Opens the form, and sends it by this button. */
const send = async (person: string, step: string, fields: Record<string, string> = {}) => {
  const seen = /name="seen" value="([0-9a-f]*)"/.exec(await html(person, FORM))?.[1] ?? '';
  const form = { form_token: FORM_TOKEN, seen, step, ...fields };
  return pages.post(PAGE, form, { 'x-person': person });
};
const offered = async (person: string): Promise<string[]> =>
  [...(await html(person, FORM)).matchAll(/name="step" value="(\w+)"/g)].map(([, step]) => step!);

test('an operator can prepare it, and not close it; a viewer can do neither', async () => {
  expect(await offered('Ada')).toEqual(['prepare']);
  expect(await offered('Vera')).toEqual([]);
  const alone = await send('Ada', 'close');
  expect([alone.status, textOf(await alone.text())]).toEqual([
    409,
    expect.stringContaining('No one has prepared the month'),
  ]);
  expect((await send('Vera', 'prepare')).status).toBe(403);
});

test('who prepared it can only withdraw it; another person can approve it; everybody sees that it waits', async () => {
  const prepared = await send('Ada', 'prepare', { note: 'all reviewed' });
  expect(prepared.headers.get('location')).toBe(`${PAGE}?done=prepare`);
  expect(await words('Ada', `${PAGE}?done=prepare`)).toContain('The month is prepared.');
  for (const person of ['Ada', 'Grace', 'Vera'])
    expect(await words(person, PAGE)).toMatch(
      /Prepared by Ada on 1 Mar 2026, 01:30:00\s*, waits for approval by another person\..* all reviewed/,
    );
  expect(await offered('Ada')).toEqual(['withdraw']);
  expect(await offered('Grace')).toEqual(['approve', 'withdraw']);
  const own = await send('Ada', 'approve');
  expect([own.status, textOf(await own.text())]).toEqual([
    409,
    expect.stringContaining('no one may approve their own preparation'),
  ]);
});

test('a page shown before another preparation approves nothing of it', async () => {
  const entry = stage.sandbox
    .entriesOf(merchantNo)
    .find(({ currency, busiDate }) => currency === 'USD' && busiDate.startsWith('2026-02-27'))!;
  const seen = /name="seen" value="([0-9a-f]+)"/.exec(await html('Grace', FORM))![1]!;
  stage.sandbox.amend(merchantNo, entry.batchNo, { busiType: 'CHANGED' });
  await stage.run({ range: { from: '2026-02-26', to: '2026-02-28' } });
  expect(await words('Grace', FORM)).toContain(
    'the month has changed since Ada prepared it: USD 2026-02-27 was revised from revision 1 to 2',
  );
  expect(await offered('Grace')).toEqual(['prepare']);
  expect((await send('Ada', 'prepare')).status).toBe(303);
  const late = await send('Grace', 'approve', { seen });
  expect([late.status, textOf(await late.text())]).toEqual([
    409,
    expect.stringContaining('The month or its preparation is not what was shown to you'),
  ]);
});

test('a page shown before the reason or the note was given anew approves nothing; nor can who approves give another reason', async () => {
  const seen = /name="seen" value="([0-9a-f]+)"/.exec(await html('Grace', FORM))![1]!;
  expect((await send('Ada', 'withdraw')).status).toBe(303);
  expect((await send('Ada', 'prepare', { note: 'ignore break 7' })).status).toBe(303);
  const late = await send('Grace', 'approve', { seen });
  expect([late.status, textOf(await late.text())]).toEqual([
    409,
    expect.stringContaining('The month or its preparation is not what was shown to you'),
  ]);
});

test('a look-alike of the name that prepared it approves nothing', async () => {
  expect(await offered('Adá')).toEqual(['withdraw']);
  const own = await send('Adá', 'approve');
  expect([own.status, textOf(await own.text())]).toEqual([
    409,
    expect.stringContaining('no one may approve their own preparation'),
  ]);
});

test('once it is approved, both are on the page, and it can be reopened for a reason', async () => {
  expect((await send('Grace', 'approve')).headers.get('location')).toBe(`${PAGE}?done=yes`);
  expect(await words('Grace', `${PAGE}?done=yes`)).toMatch(
    /The month is closed: close 1 .* Grace 6 Prepared by Ada on 1 Mar 2026/,
  );
  expect(await words('Ada', `${PAGE}?close=reopen`)).toContain('Reopen February 2026');
  const bare = await send('Ada', 'reopen');
  expect([bare.status, textOf(await bare.text())]).toEqual([
    409,
    expect.stringContaining('Not reopened: give a reason.'),
  ]);
  expect((await send('Ada', 'reopen', { note: 'invoice 7' })).status).toBe(303);
  const open = await words('Ada', `${PAGE}?done=reopen`);
  expect(open).toContain('The month is open again.');
  expect(open).toMatch(/This month is not closed\..*Reopened by Ada on .* invoice 7/);
  expect(await words('Ada', '/?month=2026-02')).not.toContain(`${merchantNo} USD closed`);
  expect(await offered('Ada')).toEqual(['prepare']);
});
