/** `statements`: find what was published, and download it proven. */
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { makeFolder } from '../ledger/make-folder.ts';
import { recordDeed } from '../store/audit.ts';
import { deedOf, withBy } from './deeds.ts';
import { UsageError } from '../run/exit-codes.ts';
import type { House } from '../run/house.ts';
import { fetchStatement } from '../statements/fetch.ts';
import { fileOf, manifestFileBeside, manifestKey } from '../statements/keys.ts';
import { listStatements, statementOf, type StatementRow } from '../store/statements.ts';
import { offlineSettings, tell, withHouse } from './context.ts';
import { currenciesOf, currencyFlag, dayFlag, withRangeFlags, type RangeFlags } from './range-flags.ts';
import { addStatementsAdoptCommand } from './statements-adopt.ts';
import { table } from './text.ts';

export function addStatementsCommand(program: Command): void {
  const statements = program.command('statements').description('find and download published statements');
  withRangeFlags(statements.command('list'))
    .description('published statements, current revisions')
    .option('--all', 'superseded revisions too')
    .action(async (flags: RangeFlags & { readonly all?: boolean }, self: Command) => {
      const currencies = currenciesOf(flags);
      await withHouse(offlineSettings(self), async ({ database }) => {
        const rows = await listStatements(database.db, {
          fromDay: flags.from === undefined ? undefined : dayFlag('--from', flags.from),
          toDay: flags.to === undefined ? undefined : dayFlag('--to', flags.to),
          ...(currencies === null ? {} : { currencies }),
        });
        const asked = rows.filter(
          (row) => flags.merchant.length === 0 || flags.merchant.includes(row.merchant_no),
        );
        const superseded = new Set(asked.map((row) => nameOf(row, row.supersedes ?? 0)));
        const shown = flags.all === true ? asked : asked.filter((row) => !superseded.has(nameOf(row)));
        tell(self, { document: shown, text: listText(shown) });
      });
    });
  addStatementsAdoptCommand(statements);
  withBy(statements.command('get'))
    .description('download one statement, checked against what was published')
    .requiredOption('--merchant <no>', 'merchant number')
    .requiredOption('--currency <code>', 'currency, like USD')
    .requiredOption('--day <day>', 'business day, YYYY-MM-DD')
    .option('--revision <n>', 'an earlier revision; without it the current one')
    .option(
      '--for-spreadsheet',
      'text that would start a formula gets a leading apostrophe; not the canonical file',
    )
    .option('--out <folder>', 'where to put it', '.')
    .option('--stdout', 'print it instead')
    .addHelpText(
      'after',
      '\nExample:\n  daybook statements get --merchant 10001 --currency USD --day 2026-03-31 --out downloads',
    )
    .action(async (flags: GetFlags, self: Command) => {
      await withHouse(offlineSettings(self), async (house) => {
        const found = await chosenStatement(house, flags);
        await recordDeed(house.database.db, deedOf(self, found.object_key), house.now());
        const bytes = fetchStatement(house.objects, found, { forSpreadsheet: flags.forSpreadsheet ?? false });
        if (flags.stdout === true) {
          for await (const part of bytes) process.stdout.write(part);
          return;
        }
        const path = await download(bytes, flags.out, fileName(found, flags));
        if (flags.forSpreadsheet !== true) await downloadManifest(house, found, flags.out);
        tell(self, { document: { ...found, path }, text: path });
      });
    });
}

interface GetFlags {
  readonly merchant: string;
  readonly currency: string;
  readonly day: string;
  readonly revision?: string;
  readonly forSpreadsheet?: boolean;
  readonly out: string;
  readonly stdout?: boolean;
}

const nameOf = (row: StatementRow, revision = row.revision): string =>
  JSON.stringify([row.merchant_no, row.currency, row.day, revision]);

const fileName = ({ object_key }: StatementRow, { forSpreadsheet }: GetFlags): string =>
  forSpreadsheet === true ? fileOf(object_key).replace(/\.csv$/, '.spreadsheet.csv') : fileOf(object_key);

async function chosenStatement({ database }: House, flags: GetFlags): Promise<StatementRow> {
  const { merchant, revision } = flags;
  const currency = currencyFlag(flags.currency);
  const day = dayFlag('--day', flags.day);
  if (revision !== undefined && !/^[1-9]\d{0,8}$/.test(revision))
    throw new UsageError(`--revision ${revision} is no revision; they count from 1.`);
  const found = await statementOf(
    database.db,
    { merchantNo: merchant, currency },
    day,
    revision === undefined ? undefined : Number(revision),
  );
  if (found !== undefined) return found;
  throw new UsageError(
    `no statement ${revision === undefined ? '' : `revision ${revision} `}of merchant ${merchant} in ${currency} for ` +
      `${day} was published; \`daybook statements list\` shows those that were.`,
  );
}

const FILE_ERRORS = new Set([
  'EACCES',
  'EEXIST',
  'EISDIR',
  'ENAMETOOLONG',
  'ENOSPC',
  'ENOENT',
  'ENOTDIR',
  'EPERM',
  'EROFS',
]);

const isFileError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'code' in error && FILE_ERRORS.has(String(error.code));

/**
 * Written beside its name and moved there once it is proven, so that a file that is there is whole. Under a name nobody
 * can know before, and never through a link that somebody put there.
 */
async function download(bytes: AsyncIterable<Uint8Array>, folder: string, name: string): Promise<string> {
  const path = join(folder, name);
  const part = join(folder, `.${name}.${randomUUID()}.part`);
  try {
    await makeFolder({ mkdir, stat, dirname }, folder);
    await pipeline(Readable.from(bytes), createWriteStream(part, { flags: 'wx', mode: 0o600 }));
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw isFileError(error)
      ? new UsageError(`${path} cannot be written (${error.code}); choose another --out.`)
      : error;
  }
  return path;
}

/** The manifest comes along, so that `verify` has what to check the statement against. */
async function downloadManifest({ objects }: House, row: StatementRow, folder: string): Promise<void> {
  const bytes = await objects.get(manifestKey(row.merchant_no, row.day));
  if (bytes === null) return;
  await download(bytes, folder, manifestFileBeside(fileOf(row.object_key)));
}

const listText = (rows: readonly StatementRow[]): string =>
  rows.length === 0
    ? 'no statement was published for these days'
    : table(
        [
          'merchant',
          'day',
          'account',
          '>revision',
          '?>opening',
          '?>credits',
          '?>debits',
          '>closing',
          'verdict',
          '?key',
        ],
        rows.map((row) => [
          row.merchant_no,
          row.day,
          row.currency,
          row.revision,
          row.opening,
          row.credit_total,
          row.debit_total,
          row.closing,
          row.verdict,
          row.object_key,
        ]),
      );
