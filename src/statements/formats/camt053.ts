/** Statements as ISO 20022 camt.053.001.08 (bank to customer statement), for ERPs: docs/decisions/camt053-and-mt940.md. */
import { entriesIn } from '../../ledger/chain/figures.ts';
import { addAmounts, decimalsOf, subtractAmounts } from '../../ledger/money.ts';
import { sha256Of } from '../digest.ts';
import type { RowCells, StatementDay, StatementFormat } from './format.ts';
import { placesOf, type Places } from './places.ts';
import { FormatTooSmall } from './too-small.ts';

/** What the schema allows in an amount. */
const AMOUNT_DIGITS_MAX = 18;
const AMOUNT_DECIMALS_MAX = 5;
/** Max35Text and Max140Text of the schema, in characters. */
const REFERENCE_MAX = 35;
const REMITTANCE_MAX = 140;
const NAMESPACE = 'urn:iso:std:iso:20022:tech:xsd:camt.053.001.08';

const MARKUP: Readonly<Record<string, string>> = {
  ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;' },
  ...{ '\t': '&#9;', '\n': '&#10;', '\r': '&#13;' },
};
const SPECIAL = /[&<>\u0000-\u001f\ufffe\uffff]/g;

/** Nearly every text. */
const PLAIN = /^[\w .,:;/()+*#@=-]*$/;

/** A text as XML. What XML cannot hold becomes the replacement character. */
const xml = (text: string): string =>
  PLAIN.test(text) ? text : text.toWellFormed().replace(SPECIAL, (char) => MARKUP[char] ?? '\ufffd');

/** An element, or nothing where the text is empty: the schema wants at least one character. */
const element = (name: string, text: string): string =>
  text === '' ? '' : `<${name}>${xml(text)}</${name}>`;

/** A name that fits, different for different names: one that is too long ends with a digest of the whole. */
function reference(name: string): string {
  if (name.length <= REFERENCE_MAX) return name;
  const characters = Array.from(name);
  return characters.length <= REFERENCE_MAX
    ? name
    : `${characters.slice(0, REFERENCE_MAX - 9).join('')}~${sha256Of(name).slice(0, 8)}`;
}

/** The text in pieces of the longest that an element holds. */
function pieces(text: string): string[] {
  if (text.length <= REMITTANCE_MAX) return [text];
  const characters = Array.from(text);
  const count = Math.ceil(characters.length / REMITTANCE_MAX);
  return Array.from({ length: count }, (_, at) =>
    characters.slice(at * REMITTANCE_MAX, (at + 1) * REMITTANCE_MAX).join(''),
  );
}

const unsigned = (amount: string): string => amount.replace(/^-/, '');
const direction = (amount: string): string => (amount.startsWith('-') ? 'DBIT' : 'CRDT');

/** Writes amounts of an account; throws `FormatTooSmall` for one that the schema does not allow. */
function amountsOf(day: StatementDay) {
  /** Digits without a sign. */
  const plain = (amount: string): string => {
    const digits = unsigned(amount);
    if (decimalsOf(digits) > AMOUNT_DECIMALS_MAX || digits.replace('.', '').length > AMOUNT_DIGITS_MAX)
      throw new FormatTooSmall(
        day,
        'camt053',
        `the amount ${amount} has more than ${AMOUNT_DIGITS_MAX} digits or more than ${AMOUNT_DECIMALS_MAX} decimals`,
      );
    return digits;
  };
  const inCurrency = (amount: string): string => `<Amt Ccy="${day.account.currency}">${plain(amount)}</Amt>`;
  return { plain, inCurrency };
}

type Amounts = ReturnType<typeof amountsOf>;

const balance = (code: string, amount: string, day: string, { inCurrency }: Amounts): string =>
  `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp>${inCurrency(amount)}` +
  `<CdtDbtInd>${direction(amount)}</CdtDbtInd><Dt><Dt>${day}</Dt></Dt></Bal>`;

function totals({ published: { figures } }: StatementDay, { plain }: Amounts): string {
  const { creditTotal, creditCount, debitTotal, debitCount } = figures;
  const net = subtractAmounts(creditTotal, debitTotal);
  return (
    `<TxsSummry><TtlNtries><NbOfNtries>${entriesIn(figures)}</NbOfNtries>` +
    `<Sum>${plain(addAmounts(creditTotal, debitTotal))}</Sum><TtlNetNtry><Amt>${plain(net)}</Amt>` +
    `<CdtDbtInd>${direction(net)}</CdtDbtInd></TtlNetNtry></TtlNtries>` +
    `<TtlCdtNtries><NbOfNtries>${creditCount}</NbOfNtries><Sum>${plain(creditTotal)}</Sum></TtlCdtNtries>` +
    `<TtlDbtNtries><NbOfNtries>${debitCount}</NbOfNtries><Sum>${plain(debitTotal)}</Sum></TtlDbtNtries></TxsSummry>`
  );
}

/** Day and revision as one number: a later revision, and a later day, has a higher one. */
const sequenceNumber = ({ day, published }: StatementDay): string =>
  day.replaceAll('-', '') + String(published.revision).padStart(3, '0');

/** Everything before the entries. */
function head(day: StatementDay, amounts: Amounts): string {
  const { account, published } = day;
  const { opening, closing } = published.figures;
  const created = `${published.publishedAt.toISOString().slice(0, 19)}Z`;
  const id = `${sequenceNumber(day)}-${account.currency}-${sha256Of(account.merchantNo).slice(0, 8)}`;
  return (
    `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="${NAMESPACE}"><BkToCstmrStmt>` +
    `<GrpHdr><MsgId>${id}</MsgId><CreDtTm>${created}</CreDtTm></GrpHdr>` +
    `<Stmt><Id>${id}</Id><ElctrncSeqNb>${sequenceNumber(day)}</ElctrncSeqNb><CreDtTm>${created}</CreDtTm>` +
    `<FrToDt><FrDtTm>${day.day}T00:00:00</FrDtTm><ToDtTm>${day.day}T23:59:59</ToDtTm></FrToDt>` +
    `<Acct><Id><Othr>${element('Id', account.merchantNo)}</Othr></Id><Ccy>${account.currency}</Ccy></Acct>` +
    balance('OPBD', opening, day.day, amounts) +
    balance('CLBD', closing, day.day, amounts) +
    `${totals(day, amounts)}\n`
  );
}

/** Each entry is a line of the file. */
function entryXml(cells: RowCells, at: Places, { inCurrency }: Amounts): string {
  const [batchNo, bookedAt, type] = [cells[at.batchNo]!, cells[at.bookedAt]!, cells[at.type] ?? ''];
  const credit = cells[at.credit]!;
  const day = bookedAt.slice(0, 10);
  const amount = inCurrency(credit || cells[at.debit]!);
  const own = element('AcctSvcrRef', reference(batchNo));
  const code = type === '' ? '' : `<Prtry><Cd>${xml(reference(type))}</Cd></Prtry>`;
  const text = pieces(type === '' ? batchNo : `${type} ${batchNo}`);
  return (
    `<Ntry><NtryRef>${xml(reference(batchNo))}</NtryRef>${amount}` +
    `<CdtDbtInd>${credit === '' ? 'DBIT' : 'CRDT'}</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>` +
    `<BookgDt><Dt>${day}</Dt></BookgDt><ValDt><Dt>${day}</Dt></ValDt>${own}<BkTxCd>${code}</BkTxCd>` +
    `<NtryDtls><TxDtls><Refs>${own}</Refs><RmtInf>${text.map((piece) => element('Ustrd', piece)).join('')}</RmtInf>` +
    `<RltdDts><TxDtTm>${bookedAt.replace(' ', 'T')}</TxDtTm></RltdDts></TxDtls></NtryDtls></Ntry>\n`
  );
}

/** What a reader has to know of the day, and where its proof is. */
function tail({ published: { revision, figures, file, sha256 } }: StatementDay): string {
  const { verdict, breakCount, restarted } = figures;
  const opening = restarted ? ', opening derived from the first entry' : '';
  const about = `daybook revision ${revision}, ${verdict}, breaks: ${breakCount}${opening}. ${file} SHA-256 ${sha256}`;
  return `${element('AddtlStmtInf', about)}</Stmt></BkToCstmrStmt></Document>\n`;
}

async function* write(day: StatementDay): AsyncGenerator<Uint8Array> {
  const amounts = amountsOf(day);
  const at = placesOf(day.columns);
  yield Buffer.from(head(day, amounts));
  for await (const rows of day.rows) {
    let text = '';
    for (const cells of rows) text += entryXml(cells, at, amounts);
    yield Buffer.from(text);
  }
  yield Buffer.from(tail(day));
}

export const CAMT053: StatementFormat = {
  name: 'camt053',
  extension: 'camt053.xml',
  contentType: 'application/xml',
  canBePublished: true,
  write,
};
