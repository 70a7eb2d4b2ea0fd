/** Fields of a statement as the messages that SWIFT allows: each short enough, balances carried from one to the next. */
import { addDays } from '../../../ledger/business-day.ts';
import type { BusinessDay } from '../../../ledger/entry.ts';
import { type StatementDay, FormatTooSmall } from '../format.ts';
import { sha256Of } from '../../../host/sha256.ts';
import { bankAmounts } from '../bank-amounts.ts';
import { swiftText } from './swift-text.ts';

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
export function swiftAmount(day: StatementDay, amount: string): string {
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

/** Day of the year and revision: 09002 is the 31st of March, revision 2. */
function statementNumber({ day, published }: StatementDay): string {
  const first = Date.parse(`${day.slice(0, 4)}-01-01T00:00:00Z`);
  const dayOfYear = (Date.parse(`${day}T00:00:00Z`) - first) / DAY_MS + 1;
  const revision = Math.min(published.revision, REVISION_SHOWN_MAX);
  return String(dayOfYear).padStart(3, '0') + String(revision).padStart(2, '0');
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

export interface Messages {
  /** Takes an entry's fields, complete lines, and the balance after it. */
  readonly add: (fields: string, balance: string) => void;
  /** Ends the last message, with its field 86. */
  readonly end: (fields: string) => void;
  /** What is finished since it was asked last. */
  readonly given: () => string;
}

/** The messages of a statement. `add` throws `FormatTooSmall` where they would be too many. */
export function createMessages(day: StatementDay, messagesMax = MESSAGES_MAX): Messages {
  const { account, published } = day;
  const { inUnits } = bankAmounts(day, 'mt940');
  const { currency } = account;
  const short = day.day.slice(2).replaceAll('-', '');
  const number = statementNumber(day);
  const named =
    `:20:${short}${currency}R${published.revision}`.slice(0, ':20:'.length + 16) +
    `${END}:25:${accountNumber(account)}${END}`;
  const balanceField = (amount: string, on: BusinessDay): string =>
    `${amount.startsWith('-') ? 'D' : 'C'}${on.slice(2).replaceAll('-', '')}${currency}` +
    swiftAmount(
      day,
      inUnits(amount, () => `the balance ${amount}`),
    );

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
        ? `:60F:${balanceField(reached, addDays(day.day, -1))}`
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
    add: (fields, balance) => {
      makeSpace(fields.length + CARRIED_CHARACTERS_MAX);
      message += fields;
      reached = balance;
    },
    end: (fields) => {
      const closing = `:62F:${balanceField(published.figures.closing, day.day)}${END}${fields}`;
      makeSpace(closing.length);
      done += message + closing + MESSAGE_END;
      message = '';
    },
    given: () => {
      const text = done;
      done = '';
      return text;
    },
  };
}
