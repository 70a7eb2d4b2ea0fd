/** `books report`: how each day of a month agrees with own books. */
import type { Command } from 'commander';
import { answer, collect, type CommandOutput, type StoreWork } from '../../cli/context.ts';
import { currenciesOf, merchantNoFlag, monthFlag } from '../../cli/flags.ts';
import { lines, longTable } from '../../cli/output/text.ts';
import type { BookFigures } from '../../ledger/own-books.ts';
import { grouped } from '../../ledger/money.ts';
import { UsageError } from '../../run/verdict/exit-codes.ts';

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
    .addHelpText(
      'after',
      '\nEach figure is the sum from the first entry to the end of the day. An entry whose counterpart has a later day is only there until\n' +
        'then. The first day shown includes all days before.\n\nExamples:\n  daybook books report --month 2026-03 --merchant M1\n' +
        '  daybook books report --month 2026-03 --merchant M1 --csv > march.csv',
    )
    .action((flags: ReportFlags, self: Command) => answer(self, (store) => report(flags, self, store)));
}

interface Row extends BookFigures {
  readonly merchantNo: string;
  readonly currency: string;
}

const FIGURES = {
  ledger: ({ ledger }: Row) => ledger,
  own_books: ({ book }: Row) => book,
  matched: ({ matched }: Row) => matched,
  only_in_ledger: ({ onlyThere }: Row) => onlyThere,
  only_in_own_books: ({ onlyHere }: Row) => onlyHere,
  differences: ({ difference }: Row) => difference,
};

async function report(flags: ReportFlags, self: Command, { db }: StoreWork): Promise<CommandOutput | null> {
  const month = monthFlag(flags.month, '--month ');
  const merchantNo = merchantNoFlag('--merchant', flags.merchant);
  const currencies = currenciesOf(flags);
  if (flags.csv === true && self.optsWithGlobals<{ json?: boolean }>().json === true)
    throw new UsageError('--csv and --json are two forms: give one of them.');
  const { ownBooks } = await import('./report.ts');
  const accounts = (await ownBooks.counts(db, [merchantNo], month.to)).filter(
    ({ currency }) => currencies === null || currencies.includes(currency),
  );
  const rows: Row[] = [];
  for (const { currency } of accounts)
    for (const figures of await ownBooks.figures(db, { merchantNo, currency }, month.from, month.to))
      rows.push({ merchantNo, currency, ...figures });
  if (flags.csv === true) {
    const heads = ['merchant_no', 'currency', 'day', ...Object.keys(FIGURES)];
    const cells = (row: Row) => [
      quoted(row.merchantNo),
      row.currency,
      row.day,
      ...Object.values(FIGURES).map((of) => of(row)),
    ];
    process.stdout.write([heads, ...rows.map(cells)].map((row) => `${row.join(',')}\r\n`).join(''));
    return null;
  }
  const changed = accounts.filter(({ isChanged }) => isChanged).map(({ currency }) => currency);
  return {
    document: rows,
    text:
      rows.length === 0
        ? `${merchantNo} has no entry of own books or of the ledger in ${month.name} that was matched`
        : lines(
            longTable(rows, {
              currency: ({ currency }) => currency,
              day: ({ day }) => day,
              ...Object.fromEntries(
                Object.entries(FIGURES).map(([name, of]) => [
                  `>${name.replaceAll('_', ' ')}`,
                  (row: Row) => grouped(of(row)),
                ]),
              ),
            }),
            changed.length > 0 &&
              `\nown books in ${changed.join(', ')} changed since they were matched: \`daybook books match\` takes that in`,
          ),
  };
}

const quoted = (text: string): string => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
