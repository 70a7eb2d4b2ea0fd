/**
 * Checks downloaded statements against their manifest, as finance has them: complete trees, one flat folder, single
 * files.
 */
import { createHash } from 'node:crypto';
import { copyFile, cp, mkdir, mkdtemp, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { fetchInFormat } from '../../src/statements/fetch.ts';
import { CSV } from '../../src/statements/formats/csv.ts';
import type { StatementFormat } from '../../src/statements/formats/format.ts';
import { SPREADSHEET } from '../../src/statements/formats/all.ts';
import { sha256Of } from '../../src/host/sha256.ts';
import { statementOf } from '../../src/store/statements/statements.ts';
import { freshDatabase } from '../support/database.ts';
import { accountEntries } from '../support/ledger-entries.ts';
import { MERCHANT, openBook, type Book } from './book.ts';
import { verifyPaths } from './verified-twice.ts';

const DAYS = ['2026-03-29', '2026-03-30', '2026-03-31'] as const;
const ACCOUNT = { merchantNo: MERCHANT, currency: 'USD' };
/** Two entries on both sides of midnight trade places, as their balances prove. */
const ENTRIES = accountEntries(100_00, [
  [`${DAYS[0]} 09:00:00`, 50_00],
  [`${DAYS[0]} 17:30:00`, -25_50],
  [`${DAYS[1]} 08:00:00`, 10_00],
  [`${DAYS[1]} 08:00:00`, 10_00],
  [`${DAYS[2]} 00:00:00`, 3_00],
  [`${DAYS[1]} 23:59:59`, 4_00],
  [`${DAYS[2]} 12:00:00`, -1_00],
]);

let published: string;
let folder: string;
let book: Book;

const day = (index: 0 | 1 | 2) => join(folder, `merchant=${MERCHANT}`, `date=${DAYS[index]}`);
const sheet = (index: 0 | 1 | 2, revision = 1) =>
  join(day(index), `${MERCHANT}_USD_${DAYS[index]}.r${revision}.csv`);
const problems = async (...paths: string[]) =>
  (await verifyPaths(paths)).problems.map(({ problem }) => problem);
const edit = async (path: string, from: string, to: string) => {
  const text = await readFile(path, 'utf8');
  expect(text).toContain(from);
  await writeFile(path, text.replace(from, to));
};

beforeAll(async () => {
  published = await mkdtemp(join(tmpdir(), 'daybook-published-'));
  book = await openBook(await freshDatabase());
  const publish = async (entries: readonly LedgerEntry[]) => {
    await book.synced(entries, DAYS);
    await book.reconciled();
    await book.published(createDirectoryStore(published));
  };
  await publish(
    ENTRIES.map((entry) => (entry.batchNo === 'B0000' ? { ...entry, transactionType: 'FEE' } : entry)),
  );
  await publish(ENTRIES);
});
afterAll(async () => {
  await book.database.close();
  await rm(published, { recursive: true });
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'daybook-downloaded-'));
  await cp(published, folder, { recursive: true });
  return () => rm(folder, { recursive: true });
});

describe('unchanged statements', () => {
  test('of the whole tree are right: current and superseded ones, and summaries', async () => {
    const report = await verifyPaths([folder]);
    expect(report.problems).toEqual([]);
    expect(report.manifests).toBe(3);
    expect(
      report.files
        .filter(({ currency }) => currency !== null)
        .map((file) => [file.day, file.revision, file.current, file.rows, file.verdict]),
    ).toEqual([
      [DAYS[0], 2, true, 2, 'continuous'],
      [DAYS[0], 1, false, null, null],
      [DAYS[1], 1, true, 3, 'reordered'],
      [DAYS[2], 1, true, 2, 'reordered'],
    ]);
  });

  test('named alone are checked by the manifest beside them, and no other file is missed', async () => {
    await rm(join(day(0), 'summary.r2.csv'));
    const report = await verifyPaths([sheet(0, 2)]);
    expect(report).toMatchObject({ problems: [], files: [{ path: sheet(0, 2), current: true }] });
  });

  test('in a flat folder are right, given by folder or by manifest', async () => {
    const flat = join(folder, 'flat');
    await mkdir(flat);
    await copyFile(sheet(1), join(flat, `${MERCHANT}_USD_${DAYS[1]}.r1.csv`));
    await copyFile(join(day(1), 'manifest.json'), join(flat, 'manifest.json'));
    await copyFile(join(day(1), 'summary.r1.csv'), join(flat, 'summary.r1.csv'));
    expect(await problems(flat)).toEqual([]);
    expect(await problems(join(flat, 'manifest.json'))).toEqual([]);
  });
});

describe('a day that is broken, and whose entries trade places over midnight', () => {
  const AROUND: Parameters<typeof accountEntries>[1] = [
    [`${DAYS[0]} 09:00:00`, 50_00],
    [`${DAYS[1]} 08:00:00`, 10_00],
    [`${DAYS[1]} 09:00:00`, 7_00],
    [`${DAYS[1]} 10:00:00`, 1_00],
    [`${DAYS[2]} 00:00:00`, 3_00],
    [`${DAYS[1]} 23:59:59`, 4_00],
    [`${DAYS[2]} 12:00:00`, -1_00],
    [`${DAYS[2]} 13:00:00`, -2_00],
  ];
  const publishedWithout = async (...missing: number[]) => {
    const broken = await openBook(await freshDatabase());
    try {
      await broken.synced(
        accountEntries(100_00, AROUND).filter((_, index) => !missing.includes(index)),
        DAYS,
      );
      await broken.reconciled();
      await rm(folder, { recursive: true });
      await broken.published(createDirectoryStore(folder));
    } finally {
      await broken.database.close();
    }
  };

  test.each([
    ['broken by day, on one side', [2], ['continuous', 'broken', 'reordered']],
    ['broken by day, on the other side', [6], ['continuous', 'broken', 'broken']],
    ['broken by day on both sides', [2, 6], ['continuous', 'broken', 'broken']],
    ['broken at its first entry, far from midnight', [1], ['broken', 'broken', 'reordered']],
  ])('%s: the file is right', async (_, missing, verdicts) => {
    await publishedWithout(...missing);
    const report = await verifyPaths([folder]);
    expect(report.problems).toEqual([]);
    expect(report.files.flatMap(({ verdict }) => verdict ?? [])).toEqual(verdicts);
  });

  test('one break more or less, or another closing than in the file, is reported', async () => {
    await publishedWithout(2);
    const manifest = join(day(1), 'manifest.json');
    const text = await readFile(manifest, 'utf8');
    const says = async (from: string, to: string) => {
      await writeFile(manifest, text.replace(from, to));
      expect(text).toContain(from);
      return problems(sheet(1));
    };
    expect(await says('"breaks": 1', '"breaks": 9')).toEqual([
      'the balance jumps at 1 place away from midnight, the manifest says 9 breaks',
    ]);
    expect(await says('"closing": "172.00"', '"closing": "171.00"')).toEqual([
      'opening + credits - debits with its jumps is 172.00, the manifest says 171.00',
    ]);
    await writeFile(manifest, text);
    await edit(sheet(1), '1.00,,168.00', '1.00,,169.00');
    expect(await problems(sheet(1))).toContain(
      'opening + credits - debits with its jumps is 173.00, the manifest says 172.00',
    );
  });
});

describe('names whose endings some system wrote in capitals', () => {
  const renamed = async (path: string, from: RegExp, to: string) => {
    const other = path.replace(from, to);
    await rename(path, other);
    return other;
  };

  test.each(['.CSV', '.Csv'])('a statement that ends in %s is checked as any other', async (ending) => {
    const path = await renamed(sheet(1), /\.csv$/, ending);
    expect((await verifyPaths([folder])).files.map((file) => file.path)).toContain(path);
    expect(await problems(folder)).toEqual([]);
    expect(await problems(path)).toEqual([]);
    await edit(path, '10.00', '10.01');
    expect(await problems(folder)).toContainEqual(expect.stringContaining('its SHA-256 is'));
    expect(await problems(path)).toContainEqual(expect.stringContaining('its SHA-256 is'));
  });

  test('a manifest and a summary, alone and with revision and all', async () => {
    await renamed(join(day(1), 'manifest.json'), /manifest\.json$/, 'MANIFEST.JSON');
    await renamed(join(day(1), 'summary.r1.csv'), /summary\.r1\.csv$/, 'SUMMARY.R1.CSV');
    const path = await renamed(sheet(1), /\.r1\.csv$/, '.R1.CSV');
    expect(await verifyPaths([folder])).toMatchObject({ manifests: 3, problems: [] });
    expect(await verifyPaths([path])).toMatchObject({ manifests: 1, problems: [], files: [{ path }] });
  });

  test('the manifest next to a single download', async () => {
    const flat = join(folder, 'flat');
    await mkdir(flat);
    const name = `${MERCHANT}_USD_${DAYS[1]}`;
    await copyFile(sheet(1), join(flat, `${name}.r1.CSV`));
    await copyFile(join(day(1), 'manifest.json'), join(flat, `${name}.MANIFEST.JSON`));
    expect(await verifyPaths([flat])).toMatchObject({ manifests: 1, problems: [], files: [{ rows: 3 }] });
  });

  test('a statement that no manifest names is named', async () => {
    const path = join(day(1), `${MERCHANT}_EUR_${DAYS[1]}.r1.CSV`);
    await copyFile(sheet(1), path);
    const problem = 'no manifest here names this file';
    expect((await verifyPaths([folder])).problems).toEqual([{ path, problem }]);
  });
});

test('an earlier revision downloaded alone is checked with its day’s manifest', async () => {
  const flat = join(folder, 'flat');
  await mkdir(flat);
  const name = `${MERCHANT}_USD_${DAYS[0]}`;
  await copyFile(join(day(0), 'manifest.json'), join(flat, `${name}.manifest.json`));
  expect(await problems(flat)).toEqual([`${name}.r2.csv is listed in the manifest but is not here`]);
  await copyFile(sheet(0, 1), join(flat, `${name}.r1.csv`));
  expect(await problems(flat)).toEqual([]);
});

describe('problems that are reported', () => {
  test('an altered amount: bytes, sum and chain', async () => {
    await edit(sheet(0, 2), '25.50', '25.51');
    expect(await problems(folder)).toEqual([
      expect.stringMatching(/^its SHA-256 is [0-9a-f]{64}, [0-9a-f]{64} was published/),
      'line 3: B0001 starts from 150.01, but the balance before it is 150.00',
      'the sum of debits is 25.51, the manifest says 25.50',
    ]);
  });

  test('a missing line, and lines in another order', async () => {
    await edit(sheet(0, 2), 'B0001,2026-03-29 17:30:00,USD,PAY,,25.50,124.50\r\n', '');
    expect(await problems(sheet(0, 2))).toEqual([
      expect.stringMatching(/^the file has \d+ bytes, \d+ were published$/),
      expect.stringMatching(/^its SHA-256/),
      'the sum of debits is 0, the manifest says 25.50',
      'there are 1 credits and 0 debits, the manifest says 1 and 1',
      'its rows do not lead on from the opening to the closing at 1 place, the manifest says 0 places (overMidnight)',
      'the balance after the last row is 150.00, the manifest says 124.50',
      'opening + credits - debits is 150.00, the manifest says 124.50',
    ]);
    await copyFile(
      join(published, `merchant=${MERCHANT}`, `date=${DAYS[0]}`, `${MERCHANT}_USD_${DAYS[0]}.r2.csv`),
      sheet(0, 2),
    );
    const [header, first, second] = (await readFile(sheet(0, 2), 'utf8')).split('\r\n');
    await writeFile(sheet(0, 2), [header, second, first, ''].join('\r\n'));
    expect(await problems(sheet(0, 2))).toContain(
      'line 2: B0001 starts from 150.00, but the balance before it is 100.00',
    );
  });

  test('another currency, another day, another header, a file saved by a spreadsheet', async () => {
    await edit(sheet(0, 2), 'USD', 'EUR');
    await edit(sheet(0, 2), `${DAYS[0]} 17`, `${DAYS[1]} 17`);
    await edit(sheet(0, 2), 'balance', 'saldo');
    expect(await problems(sheet(0, 2))).toEqual(
      expect.arrayContaining([
        'line 2: B0000 is in EUR',
        "line 3: B0001 is booked at '2026-03-30 17:30:00', not on 2026-03-29",
        expect.stringMatching(/^the header is '.*saldo', not '.*balance'$/),
      ]),
    );
    await writeFile(
      sheet(0, 2),
      (await readFile(sheet(0, 2), 'utf8')).replaceAll(',', ';').replaceAll('\r\n', '\n'),
    );
    expect((await problems(sheet(0, 2))).length).toBeGreaterThan(2);
  });

  test('a listed file that is missing, and one that no manifest names', async () => {
    await rm(sheet(1));
    await writeFile(join(day(1), 'other.csv'), 'x');
    expect(await problems(folder)).toEqual([
      `${MERCHANT}_USD_${DAYS[1]}.r1.csv is listed in the manifest but is not here`,
      'no manifest here names this file',
    ]);
  });

  test('an altered superseded revision and an altered summary', async () => {
    await edit(sheet(0, 1), 'FEE', 'PAY');
    await edit(join(day(2), 'summary.r1.csv'), 'reordered', 'continuous');
    const { files } = await verifyPaths([folder]);
    expect(files.filter((file) => file.problems.length > 0).map(({ path }) => path)).toEqual([
      sheet(0, 1),
      join(day(2), 'summary.r1.csv'),
    ]);
  });

  test('a day from before the day next to it was revised', async () => {
    const manifest = join(day(0), 'manifest.json');
    const text = await readFile(manifest, 'utf8');
    const stale = JSON.parse(text);
    stale.statements[0].sha256 = stale.statements[0].superseded[0].sha256;
    stale.statements[0].closing = '999.00';
    await writeFile(manifest, JSON.stringify(stale));
    expect((await verifyPaths([folder])).problems.filter(({ path }) => path.startsWith(day(1)))).toEqual([
      {
        path: join(day(1), 'manifest.json'),
        problem: expect.stringMatching(/^USD: the statement of 2026-03-29 here/),
      },
      {
        path: join(day(1), 'manifest.json'),
        problem: 'USD: the opening is 124.50 USD, but 2026-03-29 closed on 999.00 USD',
      },
      {
        path: join(day(1), 'manifest.json'),
        problem: expect.stringMatching(/^it follows revision 2 of 2026-03-29/),
      },
    ]);
  });

  test('a manifest of gigabytes is named, and not read to its end', async () => {
    const large = join(folder, 'manifest.json');
    for (const size of [2 ** 31 + 2 ** 20, 300_000_000]) {
      // A file without blocks: it takes no place on the disk.
      await writeFile(large, '{');
      await truncate(large, size);
      const said = (await verifyPaths([folder])).problems.filter(({ path }) => path === large);
      expect(said).toEqual([
        { path: large, problem: 'this is no manifest of daybook: it has more than 67108864 bytes' },
      ]);
    }
  });

  test('a broken manifest, a missing manifest, and a missing path', async () => {
    await writeFile(join(day(0), 'manifest.json'), '{"format":"other"}');
    expect(await problems(day(0))).toEqual(
      expect.arrayContaining(['this is no manifest of daybook', 'there is no manifest.json here']),
    );
    await rm(join(day(1), 'manifest.json'));
    expect(await problems(sheet(1))).toContain('no manifest here names this file');
    await expect(verifyPaths([join(folder, 'nowhere')])).rejects.toMatchObject({ name: 'NothingToVerify' });
  });
});

describe('a statement fetched from the store', () => {
  const fetched = async (format = CSV as StatementFormat) => {
    const statement = (await statementOf(book.database.db, ACCOUNT, DAYS[0], 1))!;
    const chunks: Uint8Array[] = [];
    for await (const chunk of fetchInFormat(createDirectoryStore(folder), statement, format, {
      earlier: [],
    }))
      chunks.push(chunk);
    return Buffer.concat(chunks).toString('utf8');
  };

  test('is the published one, or fails at its end', async () => {
    expect(await fetched()).toBe(await readFile(sheet(0, 1), 'utf8'));
    expect(await fetched(SPREADSHEET)).toBe(await readFile(sheet(0, 1), 'utf8'));
    await edit(sheet(0, 1), 'FEE', 'FOO');
    await expect(fetched()).rejects.toMatchObject({ name: 'StatementDamaged' });
    await expect(fetched(SPREADSHEET)).rejects.toMatchObject({ name: 'StatementDamaged' });
    await edit(sheet(0, 1), 'FOO', 'F"OO');
    await expect(fetched(SPREADSHEET)).rejects.toMatchObject({ name: 'StatementDamaged' });
    await rm(sheet(0, 1));
    await expect(fetched()).rejects.toMatchObject({
      message: expect.stringMatching(/is missing; it was published/),
    });
  });
});

describe('columns', () => {
  const manifestOf = (index: 0 | 1 | 2) => join(day(index), 'manifest.json');
  const shas = () =>
    Promise.all(([0, 1, 2] as const).map(async (index) => sha256Of(await readFile(manifestOf(index)))));
  /** Names the manifests by what they hold, as whoever wrote them would have done. */
  const relink = async (before: readonly string[]): Promise<void> => {
    const now = await shas();
    if (now.every((sha, at) => sha === before[at])) return;
    for (const index of [0, 1, 2] as const) {
      let text = await readFile(manifestOf(index), 'utf8');
      for (const [at, sha] of now.entries()) text = text.replaceAll(before[at]!, sha);
      await writeFile(manifestOf(index), text);
    }
    await relink(now);
  };
  /** Publishes the current statement of a day as another version of daybook would have done. */
  const republish = async (
    index: 0 | 1,
    revision: number,
    columns: readonly string[] | undefined,
    text: string,
  ) => {
    const before = await shas();
    const manifest = JSON.parse(await readFile(manifestOf(index), 'utf8')) as {
      statements: Record<string, unknown>[];
    };
    const old = String(manifest.statements[0]!['sha256']);
    const sha256 = createHash('sha256').update(text).digest('hex');
    Object.assign(manifest.statements[0]!, { bytes: Buffer.byteLength(text), sha256, columns });
    await writeFile(manifestOf(index), JSON.stringify(manifest));
    await writeFile(sheet(index, revision), text);
    // The next day's manifest names these bytes as the statement before.
    const after = manifestOf((index + 1) as 1 | 2);
    await writeFile(after, (await readFile(after, 'utf8')).replace(old, sha256));
    await relink(before);
  };
  const FIRST = ['batch_no', 'booked_at', 'currency', 'transaction_type', 'credit', 'debit', 'balance'];

  test('a manifest names the columns of its files', async () => {
    const { statements } = JSON.parse(await readFile(manifestOf(0), 'utf8')) as {
      statements: { columns: string[] }[];
    };
    expect(statements[0]!.columns).toEqual(FIRST);
  });

  test('a file is read by its own columns: a later version’s file with one more, beside one without names', async () => {
    const older = await readFile(sheet(1), 'utf8');
    await republish(1, 1, undefined, older);
    const newer = (await readFile(sheet(0, 2), 'utf8'))
      .trimEnd()
      .split('\r\n')
      .map((line, at) => `${at === 0 ? 'value_date' : '2026-03-29'},${line}\r\n`)
      .join('');
    await republish(0, 2, ['value_date', ...FIRST], newer);
    expect(await problems(folder)).toEqual([]);
    await republish(0, 2, ['value_date', ...FIRST], newer.replace('50.00,,150.00', '51.00,,150.00'));
    expect(await problems(folder)).toContainEqual(expect.stringMatching(/^the sum of credits is 51/));
  });

  test('a file whose columns differ from its manifest, or lack a needed one, is reported', async () => {
    const text = await readFile(sheet(0, 2), 'utf8');
    await republish(0, 2, ['value_date', ...FIRST], text);
    expect(await problems(folder)).toContainEqual(
      expect.stringMatching(/^the header is 'batch_no,.*', not 'value_date,batch_no,/),
    );
    const renamed = text.replace('balance', 'saldo');
    await republish(0, 2, [...FIRST.slice(0, -1), 'saldo'], renamed);
    expect(await problems(folder)).toEqual(['its rows cannot be checked: they have no column balance']);
  });
});
