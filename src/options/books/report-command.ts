/** `books report`: how each day of a month agrees with own books. */
import type { Command } from 'commander';
import { answer, collect } from '../../cli/context.ts';
import { currenciesOf, merchantNoFlag, monthFlag } from '../../cli/flags.ts';
import { lines, longTable } from '../../cli/output/text.ts';
import type { Account } from '../../ledger/entry.ts';
import { grouped } from '../../ledger/money.ts';
import { BOOK_FIGURES, type BookFigures } from '../../ledger/own-books.ts';
import { UsageError } from '../../run/verdict/exit-codes.ts';

const HELP = `
Each figure is the sum from the first entry to the end of the day. An entry whose counterpart has a later day is only there until
then. The first day shown includes all days before.

Examples:
  daybook books report --month 2026-03 --merchant M1
  daybook books report --month 2026-03 --merchant M1 --csv > march.csv`;

interface ReportFlags {
  readonly month: string;
  readonly merchant: string;
  readonly currency: readonly string[];
  readonly csv?: boolean;
}

export function addReportCommand(books: Command): void {
  books
    .command('report')
    .requiredOption('--month <month>', 'the month, YYYY-MM')
    .requiredOption('--merchant <no>', 'whose books')
    .option('--currency <code>', 'only this currency (may be repeated)', collect, [])
    .option('--csv', 'as CSV')
    .description(
      'how each day of a month agrees with own books: ledger - own = only in ledger - only in own + differences',
    )
    .addHelpText('after', HELP)
    .action(report);
}

type Row = BookFigures & Account;

const FIGURES = Object.entries(BOOK_FIGURES);

async function report(flags: ReportFlags, self: Command): Promise<void> {
  const month = monthFlag(flags.month, '--month ');
  const merchantNo = merchantNoFlag('--merchant', flags.merchant);
  const currencies = currenciesOf(flags);
  const isCsv = flags.csv === true;
  if (isCsv && self.optsWithGlobals<{ json?: boolean }>().json === true)
    throw new UsageError('--csv and --json are two forms; give one of them.');
  const { bookFigures } = await import('./figures.ts');
  const { openCounts } = await import('./open.ts');
  await answer(self, async ({ db }) => {
    const accounts = (await openCounts(db, [merchantNo], month.to)).filter(
      ({ currency }) => currencies === null || currencies.includes(currency),
    );
    const rows: Row[] = [];
    for (const { currency } of accounts)
      for (const figures of await bookFigures(db, { merchantNo, currency }, month.from, month.to))
        rows.push({ merchantNo, currency, ...figures });
    if (isCsv) {
      const { csvText } = await import('../../statements/formats/csv.ts');
      const heads = ['merchant_no', 'currency', 'day', ...FIGURES.map(([name]) => name)];
      const keys = ['merchantNo', 'currency', 'day', ...FIGURES.map(([, key]) => key)] as const;
      process.stdout.write(csvText([heads, ...rows.map((row) => keys.map((key) => row[key]))]));
      return null;
    }
    const changed = accounts.filter(({ isChanged }) => isChanged).map(({ currency }) => currency);
    const columns = FIGURES.map(([name, key]): [string, (row: Row) => string] => [
      `>${name.replaceAll('_', ' ')}`,
      (row: Row) => grouped(row[key]),
    ]);
    return {
      document: rows,
      text: lines(
        rows.length === 0
          ? `${merchantNo} has no entry of own books or of the ledger in ${month.name} that was matched`
          : longTable(rows, {
              currency: ({ currency }) => currency,
              day: ({ day }) => day,
              ...Object.fromEntries(columns),
            }),
        changed.length > 0 &&
          `\nown books in ${changed.join(', ')} changed since they were matched: \`daybook books match\` takes that in`,
      ),
    };
  });
}
