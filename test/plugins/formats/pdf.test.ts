/** PDF, read back by another library than the one that wrote it: its pages, its texts, and where they stand. */
import { execFileSync } from 'node:child_process';
import { inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type RowCells } from '../../../src/verify/csv.ts';
import { type StatementDay, STATEMENT_COLUMNS } from '../../../src/statements/formats/format.ts';
import { grouped } from '../../../src/ledger/money.ts';
import { drawable } from '../../../src/plugins/formats/pdf-sheet.ts';
import { ENTRIES_SHOWN_MAX, writePdf } from '../../../src/plugins/formats/pdf.ts';
import { linesOf, pagesOf, textOf } from '../../support/read-pdf.ts';
import { bytesOf, dayOf, revisionOf, statementDay } from '../../statements/days.ts';
import { hostileDay } from './hostile-rows.ts';

const ROW: RowCells = ['B1', '2026-03-31 09:00:00', 'USD', 'PAY', '1234567.50', '', '-0.50'];
const FIGURES = {
  ...{ opening: '-1234568.00', creditTotal: '1234567.50', creditCount: 1, closing: '-0.50' },
};
const NAMES = STATEMENT_COLUMNS.map(({ name }) => name);
const read = async (day: StatementDay) => pagesOf(await bytesOf(writePdf(day)));

test('a day is figures, verdict, proof and lines to sign on one page of A4, with its entries', async () => {
  const pages = await read(statementDay([ROW], { figures: FIGURES }));
  expect(pages.map(({ width, height }) => [width, height])).toEqual([[595.28, 841.89]]);
  expect(linesOf(pages[0]!)).toEqual([
    'Account statement',
    'Tuesday, 31 March 2026 · USD',
    'Merchant | M-1',
    'Currency | USD',
    'Business day | 2026-03-31, 00:00:00 to 23:59:59 of Asia/Shanghai',
    'Revision | 1',
    'Published | 2026-04-01 10:00:00 +08:00',
    'Figures',
    'Entries | Amount in USD',
    'Opening balance | -1,234,568.00',
    'Credits | 1 | 1,234,567.50',
    'Debits | 0 | 0.00',
    'Closing balance | -0.50',
    'Verdict',
    'Proven: every balance follows from the one before.',
    'Opening plus credits minus debits is the closing.',
    'Proof',
    'This page shows the published CSV, which is the file that is proven. Anybody who has it can compute its SHA-256 and',
    'compare.',
    'CSV | M-1_USD_2026-03-31.r1.csv',
    `SHA-256 of the CSV | ${'ab'.repeat(32)}`,
    ...['Prepared by', 'Name', 'Date', 'Signature', 'Approved by', 'Name', 'Date', 'Signature'],
    'Entries',
    'In the order of their balances. Times are of Asia/Shanghai.',
    'Time | Batch number | Type | Credit | Debit | Balance',
    '09:00:00 | B1 | PAY | 1,234,567.50 | -0.50',
    'Account statement M-1 · USD · 2026-03-31 · revision 1 | Page 1 of 1',
  ]);
});

test.each([
  ['Asia/Shanghai', '2026-10-25T00:30:00Z', '2026-10-25 08:30:00 +08:00'],
  ['Europe/Berlin', '2026-10-25T00:30:00Z', '2026-10-25 02:30:00 +02:00'],
  ['Europe/Berlin', '2026-10-25T01:30:00Z', '2026-10-25 02:30:00 +01:00'],
  ['America/St_Johns', '2026-01-01T00:00:00Z', '2025-12-31 20:30:00 -03:30'],
  ['UTC', '2026-10-25T01:30:00Z', '2026-10-25 01:30:00 +00:00'],
  [null, '2026-10-25T01:30:00Z', '2026-10-25 01:30:00 +00:00'],
])('published in the zone %s at %s is %s', async (zone, at, shown) => {
  const pages = await read(statementDay([ROW], { zone, published: { publishedAt: new Date(at) } }));
  expect(linesOf(pages[0]!)).toContain(`Published | ${shown}`);
});

/** What is drawn on the pages, as a PDF spells it. */
const drawnIn = async (day: StatementDay): Promise<string> =>
  Array.from(
    (await bytesOf(writePdf(day)))
      .toString('latin1')
      .matchAll(/FlateDecode\n>>\nstream\n([^]*?)\nendstream/g),
    ([, packed]) => inflateSync(Buffer.from(packed!, 'latin1')).toString('latin1'),
  ).join('\n');

test('there are six lines to write on: name, date and signature of both', async () => {
  const lines = Array.from(
    (await drawnIn(statementDay([ROW], { figures: FIGURES }))).matchAll(
      /([\d.]+) ([\d.]+) m\n([\d.]+) [\d.]+ l\n/g,
    ),
    (found) => found.slice(1).map(Number),
  );
  const toWriteOn = lines.filter(([from, , to]) => Math.abs(to! - from! - 187.64) < 0.1);
  expect(toWriteOn).toHaveLength(6);
  expect(new Set(toWriteOn.map(([from]) => from)).size).toBe(2);
});

test('a day that is broken is said in red, one that is proven in green', async () => {
  const [red, green] = [/0\.639\d* 0\.133\d* 0\.101\d* /, /0\.113\d* 0\.419\d* 0\.235\d* /];
  const proven = await drawnIn(statementDay([ROW], { figures: FIGURES }));
  const broken = await drawnIn(
    statementDay([ROW], { figures: { ...FIGURES, verdict: 'broken', breakCount: 1 } }),
  );
  expect([green.test(proven), red.test(proven)]).toEqual([true, false]);
  expect([green.test(broken), red.test(broken)]).toEqual([false, true]);
});

test('amounts end at the same edge', async () => {
  const rows = ['1.00', '111111.11', '-99999999.99'].map((balance) => [...ROW.slice(0, 6), balance]);
  const [page] = await read(statementDay(rows, { figures: { creditCount: 3 } }));
  const edges = page!.items
    .filter(({ text }) => ['1.00', '111,111.11', '-99,999,999.99'].includes(text))
    .map(({ x, width }) => Math.round((x + width) * 10));
  expect(edges).toHaveLength(3);
  expect(new Set(edges).size).toBe(1);
});

test('a later revision says what it took the place of, and what changed', async () => {
  const cells = Object.fromEntries(NAMES.map((name, at) => [name, ROW[at]!]));
  const rows = [
    {
      batchNo: 'B1',
      before: cells,
      after: { ...cells, transaction_type: 'FEE' },
      changed: ['transaction_type'],
    },
    { batchNo: 'B8', before: { ...cells, batch_no: 'B8' }, after: null, changed: [] },
    { batchNo: 'B9', before: null, after: { ...cells, batch_no: 'B9' }, changed: [] },
  ];
  const second = {
    figures: FIGURES,
    published: { revision: 2, reason: '1 late entry (B9)' },
    earlier: [revisionOf({ sha256: 'cd'.repeat(32) })],
  };
  const text = async (changes: { rows: typeof rows; more: number } | null) =>
    textOf(await read(statementDay([ROW], { ...second, changes })));
  const reported = await text({ rows, more: 7 });
  for (const line of [
    'Revision | 2, in place of revision 1',
    'Reason | 1 late entry (B9)',
    `1 | 2026-04-01 10:00:00 +08:00 | the first one\nM-1_USD_2026-03-31.r1.csv\n${'cd'.repeat(32)}`,
    'before | 09:00:00 | B1 | PAY | 1,234,567.50 | -0.50',
    'after | 09:00:00 | B1 | FEE | 1,234,567.50 | -0.50',
    'went | 09:00:00 | B8 | PAY',
    'came | 09:00:00 | B9 | PAY',
    'And 7 more; `daybook statements diff DAY` shows them all.',
  ])
    expect(reported).toContain(line);
  expect(await text({ rows: [], more: 0 })).toContain('No entry changed');
  expect(await text(null)).toContain('The file of that revision could not be read');
  const many = Array.from({ length: 150 }, () => rows[2]!);
  expect(await text({ rows: many, more: 0 })).toContain('And 50 more;');
});

test(
  'exactly a thousand entries and a hundred changes are shown without a rest',
  { tags: ['long'] },
  async () => {
    const listed = Array.from({ length: 1_000 }, (_, at) => [`B${at}`, ...ROW.slice(1)]);
    const cells = Object.fromEntries(NAMES.map((name, at) => [name, ROW[at]!]));
    const came = Array.from({ length: 100 }, () => ({
      batchNo: 'B9',
      before: null,
      after: cells,
      changed: [],
    }));
    const change = { published: { revision: 2 }, earlier: [revisionOf()], changes: { rows: came, more: 0 } };
    const text = async (rows: readonly RowCells[], count: number) =>
      textOf(await read(statementDay(rows, { figures: { creditCount: count }, ...change })));
    const whole = await text(listed, 1_000);
    expect(whole).toContain('B999 ');
    expect(whole).not.toMatch(/The first|And \d+ more/);
    expect(await text([...listed, ROW], 1_001)).toContain(
      'The first 1,000 of 1,001. The other 1 are in the CSV',
    );
  },
);

test('of many revisions the latest are told, and how many more there are', async () => {
  const earlier = Array.from({ length: 25 }, (_, at) => revisionOf({ revision: at + 1 }));
  const text = textOf(await read(statementDay([ROW], { published: { revision: 26 }, earlier })));
  expect(text).toContain('M-1_USD_2026-03-31.r25.csv');
  expect(text).not.toContain('M-1_USD_2026-03-31.r5.csv');
  expect(text).toContain('And 5 before these; the manifest of the day has all.');
  expect(text).toContain('What changed since revision 25\n');
});

describe('the verdict in words', () => {
  const verdictOf = async (change: Parameters<typeof statementDay>[1]) =>
    textOf(await read(statementDay([ROW], change))).split(/Verdict\n|\nProof/)[1];

  test('a broken day says how often, and marks where', async () => {
    const figures = { ...FIGURES, verdict: 'broken', breakCount: 1 } as const;
    expect(await verdictOf({ figures })).toMatch(
      /^Broken: 1 break, where a balance does not follow from the one before\.\nOpening plus credits minus debits need not/,
    );
    const off = [ROW, ['B2', '2026-03-31 10:00:00', 'USD', 'PAY', '', '1.00', '-7.00']];
    const text = textOf(await read(statementDay(off, { figures: { ...figures, debitCount: 1 } })));
    expect(text).toContain(
      'Break: the balance below does not follow from the one above; it is -5.50 off.\n10:00:00 | B2',
    );
    expect(text.match(/Break: the balance/g)).toHaveLength(1);
    const first = textOf(await read(statementDay([ROW], { figures: { ...figures, opening: '0.00' } })));
    expect(first).toContain(
      'Break: the balance below does not follow from the one above; it is -1,234,568.00 off.\n09:00:00 | B1',
    );
  });

  test('a broken day says by how much it is off, and which of its breaks lie before a later entry', async () => {
    const figures = { opening: '10.00', closing: '12.50', verdict: 'broken', breakCount: 3 } as const;
    const reported = await verdictOf({ figures: { ...figures, breaksAfter: 1 } });
    expect(reported?.replaceAll('\n', ' ')).toBe(
      'Broken: 3 breaks, where a balance does not follow from the one before. 1 of them lies between the last balance of ' +
        'this day and the next entry, which is of a later day. Opening plus credits minus debits is not the closing: a net ' +
        '2.50 is missing between them. What a person has explained since is in the manifest of the day: this file stays as ' +
        'it was published.',
    );
    const all = await verdictOf({ figures: { ...figures, closing: '10.00', breaksAfter: 3 } });
    expect(all?.replaceAll('\n', ' ')).toContain(
      '. All 3 lie between the last balance of this day and the next entry',
    );
    const only = await verdictOf({ figures: { ...figures, breakCount: 1, breaksAfter: 1 } });
    expect(only?.replaceAll('\n', ' ')).toContain('. It lies between the last balance');
  });

  test('a break in an entry that is not listed is counted', { tags: ['long'] }, async () => {
    const listed = Array.from({ length: 1_000 }, (_, at) => [
      ...[`B${at}`, '2026-03-31 09:00:00', 'USD', 'PAY', '1.00', '', `${at + 1}.00`],
    ]);
    const rows = [...listed, ['B1000', '2026-03-31 09:00:00', 'USD', 'PAY', '1.00', '', '7.00']];
    const figures = {
      creditCount: 1_001,
      creditTotal: '1001.00',
      closing: '7.00',
      verdict: 'broken',
    } as const;
    const reported = async (breakCount: number, breaksAfter = 0) =>
      textOf(await read(statementDay(rows, { figures: { ...figures, breakCount, breaksAfter } }))).replaceAll(
        '\n',
        ' ',
      );
    expect(await reported(1)).toContain('. 1 break is among those.');
    expect(await reported(3, 1)).toContain('. 2 breaks are among those.');
    expect(await reported(1, 1)).not.toContain('among those');
  });

  test('a reordered one, one whose opening is derived, and one without entries', async () => {
    expect(await verdictOf({ figures: { ...FIGURES, verdict: 'reordered' } })).toContain('in another order');
    expect(await verdictOf({ figures: { ...FIGURES, restarted: true } })).toContain(
      'derived from the first entry',
    );
    expect(await verdictOf({ zone: null })).toBe('Proven: nothing was booked, and the balance stayed.');
    const derived = 'The opening is derived from the first entry: it does not follow from the day before.';
    expect(await verdictOf({ figures: { restarted: true } })).toBe(
      `Proven: nothing was booked, and the balance stayed.\n${derived}`,
    );
    const broken = { ...FIGURES, verdict: 'broken', breakCount: 2, restarted: true } as const;
    expect(await verdictOf({ figures: broken })).toMatch(new RegExp(`^Broken: 2 breaks, [^]*\\n${derived}$`));
  });
});

test('an amount keeps every digit', () => {
  const decimals = '123456789012345678901234567890';
  expect(grouped(`-1234567.${decimals}`)).toBe(`-1,234,567.${decimals}`);
  expect(grouped('123')).toBe('123');
  expect(grouped('')).toBe('');
});

test(
  'what the fonts do not have is spelled out, and different texts stay different',
  { tags: ['long'] },
  () => {
    expect(drawable('Größe € “a”—b…')).toBe('Größe € “a”—b…');
    expect(drawable('支付')).toBe('\\u652f\\u4ed8');
    expect(drawable('\\u652f')).toBe('\\u005cu652f');
    expect(drawable(' a  b ')).toBe('\\u0020a \\u0020b\\u0020');
    const undone = (text: string): string =>
      text.replace(/\\u([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^(\\|u00|5c| |a){0,9}$/)),
        (text) => {
          expect(undone(drawable(text))).toBe(text);
        },
      ),
    );
  },
);

test('every cell of any day is read back, whole and in order, and the figures are the day’s', async () => {
  await fc.assert(
    fc.asyncProperty(hostileDay({ digits: 30 }), async ({ currency, rows, figures }) => {
      const pages = await read(statementDay(rows, { currency, figures }));
      const drawn = pages.map(({ items }) => items.map(({ text }) => text).join('')).join('');
      // Cells are cut into lines that stand between those of other cells, so each column is read on its own.
      const columns = columnsIn(pages);
      const shown = (at: number) => withoutSpaces(rows.map((cells) => drawable(cells[at]!)).join(''));
      expect(columns.batchNo).toBe(shown(0));
      expect(columns.type).toBe(shown(3));
      expect(columns.amounts).toBe(
        rows
          .map((cells) =>
            cells
              .slice(4)
              .filter((cell) => cell !== '')
              .map(grouped)
              .join(''),
          )
          .join(''),
      );
      const { opening, creditTotal, creditCount, debitTotal, debitCount, closing } = figures;
      expect(drawn).toContain(
        `Opening balance${grouped(opening)}Credits${creditCount}${grouped(creditTotal)}Debits${debitCount}` +
          `${grouped(debitTotal)}Closing balance${grouped(closing)}Verdict`,
      );
    }),
    { numRuns: 12 },
  );
});

/** The reader drops the space at which a line was cut. Spaces that matter are spelled out. */
const withoutSpaces = (text: string): string => text.replaceAll(' ', '');

/** The texts of the entries' columns, one cell after the other. */
function columnsIn(pages: Awaited<ReturnType<typeof read>>) {
  let [isEntries, batchNo, type, amounts] = [false, '', '', ''];
  for (const { items } of pages)
    for (const { text, x, y } of items) {
      if (text === 'Batch number') isEntries = true;
      const isHead =
        ['Time', 'Batch number', 'Type', 'Credit', 'Debit', 'Balance'].includes(text) && isBold(x, y, items);
      if (!isEntries || isHead || y < 60) continue;
      if (x > 300) amounts += text;
      else if (x > 215) type += text;
      else if (x > 90) batchNo += text;
    }
  return { batchNo: withoutSpaces(batchNo), type: withoutSpaces(type), amounts };
}

/** A header's cells stand next to all the others. */
const isBold = (x: number, y: number, items: readonly { text: string; y: number }[]): boolean =>
  items.filter((one) => one.y === y && ['Batch number', 'Balance'].includes(one.text)).length === 2;

test('a page says where the other entries are, and a long table has its header on each page', async () => {
  const count = ENTRIES_SHOWN_MAX + 234;
  const rows = Array.from({ length: count }, (_, at) => [`B${at}`, ...ROW.slice(1)]);
  const pages = await read(statementDay(rows, { figures: { creditCount: count } }));
  const text = textOf(pages);
  expect(text).toContain(
    'The first 1,000 of 1,234. The other 234 are in the CSV, M-1_USD_2026-03-31.r1.csv.',
  );
  expect(text).toContain(`B${ENTRIES_SHOWN_MAX - 1} `);
  expect(text).not.toContain(`B${ENTRIES_SHOWN_MAX} `);
  expect(text.match(/^Time \| Batch number/gm)).toHaveLength(pages.length);
  expect(linesOf(pages.at(-1)!).at(-1)).toContain(`Page ${pages.length} of ${pages.length}`);
});

describe('wherever a page ends', () => {
  const BOTTOM = 62;
  const HEADINGS = ['Figures', 'Verdict', 'Proof', 'Entries'];
  const SIGNED = ['Prepared by', 'Name', 'Date', 'Signature', 'Approved by', 'Name', 'Date', 'Signature'];
  const batchNos = Array.from({ length: 12 }, (_, at) => `${at}${'W'.repeat(90)}${at};`);
  const rows = batchNos.map((batchNo) => [batchNo, ...ROW.slice(1)]);
  const figures = { ...FIGURES, creditCount: rows.length };
  /** What is above the foot. */
  const bodyOf = ({ items }: Awaited<ReturnType<typeof read>>[number]) => items.filter(({ y }) => y > 45);

  test(
    'nothing lies below its margin, a heading has something under it, a row and the lines to sign are whole',
    { tags: ['long'] },
    async () => {
      let pagesMost = 0;
      for (let length = 0; length < 70; length += 1) {
        const reason = Array.from({ length: length + 1 }, (_, at) => `reason-${at}-${'n'.repeat(50)}`).join(
          ' ',
        );
        const pages = await read(statementDay(rows, { figures, published: { reason } }));
        pagesMost = Math.max(pagesMost, pages.length);
        for (const page of pages) {
          const body = bodyOf(page);
          for (const { y } of body) expect(y).toBeGreaterThan(BOTTOM);
          expect(HEADINGS).not.toContain(body.at(-1)!.text);
          expect(page.items.at(-1)!.text).toBe(`Page ${pages.indexOf(page) + 1} of ${pages.length}`);
        }
        const signed = bodyOf(pages.find(({ items }) => items.some(({ text }) => text === 'Prepared by'))!);
        const from = signed.findIndex(({ text }) => text === 'Prepared by');
        expect(signed.slice(from, from + SIGNED.length).map(({ text }) => text)).toEqual(SIGNED);
        const inPages = pages.map((page) =>
          bodyOf(page)
            .filter(({ x }) => x > 90 && x < 215)
            .map(({ text }) => text)
            .join(''),
        );
        for (const batchNo of batchNos)
          expect(inPages.filter((text) => text.includes(batchNo))).toHaveLength(1);
        for (const [label, value] of [
          ['CSV', 'M-1_USD_2026-03-31.r1.csv'],
          ['Reason', `reason-0-${'n'.repeat(50)}`],
        ] as const)
          expect(
            pages.flatMap(linesOf).filter((line) => line.startsWith(`${label} | ${value}`)),
          ).toHaveLength(1);
      }
      expect(pagesMost).toBeGreaterThan(2);
    },
  );

  test('a fact stands beside its name', async () => {
    for (let length = 48; length < 60; length += 1) {
      const merchantNo = Array.from({ length }, (_, at) => `${at}-${'n'.repeat(50)}`).join(' ');
      const lines = (await read(statementDay([ROW], { figures: FIGURES, merchantNo }))).flatMap(linesOf);
      for (const fact of [
        'Currency | USD',
        'Business day | 2026-03-31',
        'Revision | 1',
        'Published | 2026-04-01',
      ])
        expect(lines.filter((line) => line.startsWith(fact))).toHaveLength(1);
    }
  });

  test('a row that is longer than a page goes on on the next one, and nothing of it is lost', async () => {
    const batchNo = Array.from({ length: 900 }, (_, at) => `<${at}>`).join('');
    const pages = await read(statementDay([[batchNo, ...ROW.slice(1)]], { figures: FIGURES }));
    expect(pages.length).toBeGreaterThan(2);
    expect(columnsIn(pages).batchNo).toBe(batchNo);
    for (const page of pages) for (const { y } of bodyOf(page)) expect(y).toBeGreaterThan(BOTTOM);
  });
});

test('a million entries make a file that is no larger than a thousand do', async () => {
  const batch = Array.from({ length: 10_000 }, (_, at) => [`B${at}`, ...ROW.slice(1)]);
  const day = dayOf(
    STATEMENT_COLUMNS,
    Array.from({ length: 100 }, () => batch),
    {
      figures: { creditCount: 1_000_000 },
    },
  );
  const small = await bytesOf(
    writePdf(statementDay(batch.slice(0, 1_000), { figures: { creditCount: 1_000 } })),
  );
  const large = await bytesOf(writePdf(day));
  expect(large.length).toBeLessThan(small.length * 1.1);
});

test(
  'the same day gives the same bytes, in every time zone of the machine and at any time',
  { tags: ['long'] },
  () => {
    const script = `
    import { writePdf } from '${new URL('../../../src/plugins/formats/pdf.ts', import.meta.url).href}';
    import { bytesOf, statementDay } from '${new URL('../../statements/days.ts', import.meta.url).href}';
    import { sha256Of } from '${new URL('../../../src/host/sha256.ts', import.meta.url).href}';
    console.log(sha256Of(await bytesOf(writePdf(statementDay([${JSON.stringify(ROW)}])))));`;
    const digestIn = (zone: string) =>
      execFileSync(process.execPath, ['--input-type=module', '-e', script], {
        env: {
          ...process.env,
          TZ: zone,
          LANG: 'de_DE',
          NODE_OPTIONS: '--disable-warning=ExperimentalWarning',
        },
        encoding: 'utf8',
      });
    const digests = ['UTC', 'Asia/Shanghai', 'America/New_York'].map(digestIn);
    expect(new Set(digests).size).toBe(1);
    expect(digests[0]).toMatch(/^[0-9a-f]{64}\n$/);
  },
);

test('what reading the rows throws comes through, also after the last entry that is shown', async () => {
  const batch = Array.from({ length: ENTRIES_SHOWN_MAX }, () => ROW);
  const failing: StatementDay = {
    ...statementDay([]),
    rows: (async function* () {
      yield await Promise.resolve(batch);
      throw new Error('the rows are not those published');
    })(),
  };
  await expect(bytesOf(writePdf(failing))).rejects.toThrow('the rows are not those published');
});
