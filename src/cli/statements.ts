/** `statements`: lists what was published, and downloads it with proof. */
import { Option, type Command } from 'commander';
import { thisHolder } from '../host/process-identity.ts';
import { bytesOf } from '../objects/object-store.ts';
import type { App } from '../run/app.ts';
import { underLeasesAsNeeded } from '../run/leases.ts';
import { UsageError, EXIT } from '../run/verdict/exit-codes.ts';
import { adoptStore, type AdoptReport } from '../statements/adopt.ts';
import { formatNote, inFormat } from '../statements/fetch.ts';
import { STATEMENT_FORMATS, SPREADSHEET } from '../statements/formats/all.ts';
import { CSV } from '../statements/formats/csv.ts';
import type { StatementFormat } from '../statements/formats/format.ts';
import { fileOf, manifestFileNextTo, manifestKey, nameIn, SIGNATURE_EXTENSION } from '../statements/keys.ts';
import { isUnsigned } from '../statements/write-manifest.ts';
import { recordAuditEvent } from '../store/audit.ts';
import {
  listStatements,
  statementOf,
  statementsOfDay,
  type StatementRow,
} from '../store/statements/statements.ts';
import { manifestOfDay, type ManifestRow } from '../store/statements/stored-files.ts';
import {
  auditEventOf,
  withBy,
  offlineSettings,
  print,
  withApp,
  type GlobalFlags,
  stopSignal,
} from './context.ts';
import { collect } from './collect.ts';
import { download } from './download.ts';
import { createProgressLine } from './output/progress-line.ts';
import { cutLine, line, lines, LIST_SHOWN_MAX, longTable, counted } from './output/text.ts';
import { timesOf, type Times } from './output/times.ts';
import { accountsFlagged, currencyFlag, dayFlag, withRangeFlags, type RangeFlags } from './range-flags.ts';
import { addStatementsDiffCommand } from './statements-diff.ts';
import { addStatementsKeygenCommand } from './statements-keygen.ts';
import { getMonth, type MonthFlags } from './statements-month.ts';

export function addStatementsCommand(program: Command): void {
  const statements = program.command('statements').description('find and download published statements');
  withRangeFlags(statements.command('list'))
    .description('published statements, current revisions')
    .option('--all', 'superseded revisions too, with when each was published, and why')
    .action(async (flags: RangeFlags & { readonly all?: boolean }, self: Command) => {
      const accounts = accountsFlagged(flags);
      const settings = offlineSettings(self);
      const { json = false } = self.optsWithGlobals<GlobalFlags>();
      await withApp(settings, async ({ database }) => {
        const found = await listStatements(database.db, {
          ...accounts,
          fromDay: flags.from === undefined ? undefined : dayFlag('--from', flags.from),
          toDay: flags.to === undefined ? undefined : dayFlag('--to', flags.to),
          limit: json ? undefined : LIST_SHOWN_MAX + 1,
        });
        const rows = json ? found : completeDays(found);
        const superseded = new Set(rows.map((row) => nameOf(row, row.supersedes ?? 0)));
        const shown = flags.all === true ? rows : rows.filter((row) => !superseded.has(nameOf(row)));
        const listed = listText(shown, flags.all === true ? timesOf(settings) : null);
        const rest = 'say which with `--merchant`, `--from` and `--to`; `--json` has all';
        print(self, {
          document: shown,
          text: lines(listed, cutLine(rows.length < found.length, 'statements', rest)),
        });
      });
    });
  for (const add of [addStatementsDiffCommand, addStatementsAdoptCommand, addStatementsKeygenCommand])
    add(statements);
  withBy(statements.command('get'))
    .description('download a statement, or a month, verified against the manifest')
    .option('--merchant <no>', 'merchant number (of a month: may be repeated, or left out)', collect, [])
    .option('--currency <code>', 'currency, like USD (of a month: may be repeated, or left out)', collect, [])
    .option('--day <day>', 'day, YYYY-MM-DD')
    .option('--month <month>', 'a month, YYYY-MM, as one ZIP with a summary and its manifests')
    .option('--revision <n>', 'an earlier revision; without it the current one')
    .addOption(
      new Option(
        '--format <name>',
        'the format to get it in; made from the canonical CSV if it was not published so, and then no manifest names it',
      )
        .choices(STATEMENT_FORMATS.map(({ name }) => name))
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
        '  daybook statements get --month 2026-03 --merchant 10001',
    )
    .action(async (given: GivenFlags, self: Command) => {
      if (given.month !== undefined) return getMonth({ ...given, month: given.month }, formatOf(given), self);
      return getDay({ ...flagsOfDay(given), format: formatOf(given) }, self);
    });
}

/** Downloads one statement. Throws `UsageError` if there is none, `StatementDamaged`, `FormatTooSmall`. */
function getDay(flags: GetFlags, self: Command): Promise<void> {
  return withApp(offlineSettings(self), async (app) => {
    const { format } = flags;
    const found = await chosenStatement(app, flags);
    await recordAuditEvent(
      app.database.db,
      auditEventOf(self, found.object_key, formatNote(format)),
      app.now(),
    );
    const recorded = await manifestOfDay(app.database.db, found.merchant_no, found.day);
    const ofDay = await statementsOfDay(app.database.db, found.merchant_no, found.day);
    const { isPublished, read } = inFormat(app.objects, found, format, { recorded, ofDay });
    const note = !isPublished && format.canBePublished && madeNow(format);
    if (flags.stdout === true) {
      for await (const part of read()) process.stdout.write(part);
      if (note !== false) process.stderr.write(`${note}\n`);
      return;
    }
    const path = await download(read(), flags.out, nameIn(format, fileOf(found.object_key)));
    if (isPublished) await downloadManifest(app, found, recorded, flags.out);
    print(self, { document: { ...found, path, isPublished }, text: lines(path, note) });
  });
}

type GivenFlags = Omit<MonthFlags, 'month'> &
  Pick<GetFlags, 'revision'> & { readonly format: string; readonly day?: string; readonly month?: string };

/** Throws `UsageError` if the flags do not name one statement. */
function flagsOfDay({ merchant, currency, day, ...rest }: GivenFlags): Omit<GetFlags, 'format'> {
  if (day === undefined) throw new UsageError('give --day YYYY-MM-DD, or --month YYYY-MM.');
  const [merchantNo, ...merchants] = merchant;
  const [code, ...codes] = currency;
  if (merchantNo === undefined || merchants.length > 0)
    throw new UsageError('a day’s statement is of one merchant: say which with --merchant NO.');
  if (code === undefined || codes.length > 0)
    throw new UsageError('a day’s statement is of one currency: say which with --currency CCC.');
  return { ...rest, day, merchant: merchantNo, currency: code };
}

const madeNow = ({ name }: StatementFormat): string =>
  `made now from the published CSV: this revision was not published as ${name}, and no manifest names the file`;

/** `--for-spreadsheet` is an older name of one format. */
const formatOf = ({
  format,
  forSpreadsheet,
}: Pick<GivenFlags, 'format' | 'forSpreadsheet'>): StatementFormat =>
  forSpreadsheet === true ? SPREADSHEET : STATEMENT_FORMATS.find(({ name }) => name === format)!;

interface GetFlags {
  readonly merchant: string;
  readonly currency: string;
  readonly day: string;
  readonly revision?: string;
  readonly format: StatementFormat;
  readonly out: string;
  readonly stdout?: boolean;
}

/** Of rows cut after `LIST_SHOWN_MAX`, those of account days of which every revision is there. */
function completeDays(rows: readonly StatementRow[]): readonly StatementRow[] {
  const next = rows[LIST_SHOWN_MAX];
  if (next === undefined) return rows;
  const begin = rows.findIndex((row) => nameOf(row, 0) === nameOf(next, 0));
  return rows.slice(0, begin === 0 ? LIST_SHOWN_MAX : begin);
}

const nameOf = (row: StatementRow, revision = row.revision): string =>
  JSON.stringify([row.merchant_no, row.currency, row.day, revision]);

async function chosenStatement({ database }: App, flags: GetFlags): Promise<StatementRow> {
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

/** Both as recorded: in the store they are replaced one after the other. */
async function downloadManifest(
  { objects }: App,
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

/** With `times`, also when each was published and why. */
function listText(rows: readonly StatementRow[], times: Times | null): string {
  if (rows.length === 0) return 'no statement was published for these days';
  const history = times === null ? [] : ['published'];
  const listed = longTable(
    [
      'merchant',
      'day',
      'account',
      '>revision',
      '?>opening',
      '?>credits',
      '?>debits',
      '>closing',
      history.length === 0 ? 'verdict' : '?verdict',
      ...history,
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
      ...(times === null ? [] : [times.at(row.published_at)]),
      row.object_key,
    ]),
  );
  if (times === null) return listed;
  // Reasons name entries, so they are too long for a column.
  const reasons = rows.flatMap(({ merchant_no, currency, day, revision, reason }) =>
    reason === null ? [] : line`${merchant_no} ${currency} ${day} r${revision}: ${reason}`,
  );
  return lines(
    listed,
    reasons.length > 0 && '\nwhy they replaced the one before:',
    ...reasons,
    `${reasons.length > 0 ? '\n' : ''}${times.note}`,
  );
}

const LEFT_SHOWN_MAX = 20;

function addStatementsAdoptCommand(statements: Command): void {
  withBy(statements.command('adopt'))
    .description(
      'take over a store whose statements another database published, and go on with their revisions',
    )
    .action(async (_flags: object, self: Command) => {
      const settings = offlineSettings(self);
      const { signingKey } = settings;
      await withApp(settings, async ({ database, objects, now }) => {
        const { db } = database;
        const line = createProgressLine();
        const report = await underLeasesAsNeeded(
          { db, holder: thisHolder(), signal: stopSignal() },
          (leaseOf, signal) =>
            adoptStore({
              ...{ db, leaseOf, objects, now, signal, signingKey },
              onDay: ({ days, statements: count }) => line.show({ stage: 'adopt', days, statements: count }),
            }),
        ).finally(() => line.clear());
        await recordAuditEvent(db, auditEventOf(self, objects.location), now());
        print(self, {
          document: { store: objects.location, ...report },
          text: adoptText(report, objects.location),
          exitCode: report.left.length > 0 || report.forked > 0 ? EXIT.needsPerson : EXIT.done,
        });
      });
    });
}

function adoptText(
  { formerOwner, days, statements, closes, left, forked }: AdoptReport,
  location: string,
): string {
  const from = formerOwner === null ? '' : `, which database ${formerOwner} owned`;
  return [
    `${location}${from}, is this database’s now: ${days} days checked, ${statements} revisions taken over` +
      (closes === 0 ? '' : `, and ${counted(closes, 'close')} of months`),
    ...left.slice(0, LEFT_SHOWN_MAX).map(({ key, why }) => `not taken over: ${key}: ${why}`),
    ...(left.length > LEFT_SHOWN_MAX ? [`and ${left.length - LEFT_SHOWN_MAX} more`] : []),
    ...(left.length > 0
      ? ['the next run publishes these days anew, under revisions above those that lie there']
      : []),
    ...(forked > 0
      ? [
          `${counted(forked, 'manifest')} of another branch of the chain, as two databases went on from the same one: ` +
            '`daybook publish --repair` makes each anew at the end of the chain',
        ]
      : []),
  ].join('\n');
}
