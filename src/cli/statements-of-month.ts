/** `statements get --month` as one file: an account's month in a format that holds one, or a merchant's as a workbook. */
import type { Command } from 'commander';
import { UsageError } from '../run/verdict/exit-codes.ts';
import { accountMonthFile } from '../months/account-month.ts';
import { formatNote } from '../statements/fetch.ts';
import type { MonthFormat, StatementFormat } from '../statements/formats/format.ts';
import { overviewName } from '../statements/keys.ts';
import { listedMonth } from '../months/month-files.ts';
import { stretches, type ListedMonth, type Month } from '../months/month.ts';
import type { Chosen } from '../ledger/account-filter.ts';
import { recordAuditEvent } from '../store/audit.ts';
import { monthSubject } from '../store/downloaded.ts';
import { namesOfMerchant } from '../store/names.ts';
import { answer, auditEventOf, type CommandOutput, type StoreWork } from './context.ts';
import { download } from './download.ts';
import { counted, lines } from './output/text.ts';

interface Destination {
  readonly out: string;
  readonly stdout?: boolean;
}

interface MonthOfMerchant {
  readonly merchantNo: string;
  readonly month: Month;
  readonly currencies: Chosen;
}

/** A file, and what is said of it on the way. */
interface MadeFile {
  readonly name: string;
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly text: string;
  readonly document: Readonly<Record<string, unknown>>;
}

/** The account is the only one of `currencies`. Throws `UsageError` where nothing was published of it. */
export const getAccountMonth = (
  destination: Destination,
  asked: MonthOfMerchant,
  format: StatementFormat,
  self: Command,
): Promise<void> =>
  answer(self, async (work) => {
    const [account] = await publishedAccounts(work, asked);
    const { merchantNo, currency } = account!;
    const names = await namesOfMerchant(work.db, merchantNo);
    const { name, read } = accountMonthFile(work.objects, account!, asked.month, { format, names });
    await recordDownload(work, self, asked, formatNote(format));
    return delivered(destination, {
      ...{ name, bytes: read() },
      text: lines(daysText(account!), ...openLines([account!])),
      document: {
        ...{ month: asked.month.name, merchantNo, currency, format: format.name },
        ...daysDocument(account!),
      },
    });
  });

/** All accounts that are asked for. Throws `UsageError` where nothing was published of them. */
export const getWorkbook = (
  destination: Destination,
  asked: MonthOfMerchant,
  format: MonthFormat,
  self: Command,
): Promise<void> =>
  answer(self, async (work) => {
    const accounts = await publishedAccounts(work, asked);
    const { merchantNo, month, currencies } = asked;
    const made = await format.make(work, { merchantNo, month: month.name, currencies, now: work.now });
    await recordDownload(work, self, asked, `as ${format.name}`);
    return delivered(destination, {
      ...{ name: overviewName(format, month.name, merchantNo), bytes: made! },
      text: lines(...accounts.map(daysText), ...openLines(accounts)),
      document: {
        ...{ month: month.name, merchantNo, format: format.name },
        accounts: accounts.map((account) => ({ currency: account.currency, ...daysDocument(account) })),
      },
    });
  });

async function publishedAccounts(
  work: Pick<StoreWork, 'db' | 'now'>,
  { merchantNo, month, currencies }: MonthOfMerchant,
): Promise<ListedMonth[]> {
  const { accounts } = await listedMonth(work, merchantNo, month, currencies);
  const published = accounts.filter(({ statements }) => statements.length > 0);
  if (published.length > 0) return published;
  throw new UsageError(
    `nothing was published of ${month.name} for what is asked; \`daybook statements list --from ${month.from} ` +
      `--to ${month.to}\` shows what was.`,
  );
}

const recordDownload = (
  { db, now }: StoreWork,
  self: Command,
  { merchantNo, month, currencies }: MonthOfMerchant,
  note: string | undefined,
): Promise<unknown> => {
  const subject = monthSubject(month.name, [merchantNo], currencies ?? []);
  return recordAuditEvent(db, auditEventOf(self, subject, note), now());
};

/** Prints a file, or puts it into its folder; what is said of it goes with it. */
export async function delivered(
  { out, stdout }: Destination,
  { name, bytes, text, document }: MadeFile,
): Promise<CommandOutput | null> {
  if (stdout === true) {
    for await (const part of bytes) process.stdout.write(part);
    process.stderr.write(`${text}\n`);
    return null;
  }
  const path = await download(bytes, out, name);
  return { document: { path, ...document }, text: lines(path, text) };
}

const daysText = ({ merchantNo, currency, statements }: ListedMonth): string =>
  `${counted(statements.length, 'day')} of ${merchantNo} ${currency}: revision ${revisionsText(statements)}`;

const daysDocument = ({ statements, openDays }: ListedMonth) => ({
  days: statements.map(({ day, revision, sha256 }) => ({ day, revision, sha256 })),
  openDays,
});

/** `2 of 2026-03-02, 1 of 2026-03-03/2026-03-05` */
const revisionsText = (statements: ListedMonth['statements']): string =>
  [...Map.groupBy(statements, ({ revision }) => revision)]
    .map(([revision, rows]) => `${revision} of ${stretches(rows.map(({ day }) => day)).join(' ')}`)
    .join(', ');

const OPEN_SHOWN_MAX = 20;

export function openLines(accounts: readonly ListedMonth[]): (string | false)[] {
  const open = accounts.filter(({ openDays }) => openDays.length > 0);
  return [
    ...open
      .slice(0, OPEN_SHOWN_MAX)
      .map(
        ({ merchantNo, currency, openDays }) =>
          `still open: ${merchantNo} ${currency} ${counted(openDays.length, 'day')}, first ${openDays[0]!}`,
      ),
    open.length > OPEN_SHOWN_MAX && `and ${open.length - OPEN_SHOWN_MAX} more accounts`,
  ];
}
