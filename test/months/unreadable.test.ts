/** A month with entries that could not be read: its days are open until they are read, or a person has cleared them up. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CloseFile } from '../../src/verify/close-file.ts';
import { STATEMENT_FORMATS } from '../../src/statements/formats/all.ts';
import { verifyPaths } from '../statements/verified-twice.ts';
import { FORM_TOKEN, showPages, textOf, type ShownPages } from '../plugins/pages/support.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from '../cli/daybook.ts';

const { merchantNo } = MERCHANT;
const MONTH = '2026-02';
const PAGE = `/m/${merchantNo}/${MONTH}`;
const RANGE = { from: '2026-02-26', to: '2026-02-28' };
const of = { merchant: merchantNo, what: 'malformed' as const };
const WHY = 'an entry of this day could not be read';
const TODO = '`daybook quarantine`, then `quarantine acknowledge ID --note TEXT`';

let stage: Stage;
let env: Env;
let pages: ShownPages;
let root: string;
beforeAll(async () => {
  stage = await openStage({
    scenario: scenario({
      ...{ ...RANGE, entriesPerDay: 3, now: '2026-03-01T01:30:00+08:00' },
      planted: [
        // The entire first day of one account, and the last entry of the other.
        ...[0, 1, 2].map((nth) => ({ ...of, currency: 'KWD', day: '2026-02-26', nth })),
        { ...of, currency: 'USD', day: '2026-02-28', nth: 2 },
      ],
    }),
  });
  env = envOf(stage);
  pages = await showPages(stage);
  root = join(stage.app.settings.dataDir, 'statements', `merchant=${merchantNo}`);
  await daybook(['run', '--from', '2026-02-01', '--to', RANGE.to], env);
});
afterAll(async () => {
  await pages.close();
  await stage.close();
});

const close = (...flags: string[]) =>
  daybook(['close', MONTH, '--merchant', merchantNo, '--by', 'Ada', ...flags], env);
const words = async (path: string): Promise<string> => textOf(await pages.html(path));
const OPEN = [
  { currency: 'KWD', day: '2026-02-26', cause: 'unreadable' },
  { currency: 'USD', day: '2026-02-28', cause: 'unreadable' },
];

it('is not closed by the command, which says what to do', async () => {
  const ended = await close('--json');
  expect(ended.code).toBe(3);
  expect(JSON.parse(ended.stdout)).toEqual([
    {
      ...{ merchantNo, month: MONTH, result: 'open', seen: expect.any(String) as string },
      openDays: OPEN.map((one) => ({ ...one, why: WHY, todo: TODO, who: 'operator' })),
      others: [],
    },
  ]);
  const reported = await close();
  expect(reported.code).toBe(3);
  expect(reported.stdout).toContain(
    `  KWD 2026-02-26: not all readable: ${WHY}: ${TODO} (an operator)\n  USD 2026-02-28: not all readable: ${WHY}: ${TODO} (an operator)\n`,
  );
});

it('is not closed by its button, and its page says the same of the same days', async () => {
  const html = await pages.html(`${PAGE}?close=yes`);
  expect(html).toMatch(/<textarea\s+id="despite"[^>]* required/);
  const form = textOf(html);
  expect(form).toContain('2 account days (2 accounts) are open.');
  expect(form).toContain(`USD 28 Feb 2026 not all readable : ${WHY} Unreadable entries , then “Acknowledge”`);
  expect(form).toContain('not all readable: 26 Feb 2026');
  expect(form).toMatch(/Days of KWD .*27 Feb 2026 .*26 Feb 2026 \S+ not all readable/);
  const refused = await pages.post(PAGE, { form_token: FORM_TOKEN });
  expect(refused.status).toBe(409);
  expect(await words(PAGE)).toContain('This month is not closed.');
});

it('is closed for a reason, which the close names with the days, and verify tells', async () => {
  expect((await close('--despite-open-days', 'the platform mends them in April')).code).toBe(0);
  const path = join(root, `close=${MONTH}/${merchantNo}_${MONTH}.close1.json`);
  const file = JSON.parse(await readFile(path, 'utf8')) as CloseFile;
  expect([file.openDays, file.despite]).toEqual([OPEN, 'the platform mends them in April']);
  const { problems, closes } = await verifyPaths([root], STATEMENT_FORMATS);
  expect([problems, closes[0]?.openDays]).toEqual([[], 2]);
  const reported = await daybook(['verify', root], env);
  expect(reported.stdout).toContain('it was closed despite 2 open days: the platform mends them in April');
  expect(await words(PAGE)).toContain('Despite 2 open account days: the platform mends them in April');
});

it('is not open any more once a person has acknowledged the entries', async () => {
  const entries = await stage.app.database.db.selectFrom('quarantined_entry').select('id').execute();
  for (const { id } of entries)
    await daybook(['quarantine', 'acknowledge', String(id), '--note', 'case 7', '--by', 'Ada'], env);
  // The last entry of USD could not be read, so its day was withheld until somebody answered for it.
  expect((await close()).stdout).toContain(
    `USD 2026-02-28: not published: it has no statement: \`daybook publish --from 2026-02-28 --to 2026-02-28 --merchant ${merchantNo}\``,
  );
  expect((await daybook(['publish', '--from', '2026-02-28', '--to', '2026-02-28'], env)).code).toBe(0);
  expect((await close()).code).toBe(0);
  const month = await words(PAGE);
  expect(month).not.toContain('not all readable: 2026-02');
  expect(month).not.toContain('Days still open');
});
