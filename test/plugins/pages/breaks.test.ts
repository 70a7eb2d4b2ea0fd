/** The list of breaks as work: who has what until when, found by what is asked, and assigned to others. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Person } from '../../../src/plugins/pages/access/access.ts';
import { namedOperators, mayBeOperator } from '../../../src/run/operators.ts';
import type { AccessSettings } from '../../../src/plugins/pages/settings.ts';
import { openPagesStage } from './stage.ts';
import { accessOf, FORM_TOKEN, showPages, textOf, type ShownPages } from './support.ts';
import { daybook, envOf } from '../../cli/daybook.ts';
import type { Stage } from '../../support/stage.ts';

const ROLES: AccessSettings['roles'] = new Map([
  ['Ada', { role: 'operator', merchants: null }],
  ['Grace', { role: 'operator', merchants: ['SBX-M-1'] }],
  ['Otto', { role: 'operator', merchants: ['SBX-M-2'] }],
  ['Vera', { role: 'viewer', merchants: null }],
]);
const ADA: Person = { name: 'Ada', role: 'operator', merchants: null };
const as = (person: Person) => accessOf(() => person);

let stage: Stage;
let pages: ShownPages;
let openId: number;
beforeAll(async () => {
  const opened = await openPagesStage();
  const access = { ...opened.app.settings.access, roles: ROLES };
  stage = { ...opened, app: { ...opened.app, settings: { ...opened.app.settings, access } } };
  pages = await showPages(stage, { access: as(ADA) });
  openId = (await rowsOf()).find(({ status }) => status === 'open')!.id;
});
afterAll(async () => {
  await pages.close();
  await stage.close();
});

const database = () => stage.app.database.db;
const rowsOf = () => database().selectFrom('continuity_break').selectAll().orderBy('id').execute();
const assign = (fields: Record<string, string>) =>
  pages.post(`/breaks/${openId}`, { form_token: FORM_TOKEN, step: 'taken', note: '', ...fields });
const shown = async (path: string) => textOf(await pages.html(path));
const refusal = async (fields: Record<string, string>): Promise<string> => {
  const response = await assign(fields);
  expect(response.status).toBe(409);
  return textOf(await response.text());
};
const last = () =>
  database()
    .selectFrom('audit_event')
    .select(['by_whom', 'command', 'assigned_to', 'due_on', 'note'])
    .orderBy('id', 'desc')
    .executeTakeFirstOrThrow();

test('a break is assigned to another operator with a due date; list, case and history show it', async () => {
  expect(await shown('/breaks')).toMatch(/SBX-M-1 USD 3 Mar 2026 -306\.15 open 1 day Assign /);
  expect((await assign({ to: 'Grace', due: '2026-03-09', note: 'please ask' })).status).toBe(303);
  expect(await last()).toEqual({
    ...{ by_whom: 'Ada', command: 'breaks take', assigned_to: 'Grace' },
    ...{ due_on: '2026-03-09', note: 'please ask' },
  });
  expect(await shown('/breaks')).toMatch(/-306\.15 assigned 1 day Grace 9 Mar 2026 (?!overdue)/);
  const page = await shown(`/breaks/${openId}?done=taken`);
  expect(page).toContain('This break is assigned to Grace.');
  expect(page).toContain('assigned to Grace · due 9 Mar 2026 · SBX-M-1 USD');
  expect(page).toContain('assigned to Grace by Ada, due 9 Mar 2026: please ask');
  stage.setNow('2026-03-09T23:59:00+08:00');
  expect(await shown('/breaks')).not.toContain('overdue');
  stage.setNow('2026-03-10T00:01:00+08:00');
  expect(await shown('/breaks')).toMatch(/4 days Grace 9 Mar 2026 overdue/);
  expect(await shown(`/breaks/${openId}`)).toContain('due 9 Mar 2026 overdue');
  // It is over, and may stay: the break goes to another person as late as it is.
  expect((await assign({ due: '2026-03-09' })).status).toBe(303);
  expect(await shown('/breaks')).toMatch(/Ada 9 Mar 2026 overdue/);
  expect((await assign({ to: 'Ada' })).status).toBe(303);
  expect(await shown('/breaks')).toMatch(/assigned 4 days Ada (?!9 Mar)/);
  stage.setNow('2026-03-07T01:30:00+08:00');
});

test('who may not be responsible, and days that are over or none, are refused; nothing is on record', async () => {
  const before = await last();
  const note = 'a long text that somebody typed';
  for (const to of ['Otto', 'Vera', 'Nobody', '*', 'group:ops', 'Grace,Ada', 'x'.repeat(101)])
    expect(await refusal({ to, note }), to).toContain(
      `${to} is no operator of merchant SBX-M-1, so the break cannot be assigned to them. Name an operator.`,
    );
  for (const due of ['2026-03-06', '2026-02-30', 'soon', '2026-3-9', '12026-03-09'])
    expect(await refusal({ to: 'Grace', due, note }), due).toContain(
      'The due date is not a day from 7 Mar 2026 on. Choose a later one, or leave it empty.',
    );
  const response = await assign({ to: 'Grace', due: '2026-03-06', note });
  const html = await response.text();
  expect(html).toMatch(/<option\s+selected\s*>Grace/);
  expect(html).toContain(note);
  expect(await last()).toEqual(before);
});

test('people are chosen from those that are named, and typed where others may be operators', async () => {
  const field = async (roles: AccessSettings['roles']): Promise<string> => {
    const settings = { ...stage.app.settings, access: { ...stage.app.settings.access, roles } };
    const own = await showPages({ ...stage, app: { ...stage.app, settings } }, { access: as(ADA) });
    const [found] = /<(?:select|input) id="to".*?(?:<\/select>|\/>)/s.exec(
      await own.html(`/breaks/${openId}`),
    )!;
    await own.close();
    return found;
  };
  const options = [...(await field(ROLES)).matchAll(/<option[^>]*>(\w*)</g)].map(([, name]) => name);
  expect(options).toEqual(['', 'Ada', 'Grace']);
  const withGroup = new Map([...ROLES, ['group:ops', { role: 'operator', merchants: ['SBX-M-1'] }]] as const);
  expect(await field(withGroup)).toMatch(/^<input id="to" name="to" required/);
  expect(mayBeOperator('Nobody', 'SBX-M-1', withGroup)).toBe(true);
  expect(mayBeOperator('Vera', 'SBX-M-1', withGroup)).toBe(false);
  expect(mayBeOperator('Nobody', 'SBX-M-2', withGroup)).toBe(false);
  expect(namedOperators('SBX-M-2', withGroup)).toEqual(['Ada', 'Otto']);
  const readers = new Map([...ROLES, ['*', { role: 'viewer', merchants: null }]] as const);
  expect(namedOperators('SBX-M-1', readers)).toEqual(['Ada', 'Grace']);
  expect(namedOperators('SBX-M-1', new Map())).toBeNull();
  expect(mayBeOperator('Anna', 'SBX-M-1', new Map())).toBe(true);
});

interface Planted {
  readonly id: number;
  readonly merchant: string;
  readonly currency: string;
  readonly state: string;
  readonly owner: string | null;
}

/** 400 breaks of four accounts in every state. Some assignments are as versions of before left them: without a name. */
async function plant(): Promise<Planted[]> {
  await sql`
    INSERT INTO continuity_break OVERRIDING SYSTEM VALUE
    SELECT (jsonb_populate_record(b, jsonb_build_object('id', 1000 + g, 'before_batch_no', 'B' || g, 'day', '2026-03-03',
      'merchant_no', CASE WHEN g % 3 = 0 THEN 'SBX-M-2' ELSE 'SBX-M-1' END,
      'currency', CASE WHEN g % 2 = 0 THEN 'USD' ELSE 'KWD' END,
      'status', (ARRAY['open', 'open', 'open', 'resolved', 'healed'])[1 + g % 5],
      'note', CASE WHEN g % 5 = 3 THEN 'known' END,
      'closed_at', CASE WHEN g % 5 > 2 THEN to_jsonb(b.found_at) END))).*
    FROM continuity_break b, generate_series(1, 400) g WHERE b.id = ${openId}`.execute(database());
  const step = (command: string, to: string | null, by: string, every: number, of: number) =>
    sql`INSERT INTO audit_event (at, by_whom, command, subject, assigned_to)
      SELECT now(), ${by}, ${command}, 1000 + g, ${to} FROM generate_series(1, 400) g WHERE g % ${every} = ${of}`.execute(
      database(),
    );
  await step('breaks take', null, 'Ada', 4, 0);
  await step('breaks take', 'Ada', 'Grace', 4, 1);
  await step('breaks take', 'Grace', 'Ada', 7, 0);
  await step('breaks comment', null, 'Ada', 2, 0);
  await step('breaks reopen', null, 'Ada', 11, 0);
  return (await rowsOf()).map(({ id, merchant_no: merchant, currency, status }) => {
    const g = id - 1000;
    if (g < 1) return { id, merchant, currency, state: status === 'open' ? 'taken' : status, owner: 'Ada' };
    const to = g % 11 === 0 ? null : g % 7 === 0 ? 'Grace' : g % 4 < 2 ? 'Ada' : null;
    const owner = status === 'open' ? to : null;
    return { id, merchant, currency, state: owner === null ? status : 'taken', owner };
  });
}

test('every filter shows exactly what it asks for, over all pages, within what the person may see', async () => {
  const planted = await plant();
  const only: Person = { name: 'Grace', role: 'viewer', merchants: ['SBX-M-1'] };
  const graces = await showPages(stage, { access: as(only) });
  for (const [own, person] of [
    [pages, ADA],
    [graces, only],
  ] as const)
    for (const merchant of ['', 'SBX-M-1', 'SBX-M-2', 'SBX-M', '%'])
      for (const currency of ['', 'USD', 'kwd', 'EUR'])
        for (const state of ['', 'unassigned', 'taken', 'resolved', 'healed', 'all', 'nix'])
          for (const mine of ['', 'yes']) {
            if (person === only && (currency === 'EUR' || state === 'nix')) continue;
            const query = String(new URLSearchParams({ merchant, currency, state, mine }));
            const fits = (one: Planted): boolean =>
              (person.merchants === null || person.merchants.includes(one.merchant)) &&
              (merchant === '' || one.merchant === merchant) &&
              (currency === '' || one.currency === currency.toUpperCase()) &&
              (mine === '' || (one.state === 'taken' && one.owner === person.name)) &&
              (state === 'all' ||
                (state === 'unassigned' && one.state === 'open') ||
                (['', 'nix'].includes(state) && ['open', 'taken'].includes(one.state)) ||
                one.state === state);
            expect(await idsOver(own, `/breaks?${query}`), query).toEqual(
              planted
                .filter(fits)
                .map(({ id }) => id)
                .sort((a, b) => a - b),
            );
          }
  await graces.close();
}, 120_000);

interface Listed {
  readonly id: number;
  readonly state: string;
  readonly taken_by: string | null;
}

test('`breaks --state` lists what the page of the same address shows', async () => {
  const listed = async (...args: readonly string[]): Promise<Listed[]> => {
    const { code, stdout, stderr } = await daybook(['breaks', ...args, '--json'], envOf(stage));
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout) as Listed[];
  };
  const numbers = (rows: readonly Listed[]) => rows.map(({ id }) => id).sort((a, b) => a - b);
  const inState = new Set<string>();
  for (const state of ['open', 'unassigned', 'taken', 'resolved', 'healed', 'all']) {
    const rows = await listed('--state', state);
    expect(numbers(rows), state).toEqual(await idsOver(pages, `/breaks?state=${state}`));
    expect(rows.length, state).toBeGreaterThan(10);
    inState.add([...new Set(rows.map((row) => row.state))].sort().join());
    const of = ['--merchant', 'SBX-M-2', '--currency', 'KWD'];
    expect(numbers(await listed('list', '--state', state, ...of)), state).toEqual(
      await idsOver(pages, `/breaks?state=${state}&merchant=SBX-M-2&currency=KWD`),
    );
  }
  expect([...inState]).toEqual([
    'open,taken',
    'open',
    'taken',
    'resolved',
    'healed',
    'healed,open,resolved,taken',
  ]);
  expect(await listed()).toEqual(await listed('--state', 'open'));
  expect(await listed('--all')).toEqual(await listed('--state', 'all'));
  const behind: Listed[] = [];
  for (let next: Listed[] = []; (next = await listed(...pageAfter(behind.at(-1)))).length > 0;)
    behind.push(...next);
  expect(behind).toEqual(await listed('--state', 'taken'));
}, 120_000);

const pageAfter = (last: Listed | undefined): string[] => [
  ...['--state', 'taken', '--limit', '17'],
  ...(last === undefined ? [] : ['--after', String(last.id)]),
];

test('`breaks --state` names the states for a wrong one, is not mixed with --all, and says what there is none of', async () => {
  const ended = (...args: readonly string[]) => daybook(['breaks', ...args], envOf(stage));
  const wrong = await ended('--state', 'explained');
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    expect.stringMatching(/--state explained is no state .*open, unassigned, taken, resolved, healed, all\./),
  ]);
  const mixed = await ended('list', '--all', '--state', 'taken');
  expect([mixed.code, mixed.stderr]).toEqual([2, expect.stringMatching(/--state.*--all/s)]);
  const none = async (state: string) => (await ended('--merchant', 'M-NONE', '--state', state)).stdout.trim();
  expect([await none('healed'), await none('taken'), await none('all')]).toEqual([
    'no healed break',
    'no assigned break',
    'no break',
  ]);
  const text = (await ended('--state', 'taken', '--limit', '2')).stdout;
  expect(text).toContain('assigned to Ada');
}, 120_000);

/** The breaks of a list and of the pages that its link for the next one leads to, in the order of their numbers. */
async function idsOver(own: ShownPages, path: string): Promise<number[]> {
  const ids: number[] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const html = await own.html(next);
    ids.push(
      ...[...html.matchAll(/<th scope="row"[^>]*><a href="\/breaks\/(\d+)"/g)].map(([, id]) => Number(id)),
    );
    next = /href="([^"]*)">Next</.exec(html)?.[1]!.replaceAll('&amp;', '&');
  }
  return ids.sort((a, b) => a - b);
}

test('the first page leads to the open breaks of an account, and the form keeps what was asked', async () => {
  const [, href] = /href="(\/breaks\?merchant=SBX-M-1&amp;currency=USD)"/.exec(await pages.html('/'))!;
  const html = await pages.html(href!.replaceAll('&amp;', '&'));
  expect(html).toMatch(/name="merchant" value="SBX-M-1"/);
  expect(html).toMatch(/name="currency"[^>]* value="USD"/);
  const words = await shown('/breaks?merchant=nix&mine=yes&digits=exact');
  expect(words).toContain('No break matches.');
  expect(await pages.html('/breaks?merchant=nix&digits=exact')).toContain('name="digits" value="exact"');
  expect(await pages.html(`/breaks?merchant=${encodeURIComponent('"><b>')}`)).toContain(
    'value="&quot;&gt;&lt;b&gt;"',
  );
});
