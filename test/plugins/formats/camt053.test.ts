/** camt.053: valid by its schema, and read back by an XML parser. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { XmlDocument, XsdValidator } from 'libxml2-wasm';
import { expect, test } from 'vitest';
import { addAmounts, compareAmounts, subtractAmounts } from '../../../src/ledger/money.ts';
import { sha256Of } from '../../../src/host/sha256.ts';
import { writeCamt053 } from '../../../src/plugins/formats/camt053.ts';
import type { RowCells } from '../../../src/verify/csv.ts';
import type { StatementDay } from '../../../src/statements/formats/format.ts';
import { bytesOf, changedDay, revisionOf, statementDay } from '../../statements/days.ts';
import { hostileDay } from './hostile-rows.ts';

/** ISO 20022's own file. It is not ours to pass on, so it lies next to the repository; where it is not, see iso20022.org. */
const SCHEMA = fileURLToPath(new URL('../../../../shared/standards/camt.053.001.08.xsd', import.meta.url));
const NS = { c: 'urn:iso:std:iso:20022:tech:xsd:camt.053.001.08' };

const ROW: RowCells = ['B1', '2026-03-31 09:00:00', 'USD', 'PAY', '1234.50', '', '1233.50'];
const written = async (day: StatementDay): Promise<Buffer> => bytesOf(writeCamt053(day));

async function reading<Result>(day: StatementDay, look: (document: XmlDocument) => Result): Promise<Result> {
  const document = XmlDocument.fromBuffer(await written(day));
  try {
    return look(document);
  } finally {
    document.dispose();
  }
}

const textsAt = (from: Pick<XmlDocument, 'find'>, path: string): string[] =>
  from.find(path, NS).map((node) => node.content);

/** Valid by the schema; a sentence of the validator where it is not. */
function problemsOf(bytes: Buffer): string {
  const schema = XmlDocument.fromBuffer(readFileSync(SCHEMA));
  const validator = XsdValidator.fromDoc(schema);
  const document = XmlDocument.fromBuffer(bytes);
  try {
    validator.validate(document);
    return '';
  } catch (error) {
    return (error as Error).message;
  } finally {
    for (const one of [document, validator, schema]) one.dispose();
  }
}
const hasSchema = existsSync(SCHEMA);
if (!hasSchema && process.env['DAYBOOK_TEST_CAMT053_SCHEMA'] === 'required')
  throw new Error(`the schema is missing, and DAYBOOK_TEST_CAMT053_SCHEMA requires it: ${SCHEMA}`);

test('a day is one statement of the account: balances, totals, entries', async () => {
  const figures = {
    ...{ opening: '-1.00', creditTotal: '1234.50', creditCount: 1, debitTotal: '0.50', debitCount: 1 },
    closing: '1233.00',
  };
  const fee = ['B2', '2026-03-31 17:30:00', 'USD', 'FEE', '', '0.50', '1233.00'];
  const day = statementDay([ROW, fee], { figures, published: { revision: 2, file: 'M-1_USD.r2.csv' } });
  const id = `20260331002-USD-${sha256Of('M-1').slice(0, 8)}`;
  const entry = (batchNo: string, amount: string, side: string, type: string, at: string): string =>
    `<Ntry><NtryRef>${batchNo}</NtryRef><Amt Ccy="USD">${amount}</Amt><CdtDbtInd>${side}</CdtDbtInd>` +
    '<Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-03-31</Dt></BookgDt><ValDt><Dt>2026-03-31</Dt></ValDt>' +
    `<AcctSvcrRef>${batchNo}</AcctSvcrRef><BkTxCd><Prtry><Cd>${type}</Cd></Prtry></BkTxCd>` +
    `<NtryDtls><TxDtls><Refs><AcctSvcrRef>${batchNo}</AcctSvcrRef></Refs>` +
    `<RmtInf><Ustrd>${type} ${batchNo}</Ustrd></RmtInf>` +
    `<RltdDts><TxDtTm>2026-03-31T${at}</TxDtTm></RltdDts></TxDtls></NtryDtls></Ntry>\n`;
  const balance = (code: string, amount: string, side: string): string =>
    `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp><Amt Ccy="USD">${amount}</Amt>` +
    `<CdtDbtInd>${side}</CdtDbtInd><Dt><Dt>2026-03-31</Dt></Dt></Bal>`;
  expect((await written(day)).toString('utf8')).toBe(
    '<?xml version="1.0" encoding="UTF-8"?>\n' +
      '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>' +
      `<GrpHdr><MsgId>${id}</MsgId><CreDtTm>2026-04-01T02:00:00Z</CreDtTm></GrpHdr>` +
      `<Stmt><Id>${id}</Id><ElctrncSeqNb>20260331002</ElctrncSeqNb><CreDtTm>2026-04-01T02:00:00Z</CreDtTm>` +
      '<FrToDt><FrDtTm>2026-03-31T00:00:00</FrDtTm><ToDtTm>2026-03-31T23:59:59</ToDtTm></FrToDt>' +
      '<Acct><Id><Othr><Id>M-1USD</Id></Othr></Id><Ccy>USD</Ccy></Acct>' +
      balance('OPBD', '1.00', 'DBIT') +
      balance('CLBD', '1233.00', 'CRDT') +
      '<TxsSummry><TtlNtries><NbOfNtries>2</NbOfNtries><Sum>1235.00</Sum>' +
      '<TtlNetNtry><Amt>1234.00</Amt><CdtDbtInd>CRDT</CdtDbtInd></TtlNetNtry></TtlNtries>' +
      '<TtlCdtNtries><NbOfNtries>1</NbOfNtries><Sum>1234.50</Sum></TtlCdtNtries>' +
      '<TtlDbtNtries><NbOfNtries>1</NbOfNtries><Sum>0.50</Sum></TtlDbtNtries></TxsSummry>\n' +
      entry('B1', '1234.50', 'CRDT', 'PAY', '09:00:00') +
      entry('B2', '0.50', 'DBIT', 'FEE', '17:30:00') +
      '<AddtlStmtInf>daybook revision 2, continuous, breaks: 0. M-1_USD.r2.csv SHA-256 ' +
      `${'ab'.repeat(32)}</AddtlStmtInf></Stmt></BkToCstmrStmt></Document>\n`,
  );
});

const textOfCamt = (text: string): string =>
  text.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd');

/** Amounts that fit into 18 digits, their sums included. */
const DAYS = hostileDay({ digits: 16 });

test('every entry of any day is read back as it is in the CSV', { tags: ['long'] }, async () => {
  await fc.assert(
    fc.asyncProperty(DAYS, async ({ currency, rows, figures }) => {
      await reading(statementDay(rows, { currency, figures }), (document) => {
        const found = document.find('//c:Ntry', NS).map((entry) => {
          const [reference] = textsAt(entry, './c:NtryRef');
          const [type = ''] = textsAt(entry, './c:BkTxCd/c:Prtry/c:Cd');
          const text = textsAt(entry, './/c:Ustrd').join('');
          const [at] = textsAt(entry, './/c:TxDtTm');
          const [amount] = textsAt(entry, './c:Amt');
          const isCredit = textsAt(entry, './c:CdtDbtInd')[0] === 'CRDT';
          return { reference, type, text, at, amount, isCredit };
        });
        const shortened = (name: string) =>
          Array.from(name).length <= 35 && textOfCamt(name) === name
            ? textOfCamt(name)
            : textOfCamt(`${Array.from(name).slice(0, 26).join('')}~${sha256Of(name).slice(0, 8)}`);
        expect(found).toEqual(
          rows.map(([batchNo, at, , type, credit, debit]) => ({
            reference: shortened(batchNo!),
            type: type === '' ? 'NTAV' : shortened(type!),
            text: textOfCamt(type === '' ? batchNo! : `${type!} ${batchNo!}`),
            at: at!.replace(' ', 'T'),
            amount: credit! || debit!,
            isCredit: credit !== '',
          })),
        );
        const signed = (code: string): string => {
          const own = `//c:Bal[c:Tp/c:CdOrPrtry/c:Cd='${code}']`;
          const [amount] = textsAt(document, `${own}/c:Amt`);
          return textsAt(document, `${own}/c:CdtDbtInd`)[0] === 'DBIT' ? `-${amount!}` : amount!;
        };
        expect([signed('OPBD'), signed('CLBD')]).toEqual([figures.opening, figures.closing]);
        const sum = (isCredit: boolean) =>
          found
            .filter((one) => one.isCredit === isCredit)
            .reduce((all, one) => addAmounts(all, one.amount!), '0');
        const net = subtractAmounts(sum(true), sum(false));
        expect(compareAmounts(addAmounts(signed('OPBD'), net), signed('CLBD'))).toBe(0);
      });
    }),
    { numRuns: 40 },
  );
});

test.skipIf(!hasSchema)('any day is valid by the schema, whatever its currency and texts', async () => {
  await fc.assert(
    fc.asyncProperty(DAYS, fc.integer({ min: 1, max: 2_147_483_647 }), async (found, revision) => {
      const { currency, rows, figures } = found;
      const merchantNo = 'M'.repeat(32);
      const day = statementDay(rows, { currency, figures, merchantNo, published: { revision } });
      expect(problemsOf(await written(day))).toBe('');
    }),
    { numRuns: 20 },
  );
  expect(
    problemsOf(Buffer.from('<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"/>')),
  ).not.toBe('');
});

test('an amount that the schema does not allow is told, with what to do', async () => {
  for (const balance of ['1234567890123456789', '0.000001']) {
    const day = statementDay([], { currency: 'CNH', figures: { closing: balance } });
    await expect(written(day)).rejects.toThrow(
      `the statement of M-1 in CNH for 2026-03-31 cannot be written as camt053: the amount ${balance} has more than 18 ` +
        'digits or more than 5 decimals. Take the CSV, which holds every day.',
    );
  }
});

test('a revision says which statement it replaces, and why, as somebody may import both', async () => {
  const day = statementDay([ROW], {
    published: { revision: 2, reason: '1 entry amended' },
    earlier: [revisionOf()],
  });
  await reading(day, (document) => {
    const [about] = textsAt(document, '//c:AddtlStmtInf');
    const id = `20260331001-USD-${sha256Of('M-1').slice(0, 8)}`;
    expect(about!.endsWith(`. Replaces ${id}: 1 entry amended`)).toBe(true);
  });
});

test('batch numbers that differ in a character that XML cannot hold have references that differ', async () => {
  const rows = ['REF\ufffe', 'REF\uffff', 'REF\u0007', 'REF\ud800', 'REF\ufffd', 'RÉF\t1'].map((batchNo) => [
    ...[batchNo, '2026-03-31 09:00:00', 'USD', 'PAY', '1.00', '', '1.00'],
  ]);
  const digestOf = (name: string) => `REF\ufffd~${sha256Of(name).slice(0, 8)}`;
  await reading(statementDay(rows, { figures: { creditCount: 6 } }), (document) => {
    expect(textsAt(document, '//c:NtryRef')).toEqual([
      ...['REF\ufffe', 'REF\uffff', 'REF\u0007', 'REF\ud800'].map(digestOf),
      ...['REF\ufffd', 'RÉF\t1'],
    ]);
  });
});

test('a broken day says by how much its entries miss the closing', async () => {
  const figures = {
    opening: '1.00',
    creditTotal: '2.00',
    closing: '7.50',
    verdict: 'broken',
    breakCount: 1,
  } as const;
  await reading(statementDay([], { figures }), (document) => {
    expect(textsAt(document, '//c:AddtlStmtInf')[0]).toContain(
      'broken, breaks: 1, a net 4.50 is missing between opening and closing.',
    );
  });
});

test('a broken day says how many of its breaks lie before the next entry', async () => {
  const figures = { verdict: 'broken', breakCount: 3, breaksAfter: 2 } as const;
  await reading(statementDay([], { figures }), (document) => {
    expect(textsAt(document, '//c:AddtlStmtInf')[0]).toContain(
      'broken, breaks: 3, 2 of them between the last balance of the day and the next entry.',
    );
  });
});

test('accounts of one merchant have different numbers, short enough and never those of another', async () => {
  const numberOf = (merchantNo: string, currency: string) =>
    reading(statementDay([], { merchantNo, currency }), (document) =>
      textsAt(document, '//c:Acct/c:Id/c:Othr/c:Id').join(),
    );
  const long = 'M'.repeat(31);
  const numbers = [
    ...[await numberOf('M-1', 'USD'), await numberOf('M-1', 'EUR'), await numberOf(long, 'USD')],
    ...[await numberOf(`${long}1`, 'USD'), await numberOf(`${long}2`, 'USD')],
  ];
  expect(numbers.slice(0, 3)).toEqual(['M-1USD', 'M-1EUR', `${long}USD`]);
  expect(new Set(numbers).size).toBe(numbers.length);
  for (const number of numbers) expect(number.length).toBeLessThanOrEqual(34);
});

test('a sum that is too long is left out, as each of its amounts fits', async () => {
  const most = '999999999999999999';
  const figures = { creditTotal: most, creditCount: 1, debitTotal: most, debitCount: 1 };
  const bytes = await written(statementDay([], { figures }));
  await reading(statementDay([], { figures }), (document) => {
    expect(textsAt(document, '//c:TtlNtries/c:Sum')).toEqual([]);
    expect(textsAt(document, '//c:TtlCdtNtries/c:Sum')).toEqual([most]);
  });
  if (hasSchema) expect(problemsOf(bytes)).toBe('');
});

test.skipIf(!hasSchema)(
  'changes are valid by the schema, each with an id that its revisions alone share',
  async () => {
    const rows = [
      [...ROW.slice(0, 4), '', '1234.50', '1233.50', 'reversed'],
      [...ROW, 'added'],
    ];
    const ids = new Set<string>();
    const pairs = [
      [1, 2],
      [1, 12],
      [11, 12],
      [0, 12],
      [2_147_483_646, 2_147_483_647],
    ] as const;
    for (const [since, revision] of pairs) {
      const day = () => changedDay(rows, since, { published: { revision } });
      expect(problemsOf(await written(day()))).toBe('');
      ids.add(await reading(day(), (document) => textsAt(document, '//c:MsgId')[0]!));
    }
    expect(ids.size).toBe(pairs.length);
  },
);
