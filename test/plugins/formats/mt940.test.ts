/** MT940: the rules of the format, and read back by a parser of others. */
import fc from 'fast-check';
import { Parser } from 'mt940js';
import { expect, test } from 'vitest';
import { sha256Of } from '../../../src/host/sha256.ts';
import type { RowCells } from '../../../src/verify/csv.ts';
import type { StatementDay } from '../../../src/statements/formats/format.ts';
import { createMessages, linesOf, swiftText, writeMt940 } from '../../../src/plugins/formats/mt940.ts';
import { bytesOf, changedDay, revisionOf, statementDay } from '../../statements/days.ts';
import { hostileDay } from './hostile-rows.ts';

const ROW: RowCells = ['SBX1684027663557', '2026-03-31 09:00:00', 'USD', 'PAY', '1234.50', '', '1233.50'];
const written = async (day: StatementDay): Promise<string> =>
  (await bytesOf(writeMt940(day))).toString('latin1');
const lines = (text: string): string[] => text.split('\r\n').slice(0, -1);
const messagesOf = (text: string): string[] => text.split(/(?<=^-\r\n)/m).filter((message) => message !== '');

test('a day is one message: who, which, opening, entries, closing', async () => {
  const figures = {
    ...{ opening: '-1.00', closing: '-1500.50' },
    ...{ creditTotal: '1234.50', creditCount: 1, debitTotal: '2734.00', debitCount: 1 },
  };
  const long = ['Auftrag_Größe/支付-0000000001', '2026-03-31 17:30:00', 'USD', '', '', '2734.00', '-1500.50'];
  const text = await written(statementDay([ROW, long], { figures, published: { revision: 2 } }));
  expect(lines(text)).toEqual([
    ':20:260331USDR2',
    ':25:M-1USD',
    ':28C:09002/00001',
    ':60F:D260330USD1,00',
    ':61:2603310331C1234,50NMSCNONREF//SBX1684027663557',
    ':86:SBX1684027663557 09:00:00 PAY',
    `:61:2603310331D2734,00NMSCNONREF//Auftrag.${sha256Of(long[0]!).slice(0, 8).toUpperCase()}`,
    ':86:Auftrag-Grosse/ZhiFu-0000000001 17:30:00',
    ':62F:D260331USD1500,50',
    ':86:daybook revision 2, continuous, breaks: 0, texts of 1 entries are',
    ' spelled in the characters of SWIFT',
    '-',
  ]);
});

test('amounts have a comma, with as many decimals as the currency has', async () => {
  const amountsIn = async (currency: string, amount: string) => {
    const row = ['B1', '2026-03-31 09:00:00', currency, 'PAY', amount, '', amount];
    const figures = { opening: amount, closing: amount };
    return lines(await written(statementDay([row], { currency, figures })))
      .filter((line) => /^:6[012]/.test(line))
      .map((line) => /[\d]+,\d*/.exec(line.replace(/^:61:\d{10}|^:6.F:.\d{6}/, ''))![0]);
  };
  expect(await amountsIn('JPY', '1000')).toEqual(['1000,', '1000,', '1000,']);
  expect(await amountsIn('KWD', '1.234')).toEqual(['1,234', '1,234', '1,234']);
});

test('SWIFT’s characters are kept, others are spelled with them', () => {
  const allowed = "AZaz09/-?:().,'+ ";
  expect(swiftText(allowed)).toBe(allowed);
  expect(swiftText('Größe_1 & Söhne @ "支付宝"')).toBe("Grosse-1 + Sohne (at) 'ZhiFuBao'");
  expect(swiftText('\u0007\ud800\uffff')).toMatch(/^\.+$/);
});

test('the lines of a field are short, few, and begin with nothing that ends the field', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[-:a ]{50,500}$/), (text) => {
      const found = linesOf(text);
      expect(found.length).toBeLessThanOrEqual(6);
      for (const [at, line] of found.entries()) {
        expect(line.length).toBeLessThanOrEqual(65);
        if (at > 0) expect(line).not.toMatch(/^[:-]/);
      }
      expect(found.join('\n').length).toBeLessThanOrEqual(390);
      if (text.length <= 385 && !/[:-]{60}/.test(text) && found.at(-1)?.endsWith('...') !== true)
        expect(found.join('')).toBe(text);
    }),
  );
});

test('a text is cut after 385 characters, six lines of 65 with their ends', () => {
  const line = 'a'.repeat(65);
  const five = Array.from({ length: 5 }, () => line);
  expect(linesOf(line)).toEqual([line]);
  expect(linesOf(`${line}b`)).toEqual([line, 'b']);
  expect(linesOf('a'.repeat(385))).toEqual([...five, 'a'.repeat(60)]);
  expect(linesOf('a'.repeat(386))).toEqual([...five, `${'a'.repeat(57)}...`]);
});

test.each([':', '-'])('no line but the first begins with %s: the one before it ends early', (sign) => {
  expect(linesOf(`${'a'.repeat(65)}${sign}x`)).toEqual(['a'.repeat(64), `a${sign}x`]);
  expect(linesOf(`${'a'.repeat(64)}${sign}${sign}x`)).toEqual(['a'.repeat(63), `a${sign}${sign}x`]);
});

test('a reference has 16 characters, and a statement’s number five digits, whatever the revision', async () => {
  const fields = async (revision: number) =>
    lines(await written(statementDay([], { published: { revision } }))).filter((line) =>
      /^:2[08]/.test(line),
    );
  expect(await fields(150)).toEqual([':20:260331USDR150', ':28C:09099/00001']);
  expect(await fields(1_234_567)).toEqual([':20:260331USDR123456', ':28C:09099/00001']);
});

test('a message is never longer than 2,000 characters, and is filled as far as its end fits', () => {
  const day = statementDay([], { figures: { opening: '999999999999.99', closing: '999999999999.99' } });
  let longest = 0;
  for (let length = 60; length < 200; length += 1) {
    const messages = createMessages(day);
    for (let nth = 0; nth < 80; nth += 1) messages.add('x'.repeat(length), '999999999999.99');
    messages.end('x'.repeat(length));
    longest = Math.max(longest, ...messagesOf(messages.given()).map((message) => message.length));
  }
  expect(longest).toBe(2_000);
});

test(
  'every day is read back by mt940js: balances, amounts, references, texts',
  { tags: ['long'] },
  async () => {
    const currencies = [['USD', 2] as const, ['JPY', 0] as const];
    await fc.assert(
      fc.asyncProperty(hostileDay({ digits: 10, currencies, maxRows: 60 }), async (found) => {
        const { currency, rows, figures } = found;
        const statements = new Parser({ no86Structure: true }).parse(
          await written(statementDay(rows, { currency, figures })),
        );
        expect(statements.map(({ currency: own }) => own)).toEqual(statements.map(() => currency));
        expect(statements[0]!.openingBalance).toBe(Number(figures.opening));
        expect(statements.at(-1)!.closingBalance).toBe(Number(figures.closing));
        const entries = statements.flatMap(({ transactions }) => transactions);
        expect(
          entries.map(({ amount, bankReference, details }) => [amount + 0, bankReference, details]),
        ).toEqual(
          rows.map(([batchNo, at, , type, credit, debit]) => {
            const name = swiftText(batchNo!);
            const isComplete = name === batchNo && name.length <= 16 && !/^[/ ]|[/ ]$|\/\//.test(name);
            const digest = sha256Of(batchNo!).slice(0, 8).toUpperCase();
            return [
              credit === '' ? 0 - Number(debit) : Number(credit),
              isComplete ? name : `${name.replace(/[^A-Za-z0-9]/g, '').slice(0, 7)}.${digest}`,
              linesOf(`${name} ${at!.slice(11)} ${swiftText(type!)}`.trimEnd()).join('\n'),
            ];
          }),
        );
      }),
      { numRuns: 40 },
    );
  },
);

test(
  'a long day is several messages: each short enough, each opening where the one before it closed',
  { tags: ['long'] },
  async () => {
    await fc.assert(
      fc.asyncProperty(hostileDay({ digits: 12, maxRows: 80 }), async ({ currency, rows, figures }) => {
        const text = await written(statementDay(rows, { currency, figures, merchantNo: 'M'.repeat(32) }));
        expect(text).toMatch(/^[A-Za-z0-9/\-?:().,'+ \r\n]*$/);
        const messages = messagesOf(text);
        for (const [at, message] of messages.entries()) {
          expect(message.length).toBeLessThanOrEqual(2_000);
          expect(message).toContain(`:28C:09001/${String(at + 1).padStart(5, '0')}\r\n`);
          expect(message).toMatch(at === 0 ? /^:60F:/m : /^:60M:/m);
          expect(message).toMatch(at === messages.length - 1 ? /^:62F:/m : /^:62M:/m);
          if (at > 0) expect(/^:60M:(.*)/m.exec(message)![1]).toBe(/^:62M:(.*)/m.exec(messages[at - 1]!)![1]);
          for (const line of lines(message)) expect(line.length).toBeLessThanOrEqual(70);
        }
        expect(text.match(/^:61:/gm) ?? []).toHaveLength(rows.length);
      }),
      { numRuns: 40 },
    );
  },
);

test('different accounts have different numbers, ordinary ones their own, none of more than 35 characters', async () => {
  const accountOf = async (merchantNo: string, currency = 'USD') =>
    /^:25:(.*)\r$/m.exec(await written(statementDay([], { merchantNo, currency })))![1]!;
  for (const ordinary of ['10001', 'SBX-M-1', 'A-B.C', 'M'.repeat(32), '20260331'])
    expect(await accountOf(ordinary)).toBe(`${ordinary}USD`);
  const digest = (of: string): string => sha256Of(of).slice(0, 8).toUpperCase();
  expect(await accountOf('A_B.C')).toBe(`A-B.C+${digest('A_B.C')}USD`);
  const shortened = `A-B.C+${digest('A_B.C')}`;
  expect(await accountOf(shortened)).toBe(`${shortened}+${digest(shortened)}USD`);
  const long = 'M'.repeat(33);
  expect(await accountOf(long)).toBe(`${'M'.repeat(23)}+${digest(long)}USD`);
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(
        fc.string({ unit: fc.constantFrom('A', '-', '_', '&', '+', '支', 'a'), maxLength: 50 }),
        {
          minLength: 2,
          maxLength: 8,
        },
      ),
      async (merchants) => {
        const numbers = await Promise.all(merchants.map((one) => accountOf(one)));
        expect(new Set(numbers).size).toBe(merchants.length);
        for (const number of numbers) expect(number).toMatch(/^[A-Za-z0-9/\-?:().,'+ ]{3,35}$/);
      },
    ),
    { numRuns: 40 },
  );
});

test('the opening is the closing of the day before, in amount and date', async () => {
  const before = await written({ ...statementDay([], { figures: { closing: '12.30' } }), day: '2026-02-28' });
  const after = await written({ ...statementDay([], { figures: { opening: '12.30' } }), day: '2026-03-01' });
  expect(/:60F:(.*)/.exec(after)![1]).toBe(/:62F:(.*)/.exec(before)![1]);
});

test('what does not fit is told: an amount that is too long, a day with too many entries', async () => {
  const long = statementDay([], { figures: { closing: '-1234567890123.45' } });
  await expect(written(long)).rejects.toThrow(
    'cannot be written as mt940: the amount -1234567890123.45 has more than the 15 characters of its field. Take the CSV',
  );
  const entry = `:61:2603310331C1,00NMSCNONREF//B1\r\n:86:${'x'.repeat(60)}\r\n`;
  const messages = createMessages(statementDay([]), 2);
  const added = () => {
    for (let nth = 0; nth < 40; nth += 1) messages.add(entry, '1.00');
  };
  expect(added).toThrow('it has too many entries for 2 messages of 2000 characters');
});

test('a revision says which one it replaces, and a broken day what it lacks', async () => {
  const text = await written(
    statementDay([], {
      figures: { opening: '1.00', closing: '1.50', verdict: 'broken', breakCount: 1 },
      published: { revision: 2, reason: '1 entry amended' },
      earlier: [revisionOf()],
    }),
  );
  expect(text.replaceAll('\r\n', '')).toContain(
    'daybook revision 2, broken, breaks: 1, a net 0.50 is missing between opening and closing, ' +
      'replaces revision 1: 1 entry amended',
  );
});

test('changes carry their own balance from message to message, and each pair of revisions has its own reference', async () => {
  const rows = Array.from({ length: 60 }, (_, at): RowCells => {
    const [number, booked] = [`B${at}`, '2026-03-31 09:00:00'];
    return at % 2 === 0
      ? [number, booked, 'USD', 'PAY', '', '1.00', '77.00', 'reversed']
      : [number, booked, 'USD', 'PAY', '2.00', '', '99.00', 'added'];
  });
  const figures = { opening: '10.00', creditTotal: '60.00', debitTotal: '30.00', closing: '41.00' };
  const text = await written(changedDay(rows, 1, { figures, published: { revision: 3 } }));
  const messages = messagesOf(text);
  expect(messages.length).toBeGreaterThan(1);
  let cents = 1_000;
  for (const [nth, message] of messages.entries()) {
    expect(message).toContain(':20:260331USDR3S1\r\n');
    const amount = `C260331USD${(cents / 100).toFixed(2).replace('.', ',')}`;
    expect(message).toContain(nth === 0 ? `:60F:${amount}` : `:60M:${amount}`);
    for (const [, mark, units] of message.matchAll(/^:61:\d{10}([A-Z]+)(\d),00/gm))
      cents += Number(units) * 100 * (mark === 'RC' ? -1 : 1);
  }
  expect(text).toContain(':62F:C260331USD41,00');
  expect(text.replaceAll('\r\n', '')).toContain(
    'only what changed since revision 1, a net 1.00 comes from a changed opening or a break, not from these entries',
  );
  const references = await Promise.all(
    [
      [1, 234],
      [12, 34],
      [123, 456],
      [123, 457],
      [12, 3456],
    ].map(
      async ([since, revision]) =>
        lines(await written(changedDay([], since!, { published: { revision: revision! } })))[0]!,
    ),
  );
  expect(new Set(references).size).toBe(references.length);
  for (const reference of references) expect(reference.length).toBeLessThanOrEqual(':20:'.length + 16);
});
