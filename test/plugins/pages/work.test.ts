/** What operators ask on the pages to be read or published again, done by a worker's loop on a real database. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Access, Person } from '../../../src/plugins/pages/access/access.ts';
import { doNextRequest } from '../../../src/run/requests.ts';
import { addMerchant, disableMerchant } from '../../../src/store/merchants.ts';
import { cancelRequest, fileRequest, OPEN_MAX } from '../../../src/run/page-requests.ts';
import { endRequest, lastRequests, requestById, takeRequest } from '../../../src/store/requests.ts';
import { acquireLease, merchantLease } from '../../../src/store/engine/lease.ts';
import { MERCHANT, OTHER, type Stage } from '../../support/stage.ts';
import { BROKEN_DAY, closeMarch, openPagesStage, REVISED_DAY } from './stage.ts';
import { everybody, FORM_TOKEN, showPages, textOf, type ShownPages } from './support.ts';

const { merchantNo } = MERCHANT;
const USD_DAY = `/m/${merchantNo}/USD/${BROKEN_DAY}`;

let stage: Stage;
let pages: ShownPages;
let other: ShownPages;
let viewing: ShownPages;
beforeAll(async () => {
  stage = await openPagesStage();
  pages = await showPages(stage);
  const as = (person: Person): Access => ({ ...everybody(), personOf: () => person });
  other = await showPages(stage, { access: as({ name: 'Bo', role: 'operator', merchants: null }) });
  viewing = await showPages(stage, { access: as({ name: 'Vera', role: 'viewer', merchants: null }) });
});
afterAll(async () => {
  await Promise.all([pages, other, viewing].map((one) => one.close()));
  await stage.close();
});

const words = async (path: string): Promise<string> => textOf(await pages.html(path));
const FIELDS = { form_token: FORM_TOKEN, merchant: merchantNo, from: BROKEN_DAY, to: BROKEN_DAY };
const ask = (kind: string, change: Record<string, string> = {}, by = pages) =>
  by.post('/work', { ...FIELDS, kind, ...change });
async function filed(answer: Promise<Response>): Promise<string> {
  const { status, headers } = await answer;
  expect(status).toBe(303);
  return headers.get('location')!;
}
const work = (signal = new AbortController().signal) => doNextRequest(stage.app, signal);
const asksOf = () =>
  stage.app.database.db
    .selectFrom('audit_event')
    .select(['by_whom', 'command', 'subject', 'note'])
    .where('command', 'in', ['read again', 'publish again', 'work cancel'])
    .orderBy('id')
    .execute();
const runs = () =>
  stage.app.database.db
    .selectFrom('run')
    .select(['command', 'from_day', 'exit_code'])
    .orderBy('id')
    .execute();

test('after a break is resolved its day is published again by a button, and the page says that it carries the decision', async () => {
  const { id } = await stage.app.database.db
    .selectFrom('continuity_break')
    .select('id')
    .where('currency', '=', 'USD')
    .executeTakeFirstOrThrow();
  await pages.post(`/breaks/${id}`, { form_token: FORM_TOKEN, step: 'resolved', note: 'a fee of the bank' });
  expect(await words(`/breaks/${id}`)).toContain('does not carry this decision yet');
  expect(await pages.html(`/breaks/${id}`)).toMatch(/<button name="kind" value="publish">/);
  const at = await filed(ask('publish'));
  const queued = await pages.html(at);
  expect(queued).toContain('<meta http-equiv="refresh"');
  expect(textOf(queued)).toContain('queued');
  expect(await pages.html(`${at}?refresh=no`)).not.toContain('http-equiv="refresh"');
  expect(await words(USD_DAY)).toContain('Last request: Publish again , queued');
  expect(await work()).toMatchObject({ outcome: 'done', what: 'publish' });
  const done = await pages.html(at);
  expect(done).not.toContain('http-equiv="refresh"');
  expect(textOf(done)).toMatch(/done.*Ended/);
  expect(await words(`/breaks/${id}`)).toMatch(/The published statement \(r\d\) carries this decision/);
  expect((await runs()).at(-1)).toMatchObject({ command: 'publish', from_day: BROKEN_DAY });
});

test('what the platform shows late is read again, and the page names the revision; it is the run that the command makes', async () => {
  await stage.app.database.db
    .updateTable('account_day')
    .set({ published_version: 0 })
    .where('day', '=', REVISED_DAY)
    .execute();
  const at = await filed(ask('read', { from: REVISED_DAY, to: REVISED_DAY, note: 'the bank asked <b>' }));
  const end = await work();
  expect(end).toMatchObject({ outcome: 'done', what: 'read', problem: null });
  expect((await runs()).at(-1)).toEqual({ command: 'run', from_day: REVISED_DAY, exit_code: end!.exitCode });
  const html = await pages.html(at);
  expect(html).toContain('<q>the bank asked &lt;b&gt;</q>');
  expect(textOf(html)).toContain(
    `daybook run --from ${REVISED_DAY} --to ${REVISED_DAY} --merchant ${merchantNo}`,
  );
});

test('asked for twice while open, also by two operators at once, it is one task and on record once; afterwards it is another', async () => {
  const before = (await asksOf()).length;
  const places = await Promise.all([filed(ask('read')), filed(ask('read', {}, other)), filed(ask('read'))]);
  expect(new Set(places).size).toBe(1);
  expect(await asksOf()).toHaveLength(before + 1);
  expect((await asksOf()).at(-1)).toMatchObject({
    command: 'read again',
    subject: `${merchantNo} ${BROKEN_DAY}`,
  });
  expect(await filed(ask('publish'))).not.toBe(places[0]);
  await work();
  await work();
  expect(await work()).toBeNull();
  expect(await filed(ask('read'))).not.toBe(places[0]);
  await work();
  expect(await words('/work')).toContain('Read again');
});

const day = (nth: number): string => new Date(Date.UTC(2024, 0, 1 + nth)).toISOString().slice(0, 10);
/** Cancels what waits. */
async function cancelAll(): Promise<void> {
  for (const { id } of await lastRequests(stage.app.database.db, null, 500))
    await cancelRequest(stage.app.database.db, id, 'ada', stage.app.now());
}

test('days that a waiting request has are not asked for again', async () => {
  const first = await filed(ask('read', { from: day(10), to: day(20) }));
  const before = (await asksOf()).length;
  expect(await filed(ask('read', { from: day(12), to: day(15) }, other))).toBe(first);
  expect(await asksOf()).toHaveLength(before);
  const published = await filed(ask('publish', { from: day(12), to: day(15) }));
  const longer = await filed(ask('read', { from: day(18), to: day(25) }));
  expect(new Set([first, published, longer]).size).toBe(3);
  await cancelAll();
});

test('a flood of requests is cut off at a limit for a person, and the next person goes in turn', async () => {
  const { db } = stage.app.database;
  // Nobody has been served before: the tests above are ahead of the clock.
  await db.deleteFrom('request').where('asked_by', '=', 'page').execute();
  const flood = await Promise.all(
    Array.from({ length: 8 }, async (_, of) => {
      const said: string[] = [];
      for (let nth = of; nth < 60; nth += 8) {
        const answer = await ask('read', { from: day(2 * nth), to: day(2 * nth) });
        said.push(answer.status === 303 ? 'filed' : `${answer.status} ${textOf(await answer.text())}`);
      }
      return said;
    }),
  );
  const said = flood.flat();
  expect(said.filter((one) => one === 'filed')).toHaveLength(OPEN_MAX.person);
  for (const one of said.filter((other) => other !== 'filed'))
    expect(one).toMatch(/^(?:409 .*requests of yours are not done yet|429 )/);
  await filed(ask('read', { from: day(201), to: day(201) }, other));
  await filed(ask('read', { from: day(203), to: day(203) }, other));
  // A row at a time is taken, as a worker takes it.
  const turns: string[] = [];
  for (let nth = 0; nth < 6; nth += 1) {
    const now = new Date(stage.app.now().getTime() + nth * 1_000);
    const taken = (await takeRequest(db, { holder: 'test', now, backfills: false }))!;
    const { figures } = (await requestById(db, taken.id))!;
    turns.push(figures.by);
    await endRequest(db, taken, {
      state: 'ended',
      exitCode: 0,
      runId: null,
      problem: null,
      figures: {},
      now,
    });
  }
  expect(turns.toSorted()).toEqual(['Bo', 'Bo', 'local', 'local', 'local', 'local']);
  expect(turns.slice(0, 4).toSorted()).toEqual(['Bo', 'Bo', 'local', 'local']);
  await cancelAll();
});

test('a merchant has a limit, too', async () => {
  const { db } = stage.app.database;
  for (let nth = 0; nth < OPEN_MAX.merchant; nth += 1) {
    const [from, to] = [day(2 * nth), day(2 * nth)];
    const by = `person ${nth}`;
    await fileRequest(db, { what: 'read', merchantNo, from, to }, { by, note: null, now: stage.app.now() });
  }
  const answer = await ask('read', { from: day(300), to: day(300) });
  expect([answer.status, textOf(await answer.text())]).toEqual([
    409,
    expect.stringContaining('requests for this merchant are not done yet'),
  ]);
  await cancelAll();
});

test('it is cancelled while it is queued, and not once it has begun', async () => {
  const at = await filed(ask('read'));
  expect((await pages.post(at, { form_token: FORM_TOKEN })).status).toBe(303);
  expect(await words(at)).toContain('cancelled');
  expect(await work()).toBeNull();
  const again = await filed(ask('read'));
  await work();
  const late = await pages.post(again, { form_token: FORM_TOKEN });
  expect([late.status, textOf(await late.text())]).toEqual([
    409,
    expect.stringContaining('cannot be cancelled'),
  ]);
});

test('a viewer gets no form and is refused, and a form without its token files nothing', async () => {
  const before = (await asksOf()).length;
  expect(await viewing.html(USD_DAY)).not.toContain('action="/work"');
  expect((await ask('read', {}, viewing)).status).toBe(403);
  expect((await pages.post('/work', { ...FIELDS, kind: 'read', form_token: 'other' })).status).toBe(403);
  expect(await asksOf()).toHaveLength(before);
});

test.each([
  [{ from: '2026-03-05', to: '2026-03-03' }, 'two days in order'],
  [{ to: '2026-03-07' }, 'not after'],
  [{ from: '2025-01-01' }, 'at most 92 days'],
  [{ note: 'x'.repeat(1_001) }, 'over 1000 characters'],
  [{ merchant: 'SBX-M-9' }, 'disabled or unknown'],
])('%o is refused in words', async (change, said) => {
  const before = (await asksOf()).length;
  const refused = await ask('read', change);
  expect([refused.status, textOf(await refused.text())]).toEqual([409, expect.stringContaining(said)]);
  expect(await asksOf()).toHaveLength(before);
});

test('a merchant that is disabled after it was asked for ends as failed, with the reason', async () => {
  const { db } = stage.app.database;
  const secretKeys = [{ id: 'k1', key: Buffer.alloc(32, 1) }] as never;
  await addMerchant(db, { ...OTHER, secretKeys, now: stage.app.now() });
  const at = await filed(ask('read', { merchant: OTHER.merchantNo }));
  await disableMerchant(db, OTHER.merchantNo, stage.app.now());
  expect(await work()).toMatchObject({ outcome: 'done', exitCode: 2 });
  expect(await words(at)).toMatch(/failed.*unknown or disabled/);
});

test('another run at work on the merchant makes it wait, and the page says so', async () => {
  const { db } = stage.app.database;
  const at = await filed(ask('read'));
  const lease = { name: merchantLease(merchantNo), holder: 'elsewhere:1:boot', ttlMs: 60_000 };
  await acquireLease(db, lease);
  expect(await work()).toMatchObject({ outcome: 'busy' });
  expect(await words(at)).toMatch(/queued.*It waits/);
  await free();
  expect(await work()).toMatchObject({ outcome: 'done' });
});

test('a process that was killed at work leaves it to the next one, and the page says so', async () => {
  const { db } = stage.app.database;
  const at = await filed(ask('read'));
  const holder = 'elsewhere:2:boot';
  await takeRequest(db, { holder, now: stage.app.now(), backfills: false });
  expect(await words(at)).toContain('running');
  expect(await work()).toBeNull();
  await free();
  expect(await words(at)).toContain('Another one takes over');
  expect(await work()).toMatchObject({ outcome: 'done' });
  expect((await requestById(db, Number(at.split('/').at(-1))))!.state).toBe('ended');
});

test('a process that is asked to stop gives it back', async () => {
  await filed(ask('read'));
  expect(await work(AbortSignal.abort())).toMatchObject({ outcome: 'given-back' });
  expect(await work()).toMatchObject({ outcome: 'done' });
});

test('where no process asks, the page says since when', async () => {
  const at = await filed(ask('publish'));
  expect(await words(at)).not.toContain('No schedule');
  stage.setNow('2026-03-07T01:32:00+08:00');
  expect(await words(at)).toMatch(/No schedule and no worker has taken it since .*01:30/);
  await work();
});

test('a day of a closed month is filed only once somebody confirms', async () => {
  await closeMarch(stage);
  const refused = await ask('read');
  const html = await refused.text();
  expect([refused.status, textOf(html)]).toEqual([409, expect.stringContaining('March 2026 is closed')]);
  expect(html).toContain('Confirm despite the close');
  expect(await work()).toBeNull();
  await filed(ask('read', { despite: 'yes' }));
  expect(await work()).toMatchObject({ outcome: 'done' });
});

/** As if so much time had passed. */
async function free(): Promise<void> {
  const { db } = stage.app.database;
  const past = new Date(0);
  await db.updateTable('lease').set({ expires_at: past }).execute();
  const waiting = db.updateTable('request').where('asked_by', '=', 'page').where('state', '=', 'waiting');
  await waiting.set({ not_before: null }).execute();
  await waiting.where('taken_until', 'is not', null).set({ taken_until: past }).execute();
}
