/** Statements as SWIFT MT940, for older ERPs: docs/decisions/formats.md. */
import anyAscii from 'any-ascii';
import { addDays } from '../../ledger/business-day.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import { addAmounts, subtractAmounts } from '../../ledger/money.ts';
import {
  type StatementDay,
  FormatTooSmall,
  placesOf,
  REVERSED,
  type Places,
} from '../../statements/formats/format.ts';
import { type RowCells } from '../../verify/csv.ts';
import { sha256Of } from '../../host/sha256.ts';
import { bankAmounts, ofEntry, type BankAmounts, notesOf, writtenCurrency } from './bank-amounts.ts';

/** Set X without line ends. */
const ALLOWED = /^[A-Za-z0-9/\-?:().,'+ ]*$/;
const OTHERS = /[^A-Za-z0-9/\-?:().,'+ ]/g;
const LIKE: Readonly<Record<string, string>> = {
  ...{ _: '-', '"': "'", '`': "'", '&': '+', '@': '(at)', '[': '(', ']': ')', '{': '(', '}': ')' },
  ...{ ';': ',', '!': '.', '=': '-', '|': '/', '\\': '/' },
};

const spelled = (character: string): string =>
  (anyAscii(character) || '.').replace(OTHERS, (one) => LIKE[one] ?? '.');

/** The text in SWIFT's characters: Größe becomes Grosse, 支付 becomes ZhiFu. */
export const swiftText = (text: string): string =>
  ALLOWED.test(text) ? text : Array.from(text, spelled).join('');

const LINE_CHARACTERS_MAX = 65;
const LINES_MAX = 6;
/** Some readers take 390 characters with the ends of lines, and cut the rest. */
const TEXT_CHARACTERS_MAX = LINES_MAX * LINE_CHARACTERS_MAX - (LINES_MAX - 1);
const CUT = '...';
/** A line that begins so would be read as a field or as the end of the message. */
const STARTS_NO_LINE = /^[:-]/;

/** The lines of a field 86. What does not fit is cut, and ends with dots. */
export function linesOf(text: string): string[] {
  const lines: string[] = [];
  let rest = text.length <= TEXT_CHARACTERS_MAX ? text : cut(text, TEXT_CHARACTERS_MAX);
  while (rest !== '' && lines.length < LINES_MAX) {
    let end = LINE_CHARACTERS_MAX;
    while (end > 1 && STARTS_NO_LINE.test(rest.slice(end))) end -= 1;
    if (end === 1) end = LINE_CHARACTERS_MAX;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).replace(STARTS_NO_LINE, '.');
  }
  // Lines that had to end early leave too little space.
  if (rest !== '') lines.push(cut(lines.pop()!, LINE_CHARACTERS_MAX));
  return lines;
}

const cut = (text: string, length: number): string => text.slice(0, length - CUT.length) + CUT;

const END = '\r\n';
const MESSAGE_END = `-${END}`;
const MESSAGE_CHARACTERS_MAX = 2_000;
/** Of `:62M:C260331USD`, an amount and the line's end. */
const CARRIED_CHARACTERS_MAX = 32;
/** 28C has five digits for the message's number. */
const MESSAGES_MAX = 99_999;
/** 15d: digits and the comma. */
const AMOUNT_CHARACTERS_MAX = 15;
/** 25 is 35x. */
const ACCOUNT_CHARACTERS_MAX = 35;
/** No number of a merchant may resemble a shortened one. */
const LIKE_DIGEST = /\+[0-9A-F]{8}$/;
const DAY_MS = 86_400_000;
/** 28C has five digits for the statement's number: three for the day of the year, two for the revision. */
const REVISION_SHOWN_MAX = 99;

/** `1234,50`, without a sign; `1234,` without decimals. Throws `FormatTooSmall` if it is too long. */
function swiftAmount(day: StatementDay, amount: string): string {
  const digits = amount.replace(/^-/, '');
  const text = digits.includes('.') ? digits.replace('.', ',') : `${digits},`;
  if (text.length > AMOUNT_CHARACTERS_MAX)
    throw new FormatTooSmall(
      day,
      'mt940',
      `the amount ${amount} has more than the ${AMOUNT_CHARACTERS_MAX} characters of its field`,
    );
  return text;
}

/** Day of the year and revision: 09002 is the 31st of March, revision 2. A month has 4 and its number instead: 40331. */
function statementNumber({ day, published, month }: StatementDay): string {
  const first = Date.parse(`${day.slice(0, 4)}-01-01T00:00:00Z`);
  const dayOfYear = (Date.parse(`${day}T00:00:00Z`) - first) / DAY_MS + 1;
  const revision = Math.min(published.revision, REVISION_SHOWN_MAX);
  const period = month === undefined ? String(dayOfYear).padStart(3, '0') : `4${month.name.slice(-2)}`;
  return period + String(revision).padStart(2, '0');
}

/**
 * Merchant and currency: readers find an account by them. A number that does not fit, or holds other characters than those
 * of SWIFT, ends with a plus sign and a digest, so that different accounts stay different.
 */
function accountNumber({ merchantNo, currency }: StatementDay['account']): string {
  const spelled = swiftText(merchantNo);
  const space = ACCOUNT_CHARACTERS_MAX - currency.length;
  if (spelled === merchantNo && spelled.length <= space && !LIKE_DIGEST.test(spelled))
    return spelled + currency;
  const digest = `+${sha256Of(merchantNo).slice(0, 8).toUpperCase()}`;
  return spelled.slice(0, space - digest.length) + digest + currency;
}

/** The messages of a statement. `add` throws `FormatTooSmall` where they would be too many. */
export function createMessages(day: StatementDay, messagesMax = MESSAGES_MAX) {
  const { account, published } = day;
  const { inUnits } = bankAmounts(day, 'mt940');
  const { currency } = account;
  const short = day.day.slice(2).replaceAll('-', '');
  const number = statementNumber(day);
  const own = `${day.month === undefined ? short : short.slice(0, 4)}${currency}R${published.revision}`;
  const from = day.month?.days[0]?.day ?? day.day;
  // Cut, pairs of revisions could share it.
  const referenceOfDay =
    day.since === undefined ? own.slice(0, REFERENCE_MAX) : referenceOf(`${own}S${day.since}`);
  const named = `:20:${referenceOfDay}${END}:25:${accountNumber(account)}${END}`;
  const balanceField = (amount: string, on: BusinessDay): string => {
    const inCurrency = inUnits(amount, () => `the balance ${amount}`);
    const side = amount.startsWith('-') ? 'D' : 'C';
    return side + on.slice(2).replaceAll('-', '') + writtenCurrency(day) + swiftAmount(day, inCurrency);
  };

  let done = '';
  let message = '';
  let messages = 0;
  let reached = published.figures.opening;

  const open = (): void => {
    messages += 1;
    if (messages > messagesMax)
      throw new FormatTooSmall(
        day,
        'mt940',
        `it has too many entries for ${messagesMax} messages of ${MESSAGE_CHARACTERS_MAX} characters`,
      );
    const opening =
      messages === 1
        ? `:60F:${balanceField(reached, day.since === undefined ? addDays(from, -1) : day.day)}`
        : `:60M:${balanceField(reached, day.day)}`;
    message = `${named}:28C:${number}/${String(messages).padStart(5, '0')}${END}${opening}${END}`;
  };
  /** Begins a new message where so many characters more do not fit into this one. */
  const makeSpace = (characters: number): void => {
    if (message.length + characters + MESSAGE_END.length <= MESSAGE_CHARACTERS_MAX) return;
    done += `${message}:62M:${balanceField(reached, day.day)}${END}${MESSAGE_END}`;
    open();
  };

  open();
  return {
    add: (fields: string, balance: string): void => {
      makeSpace(fields.length + CARRIED_CHARACTERS_MAX);
      message += fields;
      reached = balance;
    },
    end: (fields: string): void => {
      const closing = `:62F:${balanceField(published.figures.closing, day.day)}${END}${fields}`;
      makeSpace(closing.length);
      done += message + closing + MESSAGE_END;
      message = '';
    },
    given: (): string => {
      const text = done;
      done = '';
      return text;
    },
  };
}

const REFERENCE_MAX = 16;

/**
 * The reference of an entry: its batch number, if that fits and holds no slash that would end the field; otherwise its
 * beginning and a digest, so that different numbers stay different.
 */
function referenceOf(batchNo: string, spelled = batchNo): string {
  const fits = spelled.length <= REFERENCE_MAX && !/^[/ ]|[/ ]$|\/\//.test(spelled);
  if (fits && spelled === batchNo) return spelled;
  const beginning = spelled.replace(/[^A-Za-z0-9]/g, '').slice(0, REFERENCE_MAX - 9);
  return `${beginning}.${sha256Of(batchNo).slice(0, 8).toUpperCase()}`;
}

/** `C` and `D`; of a reversal `RD` and `RC`, which name the side of what is taken back. */
const markOf = (isCredit: boolean, isReversal: boolean): string =>
  isReversal ? (isCredit ? 'RD' : 'RC') : isCredit ? 'C' : 'D';

function entryOf(day: StatementDay, cells: RowCells, at: Places, { inUnits }: BankAmounts) {
  const [batchNo, bookedAt, type] = [cells[at.batchNo]!, cells[at.bookedAt]!, cells[at.type] ?? ''];
  const credit = cells[at.credit]!;
  const [, month, date] = bookedAt.slice(0, 10).split('-');
  const booked = `${bookedAt.slice(2, 4)}${month!}${date!}${month!}${date!}`;
  const spelled = swiftText(batchNo);
  const details = `${spelled} ${bookedAt.slice(11)} ${swiftText(type)}`.trimEnd();
  const sent = credit || cells[at.debit]!;
  const inCurrency = inUnits(sent, () => ofEntry(sent, batchNo));
  const amount = swiftAmount(day, inCurrency);
  return {
    text:
      `:61:${booked}${markOf(credit !== '', cells[at.change] === REVERSED)}${amount}NMSCNONREF//${referenceOf(batchNo, spelled)}${END}` +
      `:86:${linesOf(details).join(END)}${END}`,
    isSpelled: details !== `${batchNo} ${bookedAt.slice(11)} ${type}`.trimEnd(),
  };
}

function about(day: StatementDay, spelled: number): string {
  const { published, earlier } = day;
  const { reason } = published;
  const before = earlier.at(-1);
  return swiftText(
    [
      ...notesOf(day),
      ...(spelled > 0 ? [`texts of ${spelled} entries are spelled in the characters of SWIFT`] : []),
      ...(before === undefined
        ? []
        : [`replaces revision ${before.revision}: ${reason ?? 'entries changed'}`]),
    ].join(', '),
  );
}

const balanceAfter = (before: string, cells: RowCells, at: Places): string =>
  subtractAmounts(addAmounts(before, cells[at.credit] || '0'), cells[at.debit] || '0');

export async function* writeMt940(day: StatementDay): AsyncGenerator<Uint8Array> {
  const at = placesOf(day.columns);
  const amounts = bankAmounts(day, 'mt940');
  await amounts.checkFigures(at);
  const messages = createMessages(day);
  let spelled = 0;
  let reached = day.published.figures.opening;
  for await (const rows of day.rows) {
    for (const cells of rows) {
      const { text, isSpelled } = entryOf(day, cells, at, amounts);
      reached = day.since === undefined ? cells[at.balance]! : balanceAfter(reached, cells, at);
      messages.add(text, reached);
      if (isSpelled) spelled += 1;
    }
    yield Buffer.from(messages.given());
  }
  messages.end(`:86:${linesOf(about(day, spelled)).join(END)}${END}`);
  yield Buffer.from(messages.given());
}
