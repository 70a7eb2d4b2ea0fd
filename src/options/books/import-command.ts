/** `books import`: reads a merchant's own book from a file or a query. */
import type { Command } from 'commander';
import { answerWith, auditEventOf, offlineSettings, stopSignal, withBy } from '../../cli/context.ts';
import { dayFlag, unknownMerchant } from '../../cli/flags.ts';
import { inputText } from '../../cli/input-file.ts';
import { createProgressLine } from '../../cli/output/progress-line.ts';
import { counted, line, lines } from '../../cli/output/text.ts';
import { EXIT, UsageError } from '../../run/verdict/exit-codes.ts';
import { knownMerchants } from '../../store/merchants.ts';
import type { ImportReport } from './import/import.ts';
import type { Mapping } from './import/mapping.ts';

const MAPPING_BYTES_MAX = 1_048_576;

const HELP = `
The mapping says how the file is read (docs/books.md):
  merchant: M1
  format: csv            # or xlsx, or query
  zone: Asia/Shanghai
  columns: {number: Order, booked: Date, currency: Currency, amount: Amount, reference: Reference}

The file covers the days from its first row to its last one, or from --from to --to: an entry of these that it does not hold is withdrawn.
Exits with 3 if rows cannot be read; \`daybook books unreadable\` lists them.

Examples:
  daybook books import orders.csv --map orders.yaml --by Ada
  daybook books import orders.csv --map orders.yaml --from 2026-03-01 --to 2026-03-31 --dry-run
  gunzip -c orders.csv.gz | daybook books import - --map orders.yaml`;

type ImportFlags = Readonly<Record<'map', string> & Partial<Record<'from' | 'to', string>>> & {
  readonly dryRun?: boolean;
};

export function addImportCommand(books: Command): void {
  withBy(books.command('import'))
    .argument('[file]', 'the file, or - for what comes in on stdin; none for a query')
    .description('read a merchant’s own book from a file or a query')
    .requiredOption('--map <file>', 'the mapping: how the file is read, YAML')
    .option('--from <day>', 'first day that the file covers, YYYY-MM-DD')
    .option('--to <day>', 'last day that it covers')
    .option('--dry-run', 'only say what would change')
    .addHelpText('after', HELP)
    .action(importBooks);
}

async function importBooks(path: string | undefined, flags: ImportFlags, self: Command): Promise<void> {
  const [{ importBook }, { readMapping }, { openSource }] = await Promise.all([
    import('./import/import.ts'),
    import('./import/mapping.ts'),
    import('./import/sources.ts'),
  ]);
  const mapping = readMapping(inputText(flags.map, MAPPING_BYTES_MAX), flags.map);
  const [from, to] = [dayFlag('--from', flags.from), dayFlag('--to', flags.to)];
  if (from !== undefined && to !== undefined && from > to) throw new UsageError('--from lies after --to.');
  const settings = offlineSettings(self, mapping.connectionEnv === undefined ? [] : [mapping.connectionEnv]);
  const platform = settings.platform?.timeZone;
  if (platform === undefined)
    throw new UsageError('PLATFORM_TIME_ZONE is not set: the days of a book are those of its zone.');
  const { merchant: merchantNo, book } = mapping;
  const source = openSource(mapping, {
    ...{ path: path ?? null, env: process.env, stdin: process.stdin },
    isInsecureAllowed: settings.allowInsecure.includes('database'),
  });
  const signal = stopSignal();
  const isDryRun = flags.dryRun === true;
  const auditEvent = auditEventOf(self, `${merchantNo} ${book}`, source.name);
  await answerWith(settings, self, async ({ db, now }) => {
    const isKnown =
      settings.platform?.merchant?.merchantNo === merchantNo ||
      (await knownMerchants(db, [merchantNo])).size > 0;
    if (!isKnown) throw unknownMerchant(merchantNo);
    const progress = createProgressLine();
    const report = await importBook(db, {
      ...{ mapping, source, from, to, isDryRun, auditEvent, now, signal },
      zones: { own: mapping.zone ?? platform, platform },
      onProgress: (rows) => progress.show({ stage: 'import', rows }),
    }).finally(progress.clear);
    return {
      document: { merchantNo, book, source: source.name, dryRun: isDryRun, ...report },
      text: reportText(report, mapping, source.name, isDryRun),
      exitCode: report.unreadable > 0 ? EXIT.needsPerson : EXIT.done,
    };
  });
}

function reportText(report: ImportReport, of: Mapping, name: string, isDryRun: boolean): string {
  const { rowsRead, firstUnreadable, unreadable, firstDay, lastDay, answered, notWithdrawn } = report;
  const counts = (['added', 'changed', 'unchanged', 'returned', 'withdrawn', 'unreadable'] as const)
    .filter((key) => report[key] > 0)
    .map((key) => `${report[key].toLocaleString('en')} ${key}`);
  const what = counts.length === 0 ? '' : `: ${counts.join(', ')}`;
  return lines(
    line`${counted(rowsRead, 'row')} of ${name} for the book ${of.book} of ${of.merchant}${what}${isDryRun ? ' (dry run: nothing was stored)' : ''}`,
    firstDay !== null && `it covers ${firstDay} to ${lastDay}`,
    notWithdrawn,
    answered > 0 &&
      `${counted(answered, 'unreadable row')} of earlier imports ${answered === 1 ? 'is' : 'are'} answered`,
    ...firstUnreadable.map(({ line: at, reason }) => line`  line ${at}: ${reason}`),
    unreadable > firstUnreadable.length &&
      `  and ${counted(unreadable - firstUnreadable.length, 'more row', 'more rows')}`,
    unreadable > 0 && !isDryRun && 'unreadable rows are kept: `daybook books unreadable` lists them',
    !isDryRun && `\`daybook books match --merchant ${of.merchant}\` matches the book with the ledger`,
  );
}
