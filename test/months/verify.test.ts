/** A close is checked in itself, against the manifests that are here, and against the closes before it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { closeText } from '../../src/months/files.ts';
import {
  parseClose,
  type CloseFile,
  type ClosedStatement,
  closedAccount,
} from '../../src/verify/close-file.ts';
import { sha256Of } from '../../src/host/sha256.ts';
import { csvText } from '../../src/statements/formats/csv.ts';
import { STATEMENT_COLUMNS } from '../../src/statements/formats/format.ts';
import { type RowCells } from '../../src/verify/csv.ts';
import { closeKey } from '../../src/verify/names.ts';
import { manifestShape, type Manifest } from '../../src/verify/manifest.ts';
import { verifyCloses, type ReadCloseFile } from '../../src/verify/closes.ts';
import { checkedByRows } from '../../src/verify/close-rows.ts';

const statementOf = (day: string, change: Partial<ClosedStatement> = {}): ClosedStatement => ({
  ...{ currency: 'USD', day, revision: 1, file: `M-1_USD_${day}.r1.csv`, sha256: 'ab'.repeat(32) },
  ...{ opening: '1.00', creditTotal: '2.00', creditCount: 1, debitTotal: '2.00', debitCount: 1 },
  ...{ closing: '1.00', verdict: 'continuous', breaks: 0, explained: [] },
  ...change,
});
const [FIRST, SECOND] = [statementOf('2026-03-30'), statementOf('2026-03-31')];
const CLOSE: CloseFile = {
  ...{ format: 'daybook-close/1', merchantNo: 'M-1', month: '2026-03', number: 1 },
  ...{ closedAt: '2026-04-01T02:00:00.000Z', by: 'Ada', note: null, despite: null, previous: null },
  accounts: [closedAccount('USD', [FIRST, SECOND])],
  statements: [FIRST, SECOND],
  ...{ adjustments: [], openDays: [] },
};
const NEXT: CloseFile = { ...CLOSE, number: 2, previous: { number: 1, sha256: sha256Of(closeText(CLOSE)) } };

const read = (
  close: CloseFile,
  path = closeKey(close.merchantNo, close.month, close.number),
): ReadCloseFile => {
  const text = closeText(close);
  return { path, close: parseClose(text)!, sha256: sha256Of(text) };
};
const manifestOf = ({ day, ...statement }: ClosedStatement, change: object = {}): Manifest =>
  manifestShape.read(
    {
      ...{ format: 'daybook-manifest/1', merchantNo: 'M-1', day, revision: 1, epoch: 1 },
      ...{ timeZone: 'Asia/Shanghai', place: 1, previousManifest: null },
      statements: [
        {
          ...{ ...statement, explained: 0, bytes: 1, rows: 2, openingDerived: false },
          ...{ publishedAt: '', previousDay: null, previousSha256: null, superseded: [] },
        },
      ],
      ...{ summary: null, certificates: [], ...change },
    },
    '',
  );
const here = (...manifests: readonly Manifest[]) =>
  manifests.map((manifest, nth) => ({ path: `${nth}.json`, isComplete: true, manifest, sha256: '' }));
const problemsOf = (...args: Parameters<typeof verifyCloses>): string[] =>
  verifyCloses(...args).problems.map(({ problem }) => problem);
const MANIFESTS = here(manifestOf(FIRST), manifestOf(SECOND));

test('closes as they were made are without a problem', () => {
  expect(problemsOf([read(CLOSE), read(NEXT)], MANIFESTS, true)).toEqual([]);
  expect(problemsOf([read(CLOSE, 'downloads/M-1_2026-03.close1.json')], [])).toEqual([]);
  const despite = {
    ...CLOSE,
    despite: 'case 7',
    openDays: [{ currency: 'USD', day: '2026-03-29', cause: 'broken' as const }],
  };
  expect(verifyCloses([read(despite)], MANIFESTS)).toMatchObject({
    closes: [{ despite: 'case 7', openDays: 1, compared: 2 }],
    problems: [],
  });
});

describe('told is', () => {
  const account = CLOSE.accounts[0]!;
  test.each<[string, Partial<CloseFile>, string]>([
    [
      'a total that was altered',
      { accounts: [{ ...account, closing: '2.00' }] },
      'USD: closing is stated as 2.00, its statements make 1.00',
    ],
    [
      'a statement that was cut out',
      {
        statements: [SECOND],
        accounts: [{ ...account, creditTotal: '2.00', creditCount: 1, debitTotal: '2.00', debitCount: 1 }],
      },
      'USD: days is stated as 2, its statements make 1',
    ],
    [
      'a statement that stands there twice',
      { statements: [FIRST, SECOND, SECOND], accounts: [closedAccount('USD', [FIRST, SECOND, SECOND])] },
      'USD 2026-03-31: it is frozen twice',
    ],
    ['an account that was cut out', { accounts: [] }, 'USD: it has statements, and no account'],
    [
      'a close that skips the one before',
      { number: 7, previous: { number: 1, sha256: 'ab'.repeat(32) } },
      'close 7 has to name close 6 as the one before, and names close 1',
    ],
    [
      'a second close without one before',
      { number: 2 },
      'close 2 has to name close 1 as the one before, and names none',
    ],
    [
      'open days without a reason',
      { openDays: [{ currency: 'USD', day: '2026-03-29', cause: 'broken' }] },
      'it names open days, and no reason why it was closed despite them',
    ],
    [
      'a reason without open days',
      { despite: 'case 7' },
      'it says why it was closed despite open days, and names none',
    ],
  ])('%s', (_, change, problem) => {
    expect(problemsOf([read({ ...CLOSE, ...change })], [])).toEqual([problem]);
  });

  test('a month that is not that of its days, in itself and by its place', () => {
    const path = closeKey('M-1', '2026-03', 1);
    expect(problemsOf([read({ ...CLOSE, month: '2026-02' }, path)], [])).toEqual([
      'it is close 1 of M-1, 2026-02: it was moved here, or changed',
      'USD 2026-03-30: the day is not in 2026-02',
      'USD 2026-03-31: the day is not in 2026-02',
    ]);
  });

  test('a file that was moved, in the layout of the store and out of it', () => {
    for (const path of [closeKey('M-1', '2026-04', 1), 'downloads/M-1_2026-04.close1.json'])
      expect(problemsOf([read(CLOSE, path)], [])).toEqual([
        'it is close 1 of M-1, 2026-03: it was moved here, or changed',
      ]);
  });

  test('a close before that is not here, where all are given', () => {
    expect(problemsOf([read(NEXT)], [])).toEqual([]);
    expect(problemsOf([read(NEXT)], [], true)).toEqual([
      'close 1 of M-1, 2026-03, which comes before it, is not here',
      expect.stringContaining('that the close froze are not here'),
    ]);
  });

  test('a close before that was changed after the next one named it', () => {
    const changed = { ...CLOSE, note: 'as agreed' };
    expect(problemsOf([read(changed), read(NEXT)], MANIFESTS)).toEqual([
      'close 1 here is not the one that this close names: one of both was changed',
    ]);
  });

  test('two closes of the same number, at each of them', () => {
    const copy = 'copy/M-1_2026-03.close1.json';
    expect(problemsOf([read(CLOSE), read(CLOSE, copy)], MANIFESTS)).toEqual([]);
    const other = read({ ...CLOSE, note: 'as agreed' }, copy);
    expect(verifyCloses([read(CLOSE), other], MANIFESTS).problems).toEqual(
      [closeKey('M-1', '2026-03', 1), copy].map((path) => ({
        ...{ path, problem: 'there is another close 1 of the month here' },
      })),
    );
  });

  test('frozen days that are not here, where others of the merchant are', () => {
    expect(problemsOf([read(CLOSE)], MANIFESTS.slice(0, 1))).toEqual([
      expect.stringMatching(/^1 statement that the close froze is not here: USD 2026-03-/),
    ]);
  });

  test('figures that are not those of the manifest', () => {
    const other = statementOf('2026-03-31', { closing: '1.50' });
    const close = { ...CLOSE, statements: [FIRST, other], accounts: [closedAccount('USD', [FIRST, other])] };
    expect(problemsOf([read(close)], MANIFESTS)).toEqual([
      'USD 2026-03-31: the close says closing 1.50, the manifest here 1.00',
    ]);
  });
});

test('of the manifests of a day the newest is compared, wherever an older one lies', () => {
  const now = statementOf('2026-03-31', { revision: 2, sha256: 'cd'.repeat(32) });
  const close = { ...CLOSE, statements: [FIRST, now] };
  for (const manifests of [
    here(manifestOf(FIRST), manifestOf(now, { revision: 2 }), manifestOf(SECOND)),
    here(manifestOf(SECOND), manifestOf(FIRST), manifestOf(now, { revision: 2 })),
  ])
    expect(problemsOf([read(close)], manifests)).toEqual([]);
});

describe('where the file of a frozen statement is here, its rows are checked', () => {
  const [NINE, NOON] = ['2026-03-31 09:00:00', '2026-03-31 12:00:00'];
  const [FIRST_ROW, SECOND_ROW] = [
    ['B1', NINE, 'USD', 'PAY', '2.00', '', '3.00'],
    ['B2', NOON, 'USD', 'FEE', '', '2.00', '1.00'],
  ] as const;
  const OFF = ['B2', NOON, 'USD', 'FEE', '', '2.00', '1.50'] as const;
  const broken = { verdict: 'broken' as const, breaks: 1 };

  test.each<[string, readonly RowCells[], Partial<ClosedStatement>, readonly string[]]>([
    ['rows as frozen', [FIRST_ROW, SECOND_ROW], {}, []],
    ['a break between two rows', [FIRST_ROW, OFF], { ...broken, closing: '1.50' }, []],
    ['a break behind the last row, which no row shows', [FIRST_ROW, SECOND_ROW], broken, []],
    [
      'more breaks than can lie there',
      [FIRST_ROW, SECOND_ROW],
      { ...broken, breaks: 2 },
      ['the balance jumps at 0 places, the close says 2 breaks'],
    ],
    [
      'a row too few',
      [FIRST_ROW],
      {},
      [
        'the sum of debits is 0, the close says 2.00',
        'there are 1 credits and 0 debits, the close says 1 and 1',
        'opening + credits - debits is 3.00, the close says 1.00',
      ],
    ],
  ])('%s', async (_, rows, change, problems) => {
    const folder = await mkdtemp(join(tmpdir(), 'daybook-frozen-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const statement = statementOf('2026-03-31', change);
    const path = join(folder, statement.file);
    await writeFile(path, csvText([STATEMENT_COLUMNS.map(({ name }) => name), ...rows]));
    const closes = [{ merchantNo: 'M-1', statements: [FIRST, statement] }];
    const files = [{ path, merchantNo: 'M-1', timeZone: 'Asia/Shanghai' }];
    expect(await checkedByRows(closes, files)).toEqual(new Map([[statement, problems]]));
  });
});

test('a text of another shape is no close', () => {
  expect(parseClose(closeText(CLOSE))).toEqual(CLOSE);
  for (const change of [
    { closedAt: 'then' },
    { by: 7 },
    { statements: [{}] },
    { month: '2026-13' },
    { number: 0 },
  ])
    expect(parseClose(JSON.stringify({ ...CLOSE, ...change }))).toBeNull();
  expect(parseClose('{')).toBeNull();
});
