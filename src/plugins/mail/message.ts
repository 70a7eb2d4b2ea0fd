/** What a person gets: a short text with the sums, and the files, or a link to the page in their place. */
import type { SendMailOptions } from 'nodemailer';
import { sha256Of } from '../../host/sha256.ts';
import { grouped, moneyText } from '../../ledger/money.ts';
import { namesOfAccount, type MerchantNames } from '../../ledger/names.ts';
import { counted } from '../../ledger/text.ts';
import { wallSecond } from '../../ledger/wall-time.ts';
import { firstBytes } from '../../objects/object-store.ts';
import type { MailedStatements } from './recipients.ts';
import { accountMonthFile } from '../../months/account-month.ts';
import { inFormat } from '../../statements/fetch.ts';
import { formatWith, MONTH_FORMATS, STATEMENT_FORMATS } from '../../statements/formats/all.ts';
import { CSV } from '../../statements/formats/csv.ts';
import { FormatTooSmall } from '../../statements/formats/format.ts';
import { accountMonthName, nameIn } from '../../statements/keys.ts';
import { fileOf } from '../../verify/names.ts';
import { monthOf } from '../../months/month.ts';
import { namesOfMerchant } from '../../store/names.ts';
import { statementsOfDay } from '../../store/statements/statements.ts';
import { manifestOfDay } from '../../store/statements/stored-files.ts';
import { addressWith, dayAddress, monthAddress } from '../pages/html/addresses.ts';
import type { Mailing, ProvenPeriod } from './due.ts';
import type { MailedContent, MailKey, MailRow, Period } from './stored.ts';

/** Files of one mail together. Encoded they are a third larger, and many servers take 25 MB. */
const ATTACHED_BYTES_MAX = 15_000_000;

interface File {
  readonly name: string;
  readonly contentType: string;
  readonly read: () => AsyncIterable<Uint8Array> | Promise<AsyncIterable<Uint8Array>>;
}

interface Attached extends Pick<File, 'name' | 'contentType'> {
  readonly bytes: Buffer;
}

interface NamedPeriod extends ProvenPeriod {
  /** Names that people gave to the merchant and its accounts. */
  readonly names: MerchantNames | undefined;
}

/** The files in the formats asked for. */
const filesOf = (mailing: Mailing, named: NamedPeriod, formats: readonly string[]): Promise<File[]> =>
  Promise.all(
    formats.map(async (format) =>
      isMonth(named) ? monthFile(mailing, named, format) : dayFile(mailing, named, format),
    ),
  );

async function dayFile(
  { db, objects, bankCurrencies }: Mailing,
  { statements, names }: NamedPeriod,
  name: string,
): Promise<File> {
  const [row] = statements;
  const format = formatWith(
    STATEMENT_FORMATS.find((one) => one.name === name)!,
    bankCurrencies,
  );
  const recorded = await manifestOfDay(db, row!.merchant_no, row!.day);
  const ofDay = (await statementsOfDay(db, row!.merchant_no, row!.day)).filter(
    ({ currency }) => currency === row!.currency,
  );
  const { read } = inFormat(objects, row!, format, { recorded, ofDay, names });
  return { name: nameIn(format, fileOf(row!.object_key)), contentType: format.contentType, read };
}

function monthFile({ db, objects, now, bankCurrencies }: Mailing, named: NamedPeriod, name: string): File {
  const { merchantNo, currency, period, statements, names } = named;
  const known = STATEMENT_FORMATS.find((one) => one.name === name);
  const format = known && formatWith(known, bankCurrencies);
  if (format?.holdsMonth === true) {
    const account = { merchantNo, currency, statements };
    const file = accountMonthFile(objects, account, monthOf(period)!, { format, names });
    return { ...file, contentType: format.contentType };
  }
  const own = MONTH_FORMATS.find((one) => one.name === name);
  const asked = { merchantNo, month: period, currencies: [currency], now };
  const { contentType } = own ?? format!;
  return {
    name: accountMonthName(own ?? format!, period, { merchantNo, currency }),
    contentType,
    read: async () => (await (own?.make({ db, objects }, asked) ?? format!.month!(db, asked)))!,
  };
}

/** Null where they are more than a mail takes. Throws what reading a statement throws. */
async function attachedFiles(
  mailing: Mailing,
  named: NamedPeriod,
  formats: readonly string[],
): Promise<Attached[] | null> {
  const attached: Attached[] = [];
  let left = mailing.attachedBytesMax ?? ATTACHED_BYTES_MAX;
  for (const { name, contentType, read } of await filesOf(mailing, named, formats)) {
    const { bytes, rest } = await firstBytes(await read(), left);
    left -= bytes.byteLength;
    if (rest !== null || left < 0) {
      await rest?.return?.();
      return null;
    }
    attached.push({ name, contentType, bytes });
  }
  return attached;
}

/** A day or month that a format cannot hold is there as CSV, with the reason. */
async function attachedOrCsv(mailing: Mailing, named: NamedPeriod, formats: readonly string[]) {
  try {
    return { files: await attachedFiles(mailing, named, formats), tooSmall: null };
  } catch (error) {
    if (!(error instanceof FormatTooSmall)) throw error;
    return { files: await attachedFiles(mailing, named, [CSV.name]), tooSmall: error.message };
  }
}

export interface MailAsked {
  readonly to: Pick<MailedStatements, 'to' | 'as' | 'formats'>;
  readonly proven: ProvenPeriod;
  readonly revision: number;
  readonly messageId: string;
  /** The mail of the same period that the person has; undefined for the first one. */
  readonly before: Pick<MailRow, 'revision' | 'content' | 'endedAt'> | undefined;
  /** Leaves the files out, as the server did not take them. */
  readonly withoutFiles: boolean;
  /** Why a copy is sent again; null where it is not. */
  readonly reason: string | null;
}

/** Throws what reading a statement throws. */
export async function messageOf(mailing: Mailing, asked: MailAsked): Promise<SendMailOptions> {
  const { from } = mailing;
  const { to, proven, messageId, withoutFiles } = asked;
  const isFile = to.as === 'file' && !withoutFiles;
  const names = await namesOfMerchant(mailing.db, proven.merchantNo);
  const { files, tooSmall } = isFile
    ? await attachedOrCsv(mailing, { ...proven, names }, to.formats)
    : { files: null, tooSmall: null };
  return {
    from,
    to: { name: '', address: to.to },
    envelope: { from, to: to.to },
    subject: subjectOf(asked),
    text: [
      ...sumLines(asked, namesOfAccount(names, proven.currency)),
      '',
      ...(files === null ? linkLines(mailing, asked) : fileLines(files)),
      ...(tooSmall === null ? [] : [tooSmall]),
    ].join('\n'),
    messageId,
    // A mailbox shows the revisions of one period as one conversation.
    references: `<${threadOf(mailing, proven)}@daybook>`,
    headers: { 'Auto-Submitted': 'auto-generated' },
    attachments: (files ?? []).map(({ name: filename, contentType, bytes: content }) => ({
      filename,
      contentType,
      content,
    })),
  };
}

const threadOf = (
  { installation }: Pick<Mailing, 'installation'>,
  { merchantNo, currency, period }: Period,
): string => sha256Of(JSON.stringify([installation, merchantNo, currency, period])).slice(0, 32);

/** The same each time, so that a mail that is sent twice after a crash is known as the same one. */
export const messageIdOf = ({ installation }: Pick<Mailing, 'installation'>, key: MailKey): string => {
  const { recipient, merchantNo, currency, period, revision } = key;
  const text = JSON.stringify([installation, recipient, merchantNo, currency, period, revision]);
  return `<${sha256Of(text).slice(0, 40)}@daybook>`;
};

export const isMonth = ({ period }: Period): boolean => period.length === '2026-03'.length;

function subjectOf({ proven, before, revision, reason }: MailAsked): string {
  const { merchantNo, currency, period } = proven;
  const what = `statement of ${merchantNo} in ${currency} for ${period}`;
  if (reason !== null) return `Copy: ${what}`;
  if (before === undefined) return `S${what.slice(1)}`;
  return isMonth(proven) ? `Revised: ${what}` : `Revised: ${what}, revision ${revision}`;
}

function sumLines({ proven, before, revision, reason }: MailAsked, names: string): string[] {
  const { merchantNo, currency, period, statements, content, zone } = proven;
  const breaks = statements.reduce((sum, row) => sum + row.break_count, 0);
  const days = isMonth(proven) ? counted(statements.length, 'day') : `revision ${revision}`;
  return [
    `Statement of merchant ${merchantNo} in ${currency} for ${period} (${days})`,
    ...(names === '' ? [] : [names]),
    '',
    ...(reason === null ? [] : [`This is a copy. Reason: ${reason}`, '']),
    ...(before === undefined ? [] : [...replacesLines(proven, { before, revision }), '']),
    ...figureLines(content, before?.content, currency),
    `Breaks: ${breaks === 0 ? 'none' : `${breaks}, all resolved`}`,
    '',
    `Every ${isMonth(proven) ? 'day of the month' : 'entry of the day'} was read, and ` +
      `${breaks === 0 ? 'the balances agree' : 'each break was resolved with a note'}. Days are those of ${zone}.`,
  ];
}

const FIGURES = [
  ['Opening balance', ({ sums }: MailedContent) => sums.opening!, null],
  ['Credits', ({ sums }: MailedContent) => sums.creditTotal, ({ sums }: MailedContent) => sums.creditCount],
  ['Debits', ({ sums }: MailedContent) => sums.debitTotal, ({ sums }: MailedContent) => sums.debitCount],
  ['Closing balance', ({ sums }: MailedContent) => sums.closing!, null],
] as const;

/** One line a figure; where it changed, with what it was before. */
const figureLines = (now: MailedContent, before: MailedContent | undefined, currency: string): string[] =>
  FIGURES.map(([name, amountOf, countOf]) => {
    const text = (of: MailedContent): string =>
      moneyText(amountOf(of), currency) + (countOf === null ? '' : ` (${grouped(String(countOf(of)))})`);
    const was = before === undefined || text(before) === text(now) ? '' : `, before ${text(before)}`;
    return `${name}: ${text(now)}${was}`;
  });

const DAYS_NAMED_MAX = 31;

function replacesLines(
  { statements, content, zone, ...period }: ProvenPeriod,
  { before, revision }: { readonly before: NonNullable<MailAsked['before']>; readonly revision: number },
): string[] {
  const sent = before.endedAt === null ? '' : ` of ${wallSecond(before.endedAt.getTime(), zone)}`;
  if (!isMonth(period)) {
    const reason = statements[0]?.reason ?? null;
    return [
      `Revision ${revision} replaces revision ${before.revision} in the mail${sent}.` +
        (reason === null ? '' : ` Reason: ${reason}.`),
    ];
  }
  const revised = Object.entries(content.days).filter(([day, one]) => before.content.days[day] !== one);
  const named = revised.slice(0, DAYS_NAMED_MAX).map(([day, one]) => {
    const was = before.content.days[day];
    return was === undefined ? `${day} (new)` : `${day} (revision ${was} to ${one})`;
  });
  return [`This replaces the mail${sent}. Days that changed: ${named.join(', ')}.`];
}

const fileLines = (files: readonly Attached[]): string[] =>
  files.flatMap(({ name, bytes }) => [`Attached: ${name}`, `SHA-256: ${sha256Of(bytes)}`]);

function linkLines({ pagesUrl }: Mailing, { to, proven, revision }: MailAsked): string[] {
  const { merchantNo, currency, period } = proven;
  const tooLarge = to.as === 'file' ? ['The files are too large for a mail.'] : [];
  if (pagesUrl === null)
    return [...tooLarge, `Ask who runs daybook for them: ${period}, revision ${revision}.`];
  const address = isMonth(proven)
    ? monthAddress(merchantNo, period)
    : addressWith(dayAddress({ merchantNo, currency }, period), { revision: proven.statements[0]!.revision });
  return [...tooLarge, `The statement with its files, after a login: ${pagesUrl}${address}`];
}
