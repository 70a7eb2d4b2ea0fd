/** The pages of entries that could not be read, over a real server, database and platform. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Access, Person } from '../../../src/plugins/pages/access/access.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../../support/stage.ts';
import { everybody, FORM_TOKEN, showPages, textOf, type ShownPages } from './support.ts';

const { merchantNo } = MERCHANT;
const DAY = '2026-03-05';

let stage: Stage;
let pages: ShownPages;
let viewing: ShownPages;
let foreign: ShownPages;
let ids: number[];
beforeAll(async () => {
  const one = { what: 'malformed' as const, merchant: merchantNo, currency: 'USD', day: DAY };
  stage = await openStage({
    scenario: scenario({ entriesPerDay: 6, planted: [1, 2, 3].map((nth) => ({ ...one, nth })) }),
  });
  await stage.run();
  const as = (person: Person): Access => ({ ...everybody(), personOf: () => person });
  pages = await showPages(stage);
  viewing = await showPages(stage, { access: as({ name: 'Vera', role: 'viewer', merchants: null }) });
  foreign = await showPages(stage, { access: as({ name: 'Otto', role: 'operator', merchants: ['M-2'] }) });
  const rows = await stage.app.database.db
    .selectFrom('quarantined_entry')
    .select('id')
    .orderBy('id')
    .execute();
  ids = rows.map(({ id }) => id);
});
afterAll(async () => {
  await Promise.all([pages, viewing, foreign].map((one) => one.close()));
  await stage.close();
});

const words = async (path: string, by = pages): Promise<string> => textOf(await by.html(path));
const acknowledge = (id: number, note: string, by = pages, token = FORM_TOKEN) =>
  by.post(`/unreadable/${id}`, { form_token: token, note });
const events = () =>
  stage.app.database.db
    .selectFrom('audit_event')
    .select(['by_whom', 'command', 'subject', 'note'])
    .where('command', '=', 'quarantine acknowledge')
    .execute();
const rowOf = (id: number) =>
  stage.app.database.db
    .selectFrom('quarantined_entry')
    .select(['acknowledged_at', 'note'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();

test('each page that counts unreadable entries leads to their list, and the list to each as received', async () => {
  const list = `/unreadable?merchant=${merchantNo}`;
  expect(await pages.html('/?month=2026-03')).toContain(`href="${list}"`);
  expect(await pages.html('/status')).toContain(`href="${list}"`);
  expect(await pages.html('/status')).toContain('href="/unreadable"');
  const day = await pages.html(`/m/${merchantNo}/USD/${DAY}`);
  expect(day).toContain(`href="/unreadable/${ids[0]}"`);
  expect(day).toContain(`href="/unreadable?merchant=${merchantNo}&amp;day=${DAY}&amp;all=yes"`);
  const listed = await pages.html(list);
  for (const id of ids) expect(listed).toContain(`href="/unreadable/${id}"`);
  expect(await pages.html(`/unreadable?day=${DAY}`)).toContain(`href="/unreadable/${ids[0]}"`);
  expect(await words('/unreadable?day=2026-02-01')).toContain('No unreadable entries.');
  const shown = await words(`/unreadable/${ids[0]}`);
  expect(shown).toMatch(/open : .*First seen|open : .*first seen 6 Mar 2026/);
  expect(shown).toContain('As received {');
});

test('what came is shown and does nothing, with its hidden characters spelled out', async () => {
  const raw = '{"batchNo":null,"memo":"<script>alert(1)</script>\u202Egnp.exe\u0007"}';
  await stage.app.database.db
    .updateTable('quarantined_entry')
    .set({ raw, batch_no: null })
    .where('id', '=', ids[2]!)
    .execute();
  const html = await pages.html(`/unreadable/${ids[2]}`);
  expect(html).toContain('&lt;script&gt;');
  expect(html).not.toMatch(/<script|\u202E|\u0007/);
});

test('it is acknowledged with a note, once, and on record as by the command', async () => {
  for (const note of ['', '   ', 'x'.repeat(1_001)])
    expect((await acknowledge(ids[0]!, note)).status).toBe(409);
  expect(await rowOf(ids[0]!)).toEqual({ acknowledged_at: null, note: null });
  const answers = await Promise.all([acknowledge(ids[0]!, ' case 7 '), acknowledge(ids[0]!, 'case 8')]);
  expect(answers.map(({ status }) => status).sort()).toEqual([303, 409]);
  const [{ note }, recorded] = [await rowOf(ids[0]!), await events()];
  expect(recorded).toEqual([
    { by_whom: 'local', command: 'quarantine acknowledge', subject: String(ids[0]), note },
  ]);
  const done = await words(`/unreadable/${ids[0]}?done=yes`);
  expect(done).toContain('The entry is acknowledged.');
  expect(done).toContain(note);
  expect(await pages.html(`/unreadable/${ids[0]}`)).not.toContain('<textarea');
  expect(await pages.html('/unreadable')).not.toContain(`href="/unreadable/${ids[0]}"`);
  expect(await pages.html('/unreadable?all=yes')).toContain(`href="/unreadable/${ids[0]}"`);
});

test('one that the platform has corrected meanwhile is not acknowledged, and nothing is on record', async () => {
  const before = (await events()).length;
  await stage.app.database.db
    .updateTable('quarantined_entry')
    .set({ released_at: stage.app.now() })
    .where('id', '=', ids[1]!)
    .execute();
  const late = await acknowledge(ids[1]!, 'case 9');
  expect([late.status, textOf(await late.text())]).toEqual([
    409,
    expect.stringContaining('no longer sends it in this form'),
  ]);
  expect(await events()).toHaveLength(before);
});

test('a viewer sees neither what came nor a form; other merchants, odd numbers and foreign forms are refused', async () => {
  const shown = await viewing.html(`/unreadable/${ids[2]}`);
  expect(shown).not.toContain('alert(1)');
  expect(shown).not.toContain('<textarea');
  expect((await acknowledge(ids[2]!, 'mine', viewing)).status).toBe(403);
  expect((await acknowledge(ids[2]!, 'mine', pages, 'other')).status).toBe(403);
  expect((await acknowledge(ids[2]!, 'mine', foreign)).status).toBe(404);
  expect(await foreign.html('/unreadable?all=yes')).not.toContain(`href="/unreadable/${ids[2]}"`);
  for (const path of [`/unreadable/${ids[2]}`, `/unreadable?merchant=${merchantNo}`])
    expect((await foreign.get(path)).status).toBe(404);
  for (const path of ['/unreadable/0', '/unreadable/x', '/unreadable/999999'])
    expect((await pages.get(path)).status).toBe(404);
  expect((await pages.get('/unreadable?day=yesterday')).status).toBe(400);
  expect((await rowOf(ids[2]!)).acknowledged_at).toBeNull();
});
