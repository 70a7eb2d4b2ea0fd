/** Statements as ISO 20022 camt.053.001.08 (bank to customer statement), for ERPs: docs/decisions/formats.md. */
import { entriesIn } from '../../ledger/chain/figures.ts';
import { addAmounts, decimalsOf, subtractAmounts } from '../../ledger/money.ts';
import { isIban } from '../../ledger/names.ts';
import { sha256Of } from '../../host/sha256.ts';
import { bankAmounts, ofEntry, type BankAmounts, notesOf, writtenCurrency } from './bank-amounts.ts';
import { type RowCells } from '../../verify/csv.ts';
import {
  type StatementDay,
  FormatTooSmall,
  placesOf,
  REVERSED,
  type Places,
} from '../../statements/formats/format.ts';

/** What the schema allows in an amount. */
const AMOUNT_DIGITS_MAX = 18;
const AMOUNT_DECIMALS_MAX = 5;
/** Max35Text and Max140Text of the schema, in characters. */
const REFERENCE_MAX = 35;
const REMITTANCE_MAX = 140;
/** Max500Text. */
const ABOUT_MAX = 500;
/** Max34Text. */
const ACCOUNT_MAX = 34;
/** Max70Text, of an account's name. */
const ACCOUNT_NAME_MAX = 70;
/** Not available: some readers refuse a transaction code without one. */
const NO_TYPE = 'NTAV';
const NAMESPACE = 'urn:iso:std:iso:20022:tech:xsd:camt.053.001.08';

const MARKUP: Readonly<Record<string, string>> = {
  ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;' },
  ...{ '\t': '&#9;', '\n': '&#10;', '\r': '&#13;' },
};
const SPECIAL = /[&<>\u0000-\u001f\ufffe\uffff]/g;

/** What XML cannot hold: the rest of them, and halves of a character. */
const UNHOLDABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff\p{Surrogate}]/u;

const PLAIN = /^[\w .,:;/()+*#@=-]*$/;

/** A text as XML. What XML cannot hold becomes the replacement character. */
const xml = (text: string): string =>
  PLAIN.test(text) ? text : text.toWellFormed().replace(SPECIAL, (char) => MARKUP[char] ?? '\ufffd');

const element = (name: string, text: string): string =>
  text === '' ? '' : `<${name}>${xml(text)}</${name}>`;

/** Different for different names: one that is too long, or holds what XML cannot, ends with a digest of the complete name. */
function reference(name: string): string {
  if (name.length <= REFERENCE_MAX && PLAIN.test(name)) return name;
  const characters = Array.from(name);
  return characters.length <= REFERENCE_MAX && !UNHOLDABLE.test(name)
    ? name
    : `${characters.slice(0, REFERENCE_MAX - 9).join('')}~${sha256Of(name).slice(0, 8)}`;
}

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

const fits = (amount: string): boolean =>
  decimalsOf(unsigned(amount)) <= AMOUNT_DECIMALS_MAX &&
  unsigned(amount).replace('.', '').length <= AMOUNT_DIGITS_MAX;

/** Writes amounts of an account; throws `FormatTooSmall` if the schema, or the currency, does not allow one. */
function amountsOf(day: StatementDay, { inUnits }: BankAmounts) {
  const plain = (sent: string, what = () => `the amount ${sent}`): string => {
    const amount = inUnits(sent, what);
    if (!fits(amount))
      throw new FormatTooSmall(
        day,
        'camt053',
        `the amount ${amount} has more than ${AMOUNT_DIGITS_MAX} digits or more than ${AMOUNT_DECIMALS_MAX} decimals`,
      );
    return unsigned(amount);
  };
  const inCurrency = (amount: string, what?: () => string): string =>
    `<Amt Ccy="${writtenCurrency(day)}">${plain(amount, what)}</Amt>`;
  return { plain, inCurrency };
}

type Amounts = ReturnType<typeof amountsOf>;

const balance = (code: string, amount: string, day: string, { inCurrency }: Amounts): string =>
  `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp>${inCurrency(amount)}` +
  `<CdtDbtInd>${direction(amount)}</CdtDbtInd><Dt><Dt>${day}</Dt></Dt></Bal>`;

function totals({ published: { figures } }: StatementDay, { plain }: Amounts): string {
  const { creditTotal, creditCount, debitTotal, debitCount } = figures;
  /** The schema does not ask for it, so it is left out where it is too long. */
  const sum = (amount: string): string => (fits(amount) ? `<Sum>${plain(amount)}</Sum>` : '');
  const net = subtractAmounts(creditTotal, debitTotal);
  return (
    `<TxsSummry><TtlNtries><NbOfNtries>${entriesIn(figures)}</NbOfNtries>` +
    sum(addAmounts(creditTotal, debitTotal)) +
    (fits(net)
      ? `<TtlNetNtry><Amt>${plain(net)}</Amt><CdtDbtInd>${direction(net)}</CdtDbtInd></TtlNetNtry>`
      : '') +
    `</TtlNtries><TtlCdtNtries><NbOfNtries>${creditCount}</NbOfNtries>${sum(creditTotal)}</TtlCdtNtries>` +
    `<TtlDbtNtries><NbOfNtries>${debitCount}</NbOfNtries>${sum(debitTotal)}</TtlDbtNtries></TxsSummry>`
  );
}

/**
 * Day and revision as one number: a later revision has a higher one, and a later day up to revision 999. A month has day 00, and
 * the sum of its revisions.
 */
const sequenceNumber = ({ day, month }: StatementDay, revision: number): string =>
  (month === undefined ? day : `${month.name}-00`).replaceAll('-', '') + String(revision).padStart(3, '0');

/** Readers find an account by its number alone, so currency is part of it. One that is too long has a digest before the currency. */
function accountNumber({ merchantNo, currency }: StatementDay['account']): string {
  if (merchantNo.length + currency.length <= ACCOUNT_MAX) return merchantNo + currency;
  const kept = Array.from(merchantNo)
    .slice(0, ACCOUNT_MAX - currency.length - 9)
    .join('');
  return `${kept}~${sha256Of(merchantNo).slice(0, 8)}${currency}`;
}

/** By its IBAN or the identifier that a person gave it, else by number; with its name and owner, where they have one. */
function accountXml(day: StatementDay): string {
  const { account, names } = day;
  const { iban = '', name = '' } = names?.accounts.get(account.currency) ?? {};
  const id = isIban(iban)
    ? element('IBAN', iban)
    : `<Othr>${element('Id', iban === '' ? accountNumber(account) : iban)}</Othr>`;
  const reference = element('Id', names?.own.reference ?? '');
  const owner =
    element('Nm', names?.own.name ?? '') +
    (reference === '' ? '' : `<Id><OrgId><Othr>${reference}</Othr></OrgId></Id>`);
  return (
    `<Acct><Id>${id}</Id><Ccy>${writtenCurrency(day)}</Ccy>` +
    element('Nm', Array.from(name).slice(0, ACCOUNT_NAME_MAX).join('')) +
    `${owner === '' ? '' : `<Ownr>${owner}</Ownr>`}</Acct>`
  );
}

/** Of changes it ends with the revision that they follow, so that each pair of revisions has its own. */
const idOf = (day: StatementDay, revision: number): string =>
  reference(
    `${sequenceNumber(day, revision)}-${day.account.currency}-${sha256Of(day.account.merchantNo).slice(0, 8)}` +
      (day.since === undefined ? '' : `-S${day.since}`),
  );

function head(day: StatementDay, amounts: Amounts): string {
  const { published } = day;
  const { opening, closing } = published.figures;
  const created = `${published.publishedAt.toISOString().slice(0, 19)}Z`;
  const id = idOf(day, published.revision);
  const from = day.month?.days[0]?.day ?? day.day;
  return (
    `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="${NAMESPACE}"><BkToCstmrStmt>` +
    `<GrpHdr><MsgId>${id}</MsgId><CreDtTm>${created}</CreDtTm></GrpHdr>` +
    `<Stmt><Id>${id}</Id><ElctrncSeqNb>${sequenceNumber(day, published.revision)}</ElctrncSeqNb><CreDtTm>${created}</CreDtTm>` +
    `<FrToDt><FrDtTm>${from}T00:00:00</FrDtTm><ToDtTm>${day.day}T23:59:59</ToDtTm></FrToDt>` +
    accountXml(day) +
    balance('OPBD', opening, from, amounts) +
    balance('CLBD', closing, day.day, amounts) +
    `${totals(day, amounts)}\n`
  );
}

function entryXml(cells: RowCells, at: Places, { inCurrency }: Amounts): string {
  const [batchNo, bookedAt, type] = [cells[at.batchNo]!, cells[at.bookedAt]!, cells[at.type] ?? ''];
  const credit = cells[at.credit]!;
  const day = bookedAt.slice(0, 10);
  const sent = credit || cells[at.debit]!;
  const amount = inCurrency(sent, () => ofEntry(sent, batchNo));
  const reversal = cells[at.change] === REVERSED ? '<RvslInd>true</RvslInd>' : '';
  const own = element('AcctSvcrRef', reference(batchNo));
  const code = `<Prtry><Cd>${type === '' ? NO_TYPE : xml(reference(type))}</Cd></Prtry>`;
  const text = pieces(type === '' ? batchNo : `${type} ${batchNo}`);
  return (
    `<Ntry><NtryRef>${xml(reference(batchNo))}</NtryRef>${amount}` +
    `<CdtDbtInd>${credit === '' ? 'DBIT' : 'CRDT'}</CdtDbtInd>${reversal}<Sts><Cd>BOOK</Cd></Sts>` +
    `<BookgDt><Dt>${day}</Dt></BookgDt><ValDt><Dt>${day}</Dt></ValDt>${own}<BkTxCd>${code}</BkTxCd>` +
    `<NtryDtls><TxDtls><Refs>${own}</Refs><RmtInf>${text.map((piece) => element('Ustrd', piece)).join('')}</RmtInf>` +
    `<RltdDts><TxDtTm>${bookedAt.replace(' ', 'T')}</TxDtTm></RltdDts></TxDtls></NtryDtls></Ntry>\n`
  );
}

function tail(day: StatementDay): string {
  const { earlier, published } = day;
  const { file, sha256, reason } = published;
  const before = earlier.at(-1);
  const replaced =
    before === undefined ? '' : `. Replaces ${idOf(day, before.revision)}: ${reason ?? 'entries changed'}`;
  const named = day.month === undefined ? `. ${file} SHA-256 ${sha256}${replaced}` : '';
  const about = `${notesOf(day).join(', ')}${named}`;
  return `${element('AddtlStmtInf', Array.from(about).slice(0, ABOUT_MAX).join(''))}</Stmt></BkToCstmrStmt></Document>\n`;
}

export async function* writeCamt053(day: StatementDay): AsyncGenerator<Uint8Array> {
  const fitting = bankAmounts(day, 'camt053');
  const amounts = amountsOf(day, fitting);
  const at = placesOf(day.columns);
  await fitting.checkFigures(at);
  yield Buffer.from(head(day, amounts));
  for await (const rows of day.rows) {
    let text = '';
    for (const cells of rows) text += entryXml(cells, at, amounts);
    yield Buffer.from(text);
  }
  yield Buffer.from(tail(day));
}
