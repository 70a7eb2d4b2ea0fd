/** Own books at the end of a month: what keeps it from being closed, the workbook, and the alert. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readXlsx } from 'hucre/xlsx';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { matchBooks } from '../../../src/plugins/books/match.ts';
import { runWatchdog } from '../../../src/plugins/alerts/process.ts';
import { daybook, envOf, type Env } from '../../cli/daybook.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../../support/stage.ts';
import { writeBook } from './random-books.ts';

const { merchantNo } = MERCHANT;
const MONTH = '2026-02';
let stage: Stage;
let env: Env;
beforeAll(async () => {
  stage = await openStage({
    scenario: scenario({
      ...{ from: '2026-02-27', to: '2026-02-28', entriesPerDay: 4 },
      now: '2026-03-01T01:30:00+08:00',
    }),
  });
  await stage.run({ range: { from: '2026-02-01', to: '2026-02-28' } });
  env = {
    ...envOf(stage),
    STATEMENTS_URL: stage.app.settings.statementsUrl,
    BOOKS_CLOSE_NEEDS_MATCH: 'true',
  };
});
afterAll(() => stage.close());

const dbOf = () => stage.app.database.db;
const matched = () =>
  matchBooks(dbOf(), { merchantNo, rules: stage.app.settings.books, now: stage.app.now() });
const close = async (...flags: readonly string[]) =>
  daybook(['close', MONTH, '--merchant', merchantNo, '--by', 'Ada', ...flags], env);

test('without own books nothing is asked of a month', async () => {
  const { code, stdout, stderr } = await close('--check');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('nothing is in the way');
});

test('changes and unmatched entries keep a month open, where that is asked for', async () => {
  // The last entry of the book lies after the month.
  await writeBook(dbOf(), [{ number: 'N1', day: 40, amount: '1.11', currency: 'USD' }], merchantNo);
  await matched();
  const { code, stdout } = await close('--check');
  expect(code).toBe(3);
  expect(stdout).toMatch(/\d+ entries in USD up to 2026-02-28 are unmatched/);
  expect(stdout).toContain(`daybook books unmatched --merchant ${merchantNo} --currency USD --to 2026-02-28`);
  await writeBook(dbOf(), [{ number: 'N2', day: -2, amount: '1.12', currency: 'USD' }], merchantNo);
  expect((await close('--check')).stdout).toContain('own books in USD changed since they were matched');
  const { code: without } = await daybook(['close', MONTH, '--merchant', merchantNo, '--check'], {
    ...env,
    BOOKS_CLOSE_NEEDS_MATCH: 'false',
  });
  expect(without).toBe(0);
});

test('once all up to its end is matched, the month closes', async () => {
  await matched();
  const open = JSON.parse(
    (await daybook(['books', 'unmatched', '--to', '2026-02-28', '--json'], env)).stdout,
  ) as {
    currency: string;
    side: string;
    number: string;
  }[];
  for (const { side, number } of open)
    expect(
      (
        await daybook(
          [
            ...[
              'books',
              'writeoff',
              '--merchant',
              merchantNo,
              side === 'ledger' ? '--ledger' : '--own',
              number,
            ],
            ...['--type', 'test', '--note', 'x', '--by', 'Ada'],
          ],
          env,
        )
      ).code,
    ).toBe(0);
  const { code, stdout } = await close();
  expect([code, stdout]).toEqual([0, expect.stringContaining('is closed')]);
});

test('the workbook of the month has the figures of own books by day', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-books-'));
  try {
    const get = ['statements', 'get', '--month', MONTH, '--format', 'workbook', '--merchant', merchantNo];
    const { stdout } = await daybook([...get, '--out', folder, '--json'], env);
    const { sheets } = await readXlsx(await readFile((JSON.parse(stdout) as { path: string }).path));
    const { rows } = sheets.find(({ name }) => name === 'Own books')!;
    expect(rows[0]).toEqual([
      ...[
        'currency',
        'day',
        'ledger',
        'own_books',
        'matched',
        'only_in_ledger',
        'only_in_own_books',
        'differences',
      ],
    ]);
    const usd = rows.filter(([currency]) => currency === 'USD').at(-1)!;
    expect(usd.slice(5, 7)).toEqual([0, 0]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('an alert fires once when an entry is unmatched for too long, and is resolved once', async () => {
  const kinds = async () =>
    (await dbOf().selectFrom('alert').select('content').orderBy('raised_at').execute()).map(({ content }) => {
      const { kind, status = 'firing', title } = content as { kind: string; status?: string; title: string };
      return `${kind} ${status}: ${title}`;
    });
  const { app } = stage;
  const check = (now: string, alertDays = 7) => {
    const alerts = {
      ...app.settings.alerts,
      webhooks: [{ kind: 'json' as const, url: 'http://127.0.0.1:1/' }],
    };
    const books = { ...app.settings.books, alertDays };
    const settings = { ...app.settings, alerts, books };
    const watched = { ...app, settings, now: () => new Date(now) };
    return runWatchdog(watched, { always: true, seesRuns: false, maxAgeMs: 366 * 86_400_000 });
  };
  // Of 10 April.
  await check('2026-04-17T00:00:00Z');
  expect(await kinds()).toEqual([]);
  await check('2026-04-18T00:00:00Z');
  await check('2026-04-18T01:00:00Z');
  expect(await kinds()).toEqual(['unmatched firing: 1 entry is unmatched for more than 7 days']);
  await check('2026-04-18T02:00:00Z', 30);
  await check('2026-04-18T03:00:00Z', 30);
  expect(await kinds()).toEqual([
    'unmatched firing: 1 entry is unmatched for more than 7 days',
    'recovered resolved: 1 entry is unmatched for more than 7 days',
  ]);
});
