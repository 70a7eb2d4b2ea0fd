/** `books`: a merchant's own books. Here is `books report`, how each day of a month agrees with them; the other subcommands have files. */
import type { Command } from 'commander';
import { answer, collect, type GlobalFlags } from '../../cli/context.ts';
import { currenciesOf, merchantNoFlag, monthFlag, type RangeFlags } from '../../cli/flags.ts';
import { lines, longTable } from '../../cli/output/text.ts';
import type { Account } from '../../ledger/entry.ts';
import { grouped } from '../../ledger/money.ts';
import { BOOK_FIGURES, type BookFigures } from '../../ledger/own-books.ts';
import { UsageError } from '../../run/verdict/exit-codes.ts';
import { csvText } from '../../statements/formats/csv.ts';
import { bookFigures } from './figures.ts';
import { addImportCommands } from './import-command.ts';
import { addMatchCommand } from './match-command.ts';
import { openCounts } from './open.ts';
import { addWorkCommands } from './work-command.ts';

const HELP = `
Each figure is the sum from the first entry to the end of the day. An entry whose counterpart has a later day is only there until
then. The first day shown includes all days before.

Examples:
  daybook books report --month 2026-03 --merchant M1
  daybook books report --month 2026-03 --merchant M1 --csv > march.csv`;

export function booksCommand(books: Command): void {
  addImportCommands(books);
  addMatchCommand(books);
  addWorkCommands(books);
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
type Flags = Readonly<Record<'month' | 'merchant', string>> &
  Pick<RangeFlags, 'currency'> & { csv?: boolean };

const COLUMNS = { merchant_no: 'merchantNo', currency: 'currency', day: 'day', ...BOOK_FIGURES } as const;
const figureOf = (key: keyof BookFigures) => (row: Row) => grouped(row[key]);
const FIGURES = Object.entries(BOOK_FIGURES);
const SHOWN = {
  ...{ currency: ({ currency }: Row) => currency, day: ({ day }: Row) => day },
  ...Object.fromEntries(FIGURES.map(([name, key]) => [`>${name.replaceAll('_', ' ')}`, figureOf(key)])),
};

async function report(flags: Flags, self: Command): Promise<void> {
  const month = monthFlag(flags.month, '--month ');
  const merchantNo = merchantNoFlag('--merchant', flags.merchant);
  const currencies = currenciesOf(flags);
  if (flags.csv === true && self.optsWithGlobals<GlobalFlags>().json === true)
    throw new UsageError('--csv and --json are two forms; give one of them.');
  await answer(self, async ({ db }) => {
    const counts = await openCounts(db, [merchantNo], month.to);
    const accounts = counts.filter(({ currency }) => currencies?.includes(currency) ?? true);
    const rows: Row[] = [];
    for (const { currency } of accounts)
      for (const figures of await bookFigures(db, { merchantNo, currency }, month.from, month.to))
        rows.push({ merchantNo, currency, ...figures });
    if (flags.csv === true) {
      const cells = rows.map((row) => Object.values(COLUMNS).map((key) => row[key]));
      process.stdout.write(csvText([Object.keys(COLUMNS), ...cells]));
      return null;
    }
    const none = `${merchantNo} has no entry of own books or of the ledger in ${month.name} that was matched`;
    const changed = accounts.filter(({ isChanged }) => isChanged).map(({ currency }) => currency);
    const warning = `\nown books in ${changed.join(', ')} changed since they were matched: \`daybook books match\` takes that in`;
    const table = rows.length === 0 ? none : longTable(rows, SHOWN);
    return { document: rows, text: lines(table, changed.length > 0 && warning) };
  });
}
