/** `statements get --month`: downloads a month as one ZIP, and proves each file while it is packed. */
import { basename, dirname } from 'node:path';
import type { Command } from 'commander';
import { EXIT, UsageError } from '../run/verdict/exit-codes.ts';
import { formatNote } from '../statements/fetch.ts';
import { monthOf, type Month, type ListedMonth } from '../statements/month.ts';
import { monthDownload, zippedMonth, type DayAsCsv } from '../statements/month-files.ts';
import type { StatementFormat } from '../statements/formats/format.ts';
import { fileOf } from '../statements/keys.ts';
import { recordAuditEvent } from '../store/audit.ts';
import { publishedMerchants } from '../store/statements/statements.ts';
import { offlineSettings, print, withApp, auditEventOf } from './context.ts';
import { download } from './download.ts';
import { currenciesOf, merchantsOf } from './range-flags.ts';
import { counted, lines } from './output/text.ts';

export interface MonthFlags {
  readonly month: string;
  readonly merchant: readonly string[];
  readonly currency: readonly string[];
  readonly out: string;
  readonly stdout?: boolean;
  readonly revision?: string;
  readonly forSpreadsheet?: boolean;
}

const OPEN_SHOWN_MAX = 20;
const AS_CSV_SHOWN_MAX = 10;

/** Throws `UsageError` for what is no month, or for a month without statements; `StatementDamaged`. */
export async function getMonth(flags: MonthFlags, format: StatementFormat, self: Command): Promise<void> {
  const month = monthOf(flags.month);
  if (month === null) throw new UsageError(`--month ${flags.month} is no month; write it as YYYY-MM.`);
  if (flags.revision !== undefined || flags.forSpreadsheet === true)
    throw new UsageError(
      '--month takes current revisions as published: leave --revision and --for-spreadsheet out.',
    );
  const currencies = currenciesOf(flags);
  await withApp(offlineSettings(self), async ({ database: { db }, objects, now }) => {
    const merchants = merchantsOf(flags) ?? (await publishedMerchants(db, month.from, month.to));
    const months = [];
    for (const merchantNo of merchants)
      months.push(await monthDownload({ db, objects, format, now }, { merchantNo, month, currencies, now }));
    const accounts = months.flatMap((one) => one.accounts);
    const files = months.flatMap((one) => one.files);
    if (files.length === 0) {
      throw new UsageError(
        `nothing was published of ${month.name} for what is asked; \`daybook statements list --from ${month.from} ` +
          `--to ${month.to}\` shows what was.`,
      );
    }
    await recordAuditEvent(
      db,
      auditEventOf(
        self,
        [month.name, ...flags.merchant, ...(currencies ?? [])].join(' '),
        formatNote(format),
      ),
      now(),
    );
    const asCsv: DayAsCsv[] = [];
    const bytes = zippedMonth(month, accounts, files, (day) => asCsv.push(day));
    if (flags.stdout === true) {
      for await (const part of bytes) process.stdout.write(part);
      if (asCsv.length === 0) return;
      process.stderr.write(`${lines(...asCsvLines(asCsv))}\n`);
      process.exitCode = EXIT.needsPerson;
      return;
    }
    const path = await download(bytes, ...placeOf(flags, month));
    const open = accounts.filter(({ openDays }) => openDays.length > 0);
    print(self, {
      document: {
        ...{ path, month: month.name, files: files.length, accounts: accounts.map(accountDocument) },
        ...(asCsv.length === 0 ? {} : { asCsv }),
      },
      text: lines(
        path,
        `${counted(files.length, 'file')} of ${counted(accounts.length, 'account')}`,
        ...open
          .slice(0, OPEN_SHOWN_MAX)
          .map(
            ({ merchantNo, currency, openDays }) =>
              `still open: ${merchantNo} ${currency} ${counted(openDays.length, 'day')}, first ${openDays[0]!}`,
          ),
        open.length > OPEN_SHOWN_MAX && `and ${open.length - OPEN_SHOWN_MAX} more accounts`,
        ...asCsvLines(asCsv),
      ),
      exitCode: asCsv.length === 0 ? EXIT.done : EXIT.needsPerson,
    });
  });
}

const asCsvLines = (days: readonly DayAsCsv[]): (string | false)[] => [
  ...days.slice(0, AS_CSV_SHOWN_MAX).map(({ key, why }) => `${why} The ZIP has ${fileOf(key)} instead.`),
  days.length > AS_CSV_SHOWN_MAX && `and ${days.length - AS_CSV_SHOWN_MAX} more days, which the ZIP names`,
];

const accountDocument = ({ merchantNo, currency, statements, openDays }: ListedMonth) => ({
  merchantNo,
  currency,
  days: statements.length,
  openDays,
});

/** Where the ZIP goes. `--out` names the ZIP or its folder. */
function placeOf({ out, merchant }: MonthFlags, { name }: Month): [folder: string, file: string] {
  if (out.endsWith('.zip')) return [dirname(out), basename(out)];
  return [out, `statements-${name}${merchant.length === 1 ? `-${merchant[0]!}` : ''}.zip`];
}
