/** All that is in the way of closing a month is said at once: by `--check`, by the refusal, and on the page. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FORM_TOKEN, showPages, textOf, type ShownPages } from '../plugins/pages/support.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from '../cli/daybook.ts';

const { merchantNo } = MERCHANT;
const MONTH = '2026-02';
const DAY = '2026-02-27';
const PAGE = `/m/${merchantNo}/${MONTH}`;
const KEY = `merchant=${merchantNo}/close=${MONTH}/${merchantNo}_${MONTH}.close1.json`;
const RANGE = { from: '2026-02-26', to: '2026-02-28' };

interface Found {
  readonly result: string;
  readonly openDays: readonly {
    readonly currency: string;
    readonly day: string;
    readonly cause: string;
    readonly who: string;
    readonly amount?: string;
    readonly breaks?: readonly number[];
  }[];
  readonly others: readonly { readonly cause: string; readonly todo: string }[];
}

let stage: Stage;
let env: Env;
let pages: ShownPages;
beforeAll(async () => {
  stage = await openStage({
    scenario: scenario({
      ...{ ...RANGE, entriesPerDay: 6, now: '2026-03-01T01:30:00+08:00' },
      planted: [{ merchant: merchantNo, what: 'malformed', currency: 'USD', day: DAY, nth: 4 }],
    }),
  });
  env = envOf(stage);
  pages = await showPages(stage);
  for (const currency of ['USD', 'KWD']) {
    const own = stage.sandbox
      .entriesOf(merchantNo)
      .filter((one) => one.currency === currency && one.busiDate.startsWith(DAY));
    stage.sandbox.takeOut(merchantNo, own[1]!.batchNo);
  }
  await daybook(['run', '--from', '2026-02-01', '--to', RANGE.to], env);
  await stage.app.objects.put(KEY, Buffer.from('{}'), { contentType: 'application/json' });
});
afterAll(async () => {
  await pages.close();
  await stage.close();
});

const close = (...flags: string[]) =>
  daybook(['close', MONTH, '--merchant', merchantNo, '--by', 'Ada', ...flags], env);
const causesOf = ({ openDays }: Found): string[] =>
  openDays.map(({ currency, day, cause }) => `${currency} ${day} ${cause}`).sort();

const EXPECTED = [`KWD ${DAY} broken`, `USD ${DAY} broken`, `USD ${DAY} unreadable`];

it('names every cause of a day in two currencies, and the file in the store, in one reply', async () => {
  const ended = await close('--json');
  expect(ended.code).toBe(3);
  const [found] = JSON.parse(ended.stdout) as [Found];
  expect(causesOf(found)).toEqual(EXPECTED);
  expect(found.others).toMatchObject([{ cause: 'store', todo: '`daybook statements adopt`' }]);
  for (const one of found.openDays.filter(({ cause }) => cause === 'broken')) {
    expect(one.who).toBe('operator');
    expect(one.amount).toMatch(/^-?\d+(\.\d+)?$/);
    expect(one.breaks!.length).toBeGreaterThan(0);
  }
  const reported = await close();
  expect(reported.stdout).toContain('2 account days (2 accounts) are open');
  expect(reported.stdout).toMatch(
    /USD 2026-02-27: its balance chain is broken: break \d+.* \(difference -?[\d.,]+ USD\)/,
  );
  expect(reported.stdout).toContain('USD 2026-02-27: not all readable');
  expect(reported.stdout).toContain('is not what this database closed');
});

it('says the same where it only checks, and records nothing', async () => {
  const ended = await close('--check', '--json');
  const [found] = JSON.parse(ended.stdout) as [Found];
  expect([ended.code, found.result, causesOf(found)]).toEqual([3, 'open', EXPECTED]);
  const audit = await stage.app.database.db.selectFrom('audit_event').selectAll().execute();
  expect(audit.filter(({ command }) => command.startsWith('close'))).toEqual([]);
});

it('shows them on the page, each with its link, and counts a day once', async () => {
  const html = await pages.html(`${PAGE}?close=yes`);
  const text = textOf(html);
  expect(text).toContain('2 account days (2 accounts) are open.');
  expect(text).toContain('is not what this database closed');
  expect(text).toMatch(/USD 27 Feb 2026 broken : .* USD 27 Feb 2026 not all readable :/);
  expect(html.match(/href="\/breaks\/\d+"/g)!.length).toBeGreaterThanOrEqual(2);
  await rm(join(stage.app.settings.dataDir, 'statements', KEY));
});

it('refuses what is in the way only since the page was shown, though a reason was given', async () => {
  const seenIn = async (): Promise<string> =>
    /name="seen" value="([0-9a-f]+)"/.exec(await pages.html(`${PAGE}?close=yes`))![1]!;
  const seen = await seenIn();
  await stage.app.database.db
    .updateTable('account_day')
    .set({ published_version: 0 })
    .where('currency', '=', 'KWD')
    .where('day', '=', '2026-02-28')
    .execute();
  const fields = { form_token: FORM_TOKEN, despite: 'case 7 is at the platform' };
  const refused = await pages.post(PAGE, { ...fields, seen });
  expect(refused.status).toBe(409);
  const text = textOf(await refused.text());
  expect(text).toContain('The month or its preparation is not what was shown to you');
  expect(text).toMatch(/KWD 28 Feb 2026 not published/);
  expect(text).toContain('case 7 is at the platform');
  expect((await pages.post(PAGE, { ...fields, seen: await seenIn() })).status).toBe(303);
});
