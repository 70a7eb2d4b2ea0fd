/** `statements get`: downloads a day's statement, or a month as one ZIP, and proves each file. */
import { frozenBy } from '../months/files.ts';
import { basename, dirname } from 'node:path';
import { Option, type Command } from 'commander';
import { bytesOf } from '../objects/object-store.ts';
import { EXIT, UsageError } from '../run/verdict/exit-codes.ts';
import { changesBetween, monthChanges, zippedChanges, type DayChanges } from '../months/changes-since.ts';
import { formatNote, inFormat } from '../statements/fetch.ts';
import { formatWith, MONTH_FORMATS, SPREADSHEET, STATEMENT_FORMATS } from '../statements/formats/all.ts';
import { CSV } from '../statements/formats/csv.ts';
import type { StatementFormat } from '../statements/formats/format.ts';
import { fileOf, manifestFileNextTo, manifestKey, SIGNATURE_EXTENSION } from '../verify/names.ts';
import { monthZipName, nameIn } from '../statements/keys.ts';
import { monthDownload, zippedMonth, type DayAsCsv } from '../months/month-files.ts';
import type { ListedMonth, Month } from '../months/month.ts';
import { isUnsigned } from '../statements/write-manifest.ts';
import { recordAuditEvent } from '../store/audit.ts';
import { monthSubject } from '../store/downloaded.ts';
import { namesOfMerchant } from '../store/names.ts';
import {
  publishedMerchants,
  statementOf,
  statementsOfDay,
  type StatementRow,
} from '../store/statements/statements.ts';
import { manifestOfDay, type ManifestRow } from '../store/statements/stored-files.ts';
import {
  answer,
  auditEventOf,
  offlineSettings,
  collect,
  withBy,
  type CommandOutput,
  type StoreWork,
} from './context.ts';
import { download } from './download.ts';
import { currenciesOf, currencyFlag, dayFlag, merchantsOf, monthFlag } from './flags.ts';
import { counted, lines } from './output/text.ts';
import { delivered, getAccountMonth, getWorkbook, openLines } from './statements-of-month.ts';

export function addStatementsGetCommand(statements: Command): void {
  withBy(statements.command('get'))
    .description('download a statement, or a month, verified against the manifest')
    .option('--merchant <no>', 'merchant number (of a month: may be repeated, or left out)', collect, [])
    .option('--currency <code>', 'currency, like USD (of a month: may be repeated, or left out)', collect, [])
    .option('--day <day>', 'day, YYYY-MM-DD')
    .option(
      '--month <month>',
      'a month, YYYY-MM, as one ZIP with a summary and its manifests; with one --merchant, one --currency and --format csv, camt053 or mt940 ' +
        'as one file, and with --format workbook all accounts of a merchant as one',
    )
    .option('--revision <n>', 'an earlier revision; without it the current one')
    .option(
      '--since <revision>',
      'only what changed since this revision of the day, or with --month since close:N: entries that came, and reversals',
    )
    .addOption(
      new Option(
        '--format <name>',
        'the format to get it in; made from the canonical CSV if it was not published so, and then no manifest names it',
      )
        .choices([...STATEMENT_FORMATS, ...MONTH_FORMATS].map(({ name }) => name))
        .default(CSV.name)
        .conflicts('forSpreadsheet'),
    )
    .option(
      '--for-spreadsheet',
      'text that would start a formula gets a leading apostrophe; not the canonical file',
    )
    .option(
      '--out <folder>',
      'folder to put it in; for a month, also the name of the ZIP itself, ending with .zip',
      '.',
    )
    .option('--stdout', 'print it instead')
    .addHelpText(
      'after',
      '\nExamples:\n  daybook statements get --merchant 10001 --currency USD --day 2026-03-31 --out downloads\n' +
        '  daybook statements get --month 2026-03 --merchant 10001\n' +
        '  daybook statements get --month 2026-03 --merchant 10001 --currency USD --format camt053\n' +
        '  daybook statements get --month 2026-03 --merchant 10001 --format workbook\n' +
        '  daybook statements get --merchant 10001 --currency USD --day 2026-03-31 --since 1 --format camt053\n' +
        '  daybook statements get --month 2026-03 --merchant 10001 --since close:1',
    )
    .action((flags: GetFlags, self: Command) => {
      if (flags.month === undefined) return getDay(flags, self);
      const month = monthFlag(flags.month, '--month ');
      return flags.since === undefined
        ? getMonth(flags, month, self)
        : getMonthChanges(flags, flags.since, month, self);
    });
}

interface GetFlags {
  readonly merchant: readonly string[];
  readonly currency: readonly string[];
  readonly day?: string;
  readonly month?: string;
  readonly revision?: string;
  readonly since?: string;
  readonly format: string;
  readonly forSpreadsheet?: boolean;
  readonly out: string;
  readonly stdout?: boolean;
}

/** `--for-spreadsheet` is an older name of one format. Throws `UsageError` for one that only months have. */
function formatOf({ format: name, forSpreadsheet, month, since }: GetFlags, self: Command): StatementFormat {
  if (forSpreadsheet === true) return SPREADSHEET;
  const format = STATEMENT_FORMATS.find((one) => one.name === name);
  if (format !== undefined) return formatWith(format, offlineSettings(self).bankCurrencies);
  if (month === undefined) throw new UsageError(`a ${name} is of a month: give --month YYYY-MM.`);
  throw new UsageError(
    `changes${since === undefined ? '' : ` since ${since}`} cannot be written as ${name}.`,
  );
}

/** Downloads one statement. Throws `UsageError` if there is none, `StatementDamaged`, `FormatTooSmall`. */
function getDay(flags: GetFlags, self: Command): Promise<void> {
  const { day, merchant, currency } = oneStatement(flags);
  const format = formatOf(flags, self);
  if (flags.since !== undefined) assertHoldsChanges(format);
  return answer(self, async ({ db, objects, now }) => {
    const asked = { merchant, currency, day, revision: flags.revision };
    const found = await chosenStatement(db, asked);
    if (flags.since !== undefined) {
      const before = await chosenStatement(db, { ...asked, revision: flags.since }, '--since');
      const note = noteOf(format, `revision ${before.revision}`);
      await recordAuditEvent(db, auditEventOf(self, found.object_key, note), now());
      const made = { format, names: await namesOfMerchant(db, merchant) };
      return dayChanges(flags, await changesBetween(objects, olderThan(found, before), found, made));
    }
    await recordAuditEvent(db, auditEventOf(self, found.object_key, formatNote(format)), now());
    const recorded = await manifestOfDay(db, found.merchant_no, found.day);
    const ofDay = await statementsOfDay(db, found.merchant_no, found.day);
    const names = await namesOfMerchant(db, merchant);
    const { isPublished, read } = inFormat(objects, found, format, { recorded, ofDay, names });
    const note = !isPublished && format.canBePublished && madeNow(format);
    if (flags.stdout === true) {
      for await (const part of read()) process.stdout.write(part);
      if (note !== false) process.stderr.write(`${note}\n`);
      return null;
    }
    const path = await download(read(), flags.out, nameIn(format, fileOf(found.object_key)));
    if (isPublished) await downloadManifest(objects, found, recorded, flags.out);
    return { document: { ...found, path, isPublished }, text: lines(path, note) };
  });
}

interface AskedStatement {
  readonly merchant: string;
  readonly currency: string;
  readonly day: string;
  readonly revision?: string | undefined;
}

/** Throws `UsageError` if the flags do not name one statement. */
function oneStatement({ merchant, currency, day }: GetFlags): AskedStatement {
  if (day === undefined) throw new UsageError('give --day YYYY-MM-DD, or --month YYYY-MM.');
  const [merchantNo, ...merchants] = merchant;
  const [code, ...codes] = currency;
  if (merchantNo === undefined || merchants.length > 0)
    throw new UsageError('a day’s statement is of one merchant: say which with --merchant NO.');
  if (code === undefined || codes.length > 0)
    throw new UsageError('a day’s statement is of one currency: say which with --currency CCC.');
  return { day, merchant: merchantNo, currency: code };
}

const madeNow = ({ name }: StatementFormat): string =>
  `made now from the published CSV: this revision was not published as ${name}, and no manifest names the file`;

async function chosenStatement(
  db: StoreWork['db'],
  asked: AskedStatement,
  flag = '--revision',
): Promise<StatementRow> {
  const { merchant, revision } = asked;
  const currency = currencyFlag(asked.currency);
  const day = dayFlag('--day', asked.day);
  if (revision !== undefined && !/^[1-9]\d{0,8}$/.test(revision))
    throw new UsageError(`${flag} ${revision} is no revision; they count from 1.`);
  const found = await statementOf(
    db,
    { merchantNo: merchant, currency },
    day,
    revision === undefined ? undefined : Number(revision),
  );
  if (found !== undefined) return found;
  throw new UsageError(
    `no statement ${revision === undefined ? '' : `revision ${revision} `}of merchant ${merchant} in ${currency} for ` +
      `${day} was published; \`daybook statements list --all\` shows those that were.`,
  );
}

function assertHoldsChanges(format: StatementFormat): void {
  if (format.holdsChanges === true) return;
  const names = STATEMENT_FORMATS.filter(({ holdsChanges }) => holdsChanges).map(({ name }) => name);
  throw new UsageError(`changes cannot be written as ${format.name}; choose --format ${names.join(', ')}.`);
}

const noteOf = (format: StatementFormat, since: string): string =>
  [`changes since ${since}`, formatNote(format)].filter(Boolean).join(' ');

/** Throws `UsageError` if it is the later one. */
function olderThan(found: StatementRow, before: StatementRow): StatementRow {
  if (before.revision <= found.revision) return before;
  throw new UsageError(
    `--since ${before.revision} is later than revision ${found.revision}: give the one that is booked with --since.`,
  );
}

async function dayChanges(flags: GetFlags, changes: DayChanges): Promise<CommandOutput | null> {
  const { read, name, ...document } = changes;
  return delivered(flags, { name, bytes: read(), text: changesText(changes), document });
}

const changesText = ({ account, day, since, revision, added, reversed }: DayChanges): string =>
  `${account.merchantNo} ${account.currency} ${day}, since ${since === 0 ? 'it had no statement' : `revision ${since}`}: ` +
  (added + reversed === 0
    ? `no entry changed up to revision ${revision}`
    : `${counted(added, 'entry', 'entries')} added and ${reversed} reversed, up to revision ${revision}`);

/** What changed in a merchant's month since a close, a file for each day, as one ZIP. Throws `UsageError`, `StatementDamaged`. */
async function getMonthChanges(flags: GetFlags, since: string, month: Month, self: Command): Promise<void> {
  const number = Number(/^close:([1-9]\d{0,8})$/.exec(since)?.[1] ?? 0);
  const [merchantNo, ...others] = flags.merchant;
  if (number === 0)
    throw new UsageError(`--since ${since} names no close of the month; write it as close:1.`);
  if (merchantNo === undefined || others.length > 0)
    throw new UsageError('a close is of one merchant: say which with --merchant NO.');
  if (flags.revision !== undefined)
    throw new UsageError('--month takes current revisions: leave --revision out.');
  const format = formatOf(flags, self);
  assertHoldsChanges(format);
  const currencies = currenciesOf(flags);
  await answer(self, async ({ db, objects, now }) => {
    const frozen = await frozenBy(db, merchantNo, month.name, number);
    if (frozen === null)
      throw new UsageError(
        `there is no close ${number} of ${month.name} of merchant ${merchantNo}; \`daybook close --list\` shows those that are.`,
      );
    const sources = { db, objects, format };
    const changes = await monthChanges(sources, merchantNo, month, { frozen, currencies });
    const subject = monthSubject(month.name, [merchantNo], currencies ?? []);
    await recordAuditEvent(db, auditEventOf(self, subject, noteOf(format, `close ${number}`)), now());
    const bytes = zippedChanges(month, changes, now());
    const text = lines(
      ...changes.slice(0, CHANGES_SHOWN_MAX).map(changesText),
      changes.length > CHANGES_SHOWN_MAX &&
        `and ${changes.length - CHANGES_SHOWN_MAX} more days, which the ZIP lists`,
      changes.length === 0 && `nothing of ${month.name} changed since close ${number}`,
    );
    const [out, name] = placeOf(flags, month, `-since-close${number}`);
    const days = changes.map(({ read: _, ...one }) => one);
    const document = { month: month.name, close: number, changes: days };
    return delivered({ ...flags, out }, { name, bytes, text, document });
  });
}

const CHANGES_SHOWN_MAX = 20;

/** Both as recorded: in the store they are replaced one after the other. */
async function downloadManifest(
  objects: StoreWork['objects'],
  { merchant_no, day, object_key }: StatementRow,
  recorded: ManifestRow | undefined,
  folder: string,
): Promise<void> {
  const name = manifestFileNextTo(fileOf(object_key));
  const bytes =
    recorded === undefined
      ? await objects.get(manifestKey(merchant_no, day))
      : bytesOf(Buffer.from(recorded.content));
  if (bytes === null) return;
  await download(bytes, folder, name);
  if (recorded === undefined || isUnsigned(recorded)) return;
  await download(bytesOf(Buffer.from(recorded.signature!)), folder, name + SIGNATURE_EXTENSION);
}

const AS_CSV_SHOWN_MAX = 10;

/**
 * As one file where the format holds what is asked for, else as a ZIP. Throws `UsageError` for a month without statements,
 * `StatementDamaged`, `FormatTooSmall`.
 */
async function getMonth(flags: GetFlags, month: Month, self: Command): Promise<void> {
  if (flags.revision !== undefined || flags.forSpreadsheet === true)
    throw new UsageError(
      '--month takes current revisions as published: leave --revision and --for-spreadsheet out.',
    );
  const currencies = currenciesOf(flags);
  const workbook = MONTH_FORMATS.find(({ name }) => name === flags.format);
  const [merchantNo, ...others] = flags.merchant;
  if (workbook !== undefined) {
    if (merchantNo === undefined || others.length > 0)
      throw new UsageError(`a ${workbook.name} is of one merchant: say which with --merchant NO.`);
    return getWorkbook(flags, { merchantNo, month, currencies }, workbook, self);
  }
  const format = formatOf(flags, self);
  const isOne = merchantNo !== undefined && others.length === 0 && currencies?.length === 1;
  if (isOne && format.holdsMonth && self.getOptionValueSource('format') === 'cli' && !isZip(flags))
    return getAccountMonth(flags, { merchantNo, month, currencies }, format, self);
  await answer(self, async ({ db, objects, now }) => {
    const merchants = merchantsOf(flags) ?? (await publishedMerchants(db, month.from, month.to));
    const months = [];
    for (const merchantNo of merchants)
      months.push(await monthDownload({ db, objects, format, now }, merchantNo, month, currencies));
    const accounts = months.flatMap((one) => one.accounts);
    const files = months.flatMap((one) => one.files);
    if (files.length === 0) {
      throw new UsageError(
        `nothing was published of ${month.name} for what is asked; \`daybook statements list --from ${month.from} ` +
          `--to ${month.to}\` shows what was.`,
      );
    }
    const subject = monthSubject(month.name, flags.merchant, currencies ?? []);
    await recordAuditEvent(db, auditEventOf(self, subject, formatNote(format)), now());
    const asCsv: DayAsCsv[] = [];
    const bytes = zippedMonth(month, accounts, files, (day) => asCsv.push(day));
    if (flags.stdout === true) {
      for await (const part of bytes) process.stdout.write(part);
      if (asCsv.length === 0) return null;
      process.stderr.write(`${lines(...asCsvLines(asCsv))}\n`);
      process.exitCode = EXIT.needsPerson;
      return null;
    }
    const path = await download(bytes, ...placeOf(flags, month));
    return {
      document: {
        ...{ path, month: month.name, files: files.length, accounts: accounts.map(accountDocument) },
        ...(asCsv.length === 0 ? {} : { asCsv }),
      },
      text: lines(
        path,
        `${counted(files.length, 'file')} of ${counted(accounts.length, 'account')}`,
        ...openLines(accounts),
        ...asCsvLines(asCsv),
      ),
      exitCode: asCsv.length === 0 ? EXIT.done : EXIT.needsPerson,
    };
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
function placeOf(
  { out, merchant }: GetFlags,
  { name }: Month,
  ending?: string,
): [folder: string, file: string] {
  if (isZip({ out })) return [dirname(out), basename(out)];
  return [out, monthZipName(name, merchant, ending)];
}

const isZip = ({ out }: Pick<GetFlags, 'out'>): boolean => out.endsWith('.zip');
