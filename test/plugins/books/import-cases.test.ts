/** Files of the kinds that merchants and banks hand over, through the command: what is read is right, and what may be read in two ways is not. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeXlsx } from 'hucre/xlsx';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { rowsOf } from '../../../src/store/engine/database.ts';
import { daybook, type Env } from '../../cli/daybook.ts';
import { emptyTables, freshDatabase, type ServerDatabase } from '../../support/database.ts';

let database: ServerDatabase;
let folder: string;
let env: Env;
beforeAll(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), 'daybook-cases-'));
  env = {
    ...{ PLATFORM_BASE_URL: 'https://platform.example', PLATFORM_TIME_ZONE: 'Asia/Shanghai' },
    ...{ PLATFORM_MERCHANT_NO: 'M1', PLATFORM_TOKEN: 'token' },
    ...{ DATABASE_URL: database.url, DAYBOOK_DATA_DIR: folder },
  };
});
beforeEach(() => emptyTables(database.db));
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

/** Imports a file as the lines of a mapping say; lines of text, or a workbook. */
async function imported(map: string, file: string | Uint8Array, ...flags: readonly string[]) {
  const [mapping, path] = [
    join(folder, 'map.yaml'),
    join(folder, typeof file === 'string' ? 'book.csv' : 'book.xlsx'),
  ];
  await writeFile(mapping, `merchant: M1\nformat: ${typeof file === 'string' ? 'csv' : 'xlsx'}\n${map}\n`);
  await writeFile(path, file);
  return daybook(['books', 'import', path, '--map', mapping, '--by', 'Ada', ...flags], env);
}

const amounts = async (): Promise<readonly string[]> => {
  const rows = await rowsOf(database.db)<{ text: string }>`
    SELECT number || ' ' || amount AS text FROM book_entry WHERE withdrawn_import_id IS NULL ORDER BY number COLLATE "C"`;
  return rows.map(({ text }) => text);
};
const reasons = async (): Promise<readonly string[]> => {
  const rows = await rowsOf(database.db)<{
    text: string;
  }>`SELECT line || ' ' || reason AS text FROM book_unreadable ORDER BY line`;
  return rows.map(({ text }) => text);
};
const columnsOf = (more = ''): string => `columns: {number: Id, booked: Date, amount: Amount${more}}`;

describe('a file withdraws only within the span of time that it holds', () => {
  const LONDON = 'zone: Europe/London\ncurrency: EUR\ncolumns: {number: no, booked: at, amount: a}';
  const numbers = async () => (await amounts()).map((text) => text.split(' ')[0]);
  const file = (...rows: readonly string[]) => `no,at,a\n${rows.map((row) => `${row},1\n`).join('')}`;

  test('the next day of a book in another zone leaves the evening before', async () => {
    await imported(LONDON, file('A1,2026-03-31 10:00:00', 'A2,2026-03-31 23:10:00'));
    const next = await imported(LONDON, file('A3,2026-04-01 00:20:00'));
    expect(next.stdout).toContain('1 added');
    expect(next.stdout).toContain('it covers 2026-04-01 to 2026-04-01 (Europe/London)');
    expect(next.stdout).not.toContain('withdrawn');
    expect(await numbers()).toEqual(['A1', 'A2', 'A3']);
  });

  test.each([
    ['west of the platform', 'America/Los_Angeles'],
    ['east of it', 'Pacific/Auckland'],
    ['half an hour off', 'Asia/Kolkata'],
    ['its own', 'Asia/Shanghai'],
  ])('96 entries a day in a zone %s, each day a file: none is withdrawn', async (_, zone) => {
    const quarters = Array.from({ length: 96 }, (__, at) => {
      const two = (count: number): string => String(count).padStart(2, '0');
      return `${two(Math.floor(at / 4))}:${two((at % 4) * 15)}:00`;
    });
    const map = LONDON.replace('Europe/London', zone);
    // The clocks of Los Angeles and Auckland change on none of these days.
    for (const day of ['2026-02-10', '2026-02-11', '2026-02-12'])
      expect(
        await imported(map, file(...quarters.map((time) => `${day}/${time},${day} ${time}`))),
      ).toMatchObject({ code: 0 });
    expect(await numbers()).toHaveLength(3 * 96);
  });

  test('days that are named are those of the book’s zone', async () => {
    await imported(
      LONDON,
      file(
        'A1,2026-03-31 10:00:00',
        'A2,2026-03-31 23:10:00',
        'A3,2026-04-01 00:20:00',
        'A4,2026-04-30 23:50:00',
      ),
    );
    await imported(LONDON, file('A5,2026-04-02 10:00:00'), '--from', '2026-04-01', '--to', '2026-04-30');
    expect(await numbers()).toEqual(['A1', 'A2', 'A5']);
  });

  test('a month follows the month before, and a month again takes back what it lacks', async () => {
    const march = ['M1,2026-03-01 00:00:00', 'M2,2026-03-15 12:00:00', 'M3,2026-03-31 23:59:59'];
    const april = ['N1,2026-04-01 00:00:00', 'N2,2026-04-30 23:59:59'];
    await imported(LONDON, file(...march));
    await imported(LONDON, file(...april));
    expect(await numbers()).toEqual(['M1', 'M2', 'M3', 'N1', 'N2']);
    await imported(LONDON, file(march[0]!, march[2]!));
    expect(await numbers()).toEqual(['M1', 'M3', 'N1', 'N2']);
  });

  test('two files of one day leave each other alone, and what stays is said, with what to do', async () => {
    await imported(LONDON, file('A1,2026-03-31 08:00:00', 'A2,2026-03-31 12:00:00'));
    const afternoon = await imported(LONDON, file('A3,2026-03-31 12:00:00', 'A4,2026-03-31 18:00:00'));
    expect(afternoon.stdout).toMatch(/2 entries of these days .* stay: `--from` and `--to` say/);
    expect(await numbers()).toEqual(['A1', 'A2', 'A3', 'A4']);
    await imported(LONDON, file('A3,2026-03-31 12:00:00'), '--from', '2026-03-31', '--to', '2026-03-31');
    expect(await numbers()).toEqual(['A3']);
  });

  test('offsets in rows say when, and without a zone of the book no days are named', async () => {
    const map = LONDON.replace('zone: Europe/London\n', '');
    await imported(map, file('A1,2026-03-31T10:00:00+01:00', 'A2,2026-03-31T22:10:00Z'));
    await imported(map, file('A3,2026-03-31T23:20:00Z', 'A4,2026-04-01T12:00:00+01:00'));
    expect(await numbers()).toEqual(['A1', 'A2', 'A3', 'A4']);
    const named = await imported(
      map,
      file('A4,2026-04-01T12:00:00+01:00'),
      '--from',
      '2026-04-01',
      '--to',
      '2026-04-30',
    );
    expect(named).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Name the book's zone in the mapping, .* Nothing was stored/),
    });
    await imported(
      LONDON,
      file('A4,2026-04-01T12:00:00+01:00'),
      '--from',
      '2026-04-01',
      '--to',
      '2026-04-30',
    );
    expect(await numbers()).toEqual(['A1', 'A2', 'A4']);
  });

  test('days without a time are complete; beside times, those in between are', async () => {
    await imported(LONDON, file('D1,2026-03-01', 'D2,2026-03-02', 'D3,2026-03-03', 'D4,2026-03-04'));
    await imported(LONDON, file('D1,2026-03-01', 'D3,2026-03-03'));
    expect(await numbers()).toEqual(['D1', 'D3', 'D4']);
    await imported(LONDON, file('D5,2026-03-01 12:00:00', 'D6,2026-03-04 12:00:00'));
    expect(await numbers()).toEqual(['D1', 'D4', 'D5', 'D6']);
  });

  test('a row of the morning that cannot be read is not answered by the afternoon, but by the morning', async () => {
    const morning = ['A1,2026-03-31 08:00:00', 'A3,2026-03-31 12:00:00'];
    await imported(LONDON, `${file(...morning)}A2,2026-03-31 10:00:00,x\n`);
    const afternoon = await imported(LONDON, file('A4,2026-03-31 13:00:00', 'A5,2026-03-31 18:00:00'));
    expect(afternoon.stdout).not.toContain('answered');
    expect((await imported(LONDON, file(...morning))).stdout).toContain(
      '1 unreadable row of earlier imports is answered',
    );
  });

  test('a file of one currency leaves the entries of others', async () => {
    await imported(LONDON, file('E1,2026-03-01', 'E2,2026-03-02'));
    await imported(LONDON.replace('EUR', 'USD'), file('U1,2026-03-01', 'U2,2026-03-02'));
    expect(await numbers()).toEqual(['E1', 'E2', 'U1', 'U2']);
  });
});

describe('signs', () => {
  const STATEMENT = `Balance at the end,,,"+669,25"
Date,Operation,Debit,Credit
01/03/26,OP1,"-47,50",
01/03/26,OP2,"-120,00",
02/03/26,OP3,"-63,25",
02/03/26,OP4,,"900,00"
Balance at the start,,,"+0,00"
`;
  const MAP =
    'dates: DD/MM/YY\ndecimal: comma\ncurrency: EUR\nheader: 2\nfooter: 1\n' +
    'columns: {number: Operation, booked: Date, debit: Debit, credit: Credit}';

  test('debits below zero are asked about, and read as the mapping says', async () => {
    expect(await imported(MAP, STATEMENT)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /most debits of the file are below zero\. Add `debits: below-zero` .* Nothing was stored/,
      ),
    });
    expect(await amounts()).toEqual([]);
    expect(await imported(`${MAP}\ndebits: below-zero`, STATEMENT)).toMatchObject({ code: 0 });
    expect(await amounts()).toEqual(['OP1 -47.50', 'OP2 -120.00', 'OP3 -63.25', 'OP4 900.00']);
    await imported(`${MAP}\ndebits: above-zero`, STATEMENT);
    expect((await amounts())[0]).toBe('OP1 47.50');
  });

  test('so are credits below zero; a reversal among others is none', async () => {
    const map = 'currency: EUR\ncolumns: {number: Id, booked: Date, debit: Out, credit: In}';
    const credits = 'Id,Date,Out,In\n1,2026-03-01,,-5\n2,2026-03-01,3,\n';
    expect((await imported(map, credits)).stderr).toContain('most credits of the file are below zero');
    await imported(`${map}\ncredits: below-zero`, credits);
    expect(await amounts()).toEqual(['1 5', '2 -3']);
    await imported(
      map,
      'Id,Date,Out,In\n1,2026-03-01,,5\n2,2026-03-01,3,\n3,2026-03-01,-3,\n4,2026-03-01,4,\n',
    );
    expect(await amounts()).toEqual(['1 5', '2 -3', '3 3', '4 -4']);
  });

  const DIRECTION = 'Id,Date,Amount,Debit/credit\n1,2026-03-15,41.20,Debit\n2,2026-03-15,1260.00,Credit\n';

  test('a column says the direction; any other word in it makes the row unreadable', async () => {
    const map = `currency: EUR\ndirection: {debit: [Debit, DR], credit: credit}\n${columnsOf(', direction: Debit/credit')}`;
    expect(
      await imported(map, `${DIRECTION}3,2026-03-16,7,dr\n4,2026-03-16,8,Fee\n5,2026-03-16,9,\n`),
    ).toMatchObject({ code: 3 });
    expect(await amounts()).toEqual(['1 -41.20', '2 1260.00', '3 -7']);
    expect(await reasons()).toEqual([
      '5 the direction is no word of the mapping for debit or credit.',
      '6 the direction is no word of the mapping for debit or credit.',
    ]);
    const below = DIRECTION.replace('41.20', '-41.20');
    expect((await imported(map, below)).stderr).toContain('most debits of the file are below zero');
    await imported(`${map}\ndebits: below-zero`, below);
    expect((await amounts())[0]).toBe('1 -41.20');
  });

  test('a column that says so and is not named is found, whatever else the mapping calls it', async () => {
    for (const columns of [columnsOf(', type: Debit/credit'), columnsOf()])
      expect(await imported(`currency: EUR\n${columns}`, DIRECTION)).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(
          /the column Debit\/credit says debit or credit, and amounts of debits are above zero\. Name it/,
        ),
      });
    expect(
      (
        await imported(
          `currency: EUR\n${columnsOf()}`,
          DIRECTION.replace(/Debit$/m, 'D').replace(/Credit$/m, 'C'),
        )
      ).code,
    ).toBe(2);
    // Another form: signed amounts beside the same column say it twice.
    expect(
      await imported(`currency: EUR\n${columnsOf()}`, DIRECTION.replace('41.20', '-41.20')),
    ).toMatchObject({ code: 0 });
    expect(
      await imported(`currency: EUR\n${columnsOf()}`, DIRECTION.replace('Debit\n', 'Sale\n')),
    ).toMatchObject({ code: 0 });
  });

  test.each([
    ['S', 'H'],
    ['D', 'K'],
    ['Af', 'Bij'],
    ['DBIT', 'CRDT'],
  ])(
    '%s and %s beside amounts without a sign are found, too, and read once they are named',
    async (debit, credit) => {
      const rows = DIRECTION.replace(/Debit$/m, debit).replace(/Credit$/m, credit);
      expect((await imported(`currency: EUR\n${columnsOf()}`, rows)).code).toBe(2);
      const words = `direction: {debit: ${debit}, credit: ${credit}}`;
      expect(
        (await imported(`currency: EUR\n${words}\n${columnsOf(', direction: Debit/credit')}`, rows)).code,
      ).toBe(0);
      expect(await amounts()).toEqual(['1 -41.20', '2 1260.00']);
    },
  );

  test('a plus or minus in a column of its own is a direction like any other', async () => {
    const words = 'direction: {debit: "-", credit: "+"}';
    const rows = DIRECTION.replace(/Debit$/m, '-').replace(/Credit$/m, '+');
    expect(
      (await imported(`currency: EUR\n${words}\n${columnsOf(', direction: Debit/credit')}`, rows)).code,
    ).toBe(0);
    expect(await amounts()).toEqual(['1 -41.20', '2 1260.00']);
  });

  test.each(['--21.78', '50.90Cr', '50.90 DR', '+-5', '5-+', '\u201321.78'])(
    '%s has no sign that is known',
    async (given) => {
      await imported(
        `currency: EUR\n${columnsOf()}`,
        `Id,Date,Amount\n1,2026-03-01,${given}\n2,2026-03-01,5\n`,
      );
      expect([await amounts(), await reasons()]).toEqual([['2 5'], ['2 the amount is no amount.']]);
    },
  );

  test('what is wrong with the keys of the direction is said', async () => {
    const problems = async (map: string) => (await imported(map, DIRECTION)).stderr;
    const named = columnsOf(', direction: Debit/credit');
    expect(await problems(`currency: EUR\n${named}`)).toContain('direction has the words for debit');
    expect(await problems(`currency: EUR\ndirection: {debit: D}\n${columnsOf()}`)).toContain(
      'needs a column direction',
    );
    expect(await problems(`currency: EUR\ndirection: {debit: D, credit: d}\n${named}`)).toContain(
      'for both debit and credit',
    );
    expect(await problems(`currency: EUR\ndirection: {debits: D, credit: C}\n${named}`)).toContain(
      'did you mean debit?',
    );
    expect(await problems(`currency: EUR\ndebits: below-zero\n${columnsOf()}`)).toContain('leave it out');
  });
});

describe('decimals', () => {
  const rows = (...given: readonly string[]) =>
    `Id,Date,Amount\n${given.map((one, at) => `${at + 1},2026-03-15,"${one}"\n`).join('')}`;
  const map = (currency: string, more = '') => `currency: ${currency}\n${more}${columnsOf()}`;

  test('thousands with a dot in a currency without decimals are not read as thousandths', async () => {
    expect(await imported(map('VND'), rows('25.000', '500', '110.000'))).toMatchObject({ code: 3 });
    expect(await amounts()).toEqual(['2 500']);
    expect((await reasons())[0]).toBe(
      '2 the amount has more decimals than VND, which has 0. Where its mark groups digits, `decimal: comma` in the mapping says so.',
    );
    expect(await imported(map('VND', 'decimal: comma\n'), rows('25.000', '500', '110.000'))).toMatchObject({
      code: 0,
    });
    expect(await amounts()).toEqual(['1 25000', '2 500', '3 110000']);
  });

  test.each([
    ['EUR', '', '10.005', 'more decimals than EUR, which has 2'],
    ['EUR', '', '10.500', 'two ways'],
    ['EUR', 'decimal: point\n', '10.500', '10.500'],
    ['EUR', 'decimal: comma\n', '10,005', 'more decimals'],
    ['EUR', '', '1,234', '1234'],
    ['EUR', '', '1,234.500', '1234.500'],
    ['EUR', '', '1234.500', '1234.500'],
    ['EUR', '', '0.500', '0.500'],
    ['EUR', '', '10.5000', '10.5000'],
    ['JPY', '', '7,234', '7234'],
    ['JPY', 'decimal: point\n', '7.234', 'more decimals than JPY, which has 0'],
    ['JPY', 'decimal: comma\n', '7,234', 'more decimals than JPY, which has 0'],
    ['JPY', '', '500.00', '500.00'],
    ['KWD', '', '1.234', '1.234'],
    ['KWD', '', '1,234', 'two ways'],
    ['TND', 'decimal: comma\n', '1,234', '1.234'],
    ['KWD', 'decimal: point\n', '1,234', '1234'],
    ['KWD', '', '12.3456', 'more decimals than KWD, which has 3'],
    ['XCG', '', '10.005', 'more decimals than XCG, which has 2'],
    ['XAU', '', '1.2345', '1.2345'],
    ['QQQ', '', '1.234', 'two ways'],
    ['QQQ', 'decimal: point\n', '1.234', '1.234'],
    ['CNH', '', '10.005', 'more decimals than CNH, which has 2'],
  ])('of %s %s%s is %s', async (currency, said, given, wanted) => {
    await imported(map(currency, said), rows(given, '5'));
    const [first] = await amounts();
    expect(first === '2 5' ? (await reasons())[0] : first).toContain(wanted);
  });

  test.each([
    ['GBP', '£14.10', '14.10'],
    ['GBP', '-£1,014.10', '-1014.10'],
    ['GBP', '£-14.10', '-14.10'],
    ['GBP', '(£14.10)', '-14.10'],
    ['EUR', '14.10 €', '14.10'],
    ['EUR', 'EUR 14.10', '14.10'],
    ['EUR', '14.10eur', '14.10'],
    ['USD', '$14.10-', '-14.10'],
    ['CAD', 'C$14.10', '14.10'],
    ['CNY', '¥14.10', '14.10'],
    ['JPY', '￥1,410', '1410'],
    ['INR', 'Rs. 1,00,000.50', '100000.50'],
    ['CHF', "CHF 1'014.10", '1014.10'],
    ['GBP', '€14.10', 'the amount is no amount.'],
    ['USD', 'C$14.10', 'the amount is no amount.'],
    ['EUR', '14.10 USD', 'the amount is no amount.'],
    ['EUR', '€€14.10', 'the amount is no amount.'],
    ['EUR', '-€-14.10', 'the amount is no amount.'],
    ['EUR', '€', 'the amount is no amount.'],
  ])('an amount of %s written %s is %s', async (currency, given, wanted) => {
    await imported(map(currency), rows(given, '5'));
    const [first] = await amounts();
    expect(first === '2 5' ? (await reasons())[0] : first).toContain(wanted);
  });
});

describe('days and zones', () => {
  const AT = async () => {
    const rows = await rowsOf(database.db)<{ text: string }>`
      SELECT number || ' ' || coalesce(to_char(booked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'), day::text) AS text FROM book_entry ORDER BY number`;
    return rows.map(({ text }) => text);
  };

  test.each([
    ['DD MMM YYYY', ['05 Mar 2026', '06 MAR 2026'], ['1 2026-03-05', '2 2026-03-06']],
    ['DD-MMM-YY', ['05-Sep-26', '06-Sept-26'], ['1 2026-09-05', '2 2026-09-06']],
    ['MMMM D, YYYY', ['March 5, 2026', 'may 16, 2026'], ['1 2026-03-05', '2 2026-05-16']],
    ['ddd, D MMM YYYY', ['Thu, 5 Mar 2026', 'Friday, 6 Mar. 2026'], ['1 2026-03-05', '2 2026-03-06']],
    [
      'D MMM YYYY h:mm:ss A Z',
      ['5 Mar 2026 1:07:31 PM UTC', '5 Mar 2026 1:07:31 pm GMT'],
      ['1 2026-03-05 13:07', '2 2026-03-05 13:07'],
    ],
    [
      'D MMM YYYY [at] HH:mm',
      ['5 Mar 2026 at 08:00', '5 Mar 2026 at 09:00'],
      ['1 2026-03-05 00:00', '2 2026-03-05 01:00'],
    ],
  ])('%s', async (dates, [first, second], wanted) => {
    const file = `Id;Date;Amount\n1;${first};14.10\n2;${second};230.00\n`;
    expect(
      await imported(`delimiter: ";"\ndates: ${JSON.stringify(dates)}\ncurrency: GBP\n${columnsOf()}`, file),
    ).toMatchObject({ code: 0 });
    expect(await AT()).toEqual(wanted);
  });

  test.each([
    ['DD MMM YYYY', '05 Mai 2026'],
    ['DD MMM YYYY', '05 Ma 2026'],
    ['DD MMM YYYY', '31 Feb 2026'],
    ['DD MMM YYYY', '05 03 2026'],
    ['ddd, D MMM YYYY', 'Fri, 5 Mar 2026'],
    ['D MMM YYYY HH:mm Z', '5 Mar 2026 08:00 CST'],
    ['DD/MM/YY', '05/03/98'],
  ])('as %s, %s is no day', async (dates, given) => {
    await imported(
      `delimiter: ";"\ndates: ${JSON.stringify(dates)}\ncurrency: GBP\n${columnsOf()}`,
      `Id;Date;Amount\n1;${given};1\n`,
    );
    expect(await AT()).toEqual([]);
  });

  test.each(['CST', 'cst', 'BST', 'IST', 'EST', 'PST', 'AEST', 'CET'])(
    'zone: %s is refused, with what it may mean',
    async (zone) => {
      const { code, stderr } = await imported(
        `zone: ${zone}\ncurrency: EUR\n${columnsOf()}`,
        'Id,Date,Amount\n1,2026-03-30 10:00:00,1.00\n',
      );
      expect([code, stderr]).toEqual([
        2,
        expect.stringMatching(/zone is an abbreviation, which may mean \w+\/\w+.*; name the place/),
      ]);
      const status = await daybook(['status'], { ...env, PLATFORM_TIME_ZONE: zone });
      expect([status.code, status.stderr]).toEqual([
        2,
        expect.stringMatching(/PLATFORM_TIME_ZONE is an abbreviation, which may mean/),
      ]);
    },
  );
});

describe('a workbook', () => {
  const MAP = 'currency: EUR\ncolumns: {number: Order, booked: Date, amount: Amount, reference: Batch}';
  const DAY = new Date('2026-03-30T00:00:00Z');
  const sheet = (...rows: readonly (string | number | Date | null)[][]) =>
    writeXlsx({ sheets: [{ name: 'Book', rows: [['Order', 'Date', 'Amount', 'Batch'], ...rows] }] });

  test('a long number is no number of an entry and no reference: the column has to be text', async () => {
    const file = await sheet(
      [1_234_567_890_123_456, DAY, 1, 'B1'],
      [202_603_310_000_123_400, DAY, 2, 'B2'],
      [202_603_310_000_123_410, DAY, 3, 'B3'],
      ['202603310000123456', DAY, 4, '202603310000123457'],
      [123_456_789_012_345, DAY, 5, 202_603_310_000_123_400],
      [999_999_999_999_999, DAY, 6, 123_456_789_012_345],
    );
    expect(await imported(MAP, file)).toMatchObject({ code: 3 });
    expect(await amounts()).toEqual(['202603310000123456 4', '999999999999999 6']);
    const long = 'is a long number, which a spreadsheet rounds or shortens: its column has to be text there.';
    expect(await reasons()).toEqual([
      `2 the number ${long}`,
      `3 the number ${long}`,
      `4 the number ${long}`,
      `6 the reference ${long}`,
    ]);
  });

  test('a formula whose result is not stored is not an empty cell', async () => {
    const formula = (text: string, result?: string | number) => ({
      formula: text,
      ...(result !== undefined && { formulaResult: result }),
    });
    const file = await writeXlsx({
      sheets: [
        {
          name: 'Other & one',
          rows: [['x']],
          cells: new Map([['1,0', formula('A1')]]),
        },
        {
          name: 'Book',
          rows: [
            ['Order', 'Date', 'Amount', 'Batch'],
            ['1', DAY, 1, null],
            ['2', DAY, null, 'B2'],
            ['3', DAY, null, 'B3'],
            ['4', DAY, 4, 'B4'],
          ],
          cells: new Map([
            ['1,3', formula('A2&"x"')],
            ['2,2', formula('1+1')],
            ['3,2', formula('1+2', 3)],
          ]),
        },
      ],
    });
    expect(await imported(`sheet: Book\n${MAP}`, file)).toMatchObject({ code: 3 });
    expect(await amounts()).toEqual(['3 3', '4 4']);
    const unsolved = 'is a formula without a stored result: open the file in a spreadsheet, and save it.';
    expect(await reasons()).toEqual([`2 the reference ${unsolved}`, `3 the amount ${unsolved}`]);
  });

  test('a CSV may tell a spreadsheet that a cell is text; its content is the number', async () => {
    const csv = `Order,Date,Amount,Batch\n="00123",2026-03-30,="1.50",="B1"\n"=""0012""",2026-03-30,2,\n=A1,2026-03-30,3,\n`;
    expect(await imported(MAP, csv)).toMatchObject({ code: 0 });
    expect(await amounts()).toEqual(['0012 2', '00123 1.50', '=A1 3']);
  });

  test('nor is it one in a CSV that a spreadsheet saved, nor are its errors', async () => {
    const csv = `Order,Date,Amount,Batch
1.23457E+15,2026-03-30,1,
"1,23457E+15",2026-03-30,1,
1E+15,2026-03-30,1,
3,2026-03-30,1,2.02603E+17
#REF!,2026-03-30,1,
5,2026-03-30,1,#N/A
6,########,1,
7,2026-03-30,#VALUE!,
1E15,2026-03-30,1,#17
`;
    expect(await imported(MAP, csv)).toMatchObject({ code: 3 });
    expect(await amounts()).toEqual(['1E15 1']);
    expect((await reasons()).map((reason) => reason.slice(0, 34))).toEqual([
      ...[2, 3, 4].map((line) => `${line} the number is a long number, whi`),
      '5 the reference is a long number, ',
      '6 the number is the error #REF! of',
      '7 the reference is the error #N/A ',
      '8 the day is ###, as its column in',
      '9 the amount is the error #VALUE! ',
    ]);
  });
});
