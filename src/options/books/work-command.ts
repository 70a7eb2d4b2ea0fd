/** `books unmatched`, `propose`, `accept`, `writeoff`, `undo`, `approve` and `assign`: what people do about entries that no rule matches. */
import type { Command } from 'commander';
import { checkedAssignment } from '../../cli/breaks.ts';
import { answer, auditEventOf, collect, withBy, type StoreWork } from '../../cli/context.ts';
import {
  accountsFlagged,
  currencyFlag,
  dayFlag,
  idFlag,
  merchantNoFlag,
  pageOf,
  textFlag,
  withPageFlags,
  withRangeFlags,
  type PageFlags,
  type RangeFlags,
} from '../../cli/flags.ts';
import { assignedText } from '../../cli/output/run-text.ts';
import { counted, line, lines, longTable, nextLine } from '../../cli/output/text.ts';
import { dayOf } from '../../ledger/business-day.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import { grouped, moneyText } from '../../ledger/money.ts';
import { UsageError } from '../../run/verdict/exit-codes.ts';
import { NOTE_CHARACTERS_MAX } from './decide.ts';
import type { DecidedMatch, MatchEntry, Named, OpenEntry, Proposed } from '../../ledger/own-books.ts';
import type { Deciding } from '../option.ts';

export function addWorkCommands(books: Command): void {
  addUnmatched(books);
  addPropose(books);
  addDecisions(books);
  addOfMatch(books);
  addAssign(books);
}

interface UnmatchedFlags extends RangeFlags, PageFlags {
  readonly side?: string;
  readonly olderThan?: string;
}

function addUnmatched(books: Command): void {
  withPageFlags(withRangeFlags(books.command('unmatched')), 'place')
    .description('entries that only the ledger or only an own book has, the oldest first')
    .option('--side <side>', 'only entries of this side: ledger or book')
    .option('--older-than <days>', 'only entries that are older than so many days')
    .addHelpText(
      'after',
      '\nExamples:\n  daybook books unmatched --merchant M1 --older-than 7\n  daybook books unmatched --side ledger --json',
    )
    .action((flags: UnmatchedFlags, self: Command) =>
      answer(self, async ({ db, times, now }) => {
        const { side, olderThan } = flags;
        if (side !== undefined && side !== 'ledger' && side !== 'book')
          throw new UsageError(`--side ${side} is no side; write ledger or book.`);
        const { limit, after } = pageOf(flags, self.optsWithGlobals<{ json?: boolean }>().json === true);
        const { openEntries } = await import('./open.ts');
        const today = dayOf(now().getTime(), times.zone);
        const found = await openEntries(db, today, {
          ...{ ...accountsFlagged(flags), side, after },
          ...{ from: dayFlag('--from', flags.from), to: dayFlag('--to', flags.to) },
          olderThan:
            olderThan === undefined
              ? undefined
              : idFlag(olderThan, `--older-than ${olderThan} is no number of days.`),
          limit: limit === undefined ? undefined : limit + 1,
        });
        const rows = limit === undefined ? found : found.slice(0, limit);
        const next = rows.length < found.length ? rows.at(-1)!.place : null;
        return { document: rows, text: unmatchedText(rows, next, today) };
      }),
    );
}

const unmatchedText = (rows: readonly OpenEntry[], next: string | null, today: BusinessDay): string =>
  rows.length === 0
    ? 'no unmatched entry'
    : lines(
        longTable(rows, {
          day: ({ day }) => day,
          merchant: ({ merchantNo }) => merchantNo,
          'only in': ({ book }) => (book === null ? 'the ledger' : `book ${book}`),
          number: ({ number }) => number,
          '>amount': ({ amount, currency }) => moneyText(amount, currency),
          '>age': ({ ageDays }) => counted(ageDays, 'day'),
          '?~reference': ({ reference }) => reference,
          '?responsible': ({ owner, dueOn }) => assignedText({ takenBy: owner, dueOn }, today) ?? '',
          '?match': ({ matchId, matchRule }) =>
            matchId === null
              ? ''
              : `${matchId}, ${matchRule === 'apart' ? 'taken back' : 'waits for approval'}`,
        }),
        `\n${counted(rows.length, 'unmatched entry', 'unmatched entries')}`,
        nextLine(rows.length, 'entry', next),
      );

interface ProposeFlags extends Pick<RangeFlags, 'from' | 'to'> {
  readonly merchant: string;
  readonly currency?: string;
}

function addPropose(books: Command): void {
  books
    .command('propose')
    .requiredOption('--merchant <no>', 'whose entries')
    .option('--currency <code>', 'only this currency')
    .option('--from <day>', 'only with an entry from this day on, YYYY-MM-DD')
    .option('--to <day>', 'only with an entry up to this day')
    .description('what may belong together among unmatched entries, and why no rule matches it')
    .addHelpText(
      'after',
      '\n`daybook books accept ANSWER --merchant NO` matches an answer as it is listed. It is refused once an entry of it has changed.\n\n' +
        'Examples:\n  daybook books propose --merchant M1\n  daybook books accept USD/2026-03-05/1f3a9c02d4 --merchant M1 --by Ada',
    )
    .action((flags: ProposeFlags, self: Command) =>
      answer(self, async ({ db, settings, times, now }) => {
        const { proposedOf } = await import('./answers.ts');
        const found = await proposedOf(db, {
          merchantNo: merchantNoFlag('--merchant', flags.merchant),
          currency: flags.currency === undefined ? null : currencyFlag(flags.currency),
          ...{ from: dayFlag('--from', flags.from), to: dayFlag('--to', flags.to) },
          ...{ rules: settings.books, today: dayOf(now().getTime(), times.zone) },
        });
        const shown = found.slice(0, PROPOSALS_SHOWN_MAX);
        const more = found.length - shown.length;
        return {
          document: found,
          text:
            found.length === 0
              ? 'no proposal'
              : lines(
                  ...shown.map(proposalText),
                  more > 0 && `and ${counted(more, 'more proposal')}: \`--json\` has all`,
                ),
        };
      }),
    );
}

const PROPOSALS_SHOWN_MAX = 50;

const entryText = ({ book, number, day, amount }: MatchEntry): string =>
  line`${book === null ? 'ledger' : `book ${book}`} ${number} ${day} ${grouped(amount)}`;

const proposalText = ({ merchantNo, currency, rule, reason, answers }: Proposed): string =>
  lines(
    line`${merchantNo} ${currency}, rule ${rule}: ${reason}`,
    ...answers.map(({ id, entries }) => `  ${id}: ${entries.map(entryText).join('; ')}`),
    '',
  );

interface EntryFlags {
  readonly merchant: string;
  readonly ledger: readonly string[];
  readonly own: readonly string[];
  readonly book?: string;
}

const withEntries = (command: Command): Command =>
  withBy(command)
    .requiredOption('--merchant <no>', 'whose entries they are')
    .option('--ledger <number>', 'batch number of an entry of the ledger (may be repeated)', collect, [])
    .option('--own <number>', 'own number of an entry of a book (may be repeated)', collect, [])
    .option('--book <name>', 'the book of the own numbers, where several have them');

const namedOf = ({ merchant, ledger, own, book }: EntryFlags): Named => ({
  merchantNo: merchantNoFlag('--merchant', merchant),
  ledger: [...new Set(ledger)],
  own: [...new Set(own)].map((number) => ({ book: book ?? null, number })),
});

function noteOf(given: string | undefined): string | undefined {
  const note = textFlag(given, 'say why');
  if (note !== undefined && note.length > NOTE_CHARACTERS_MAX)
    throw new UsageError(`--note has over ${NOTE_CHARACTERS_MAX} characters.`);
  return note;
}

const TYPE = /^[\p{L}\p{N}][\p{L}\p{N} _-]{0,49}$/u;

function typeOf(given: string | undefined): string | null {
  if (given !== undefined && !TYPE.test(given))
    throw new UsageError('--type takes a word of up to 50 letters and digits, like fee.');
  return given ?? null;
}

const decidingOf = ({ db, settings, now }: StoreWork, self: Command, note: string | undefined): Deciding => {
  const { subject: _, ...event } = auditEventOf(self, '', note);
  return { db, rules: settings.books, now: now(), event };
};

function addDecisions(books: Command): void {
  const act = async (
    flags: EntryFlags & { note?: string; type?: string },
    self: Command,
    isWriteOff: boolean,
  ) => {
    const [named, note, differenceType] = [namedOf(flags), noteOf(flags.note), typeOf(flags.type)];
    await answer(self, async (store) => {
      const { decideMatch } = await import('./decide.ts');
      const match = await decideMatch(decidingOf(store, self, note), named, { differenceType, isWriteOff });
      return { document: match, text: decidedText(match) };
    });
  };
  withEntries(books.command('accept'))
    .argument('[answer]', 'an answer that `books propose` lists, in place of entries')
    .description(
      'match entries of both sides by hand: an answer of a proposal, or the entries that are named',
    )
    .option(
      '--type <type>',
      'what the difference of their sums is, for example fee; needed where there is one',
    )
    .option('--note <text>', 'kept with it')
    .addHelpText(
      'after',
      '\nExamples:\n  daybook books accept --merchant M1 --ledger B7 --own 4711 --own 4712 --by Ada\n' +
        '  daybook books accept --merchant M1 --ledger B8 --own 4713 --type fee --note "bank fee"',
    )
    .action((id: string | undefined, flags: EntryFlags & { note?: string; type?: string }, self: Command) => {
      if (id === undefined) return act(flags, self, false);
      if (flags.ledger.length + flags.own.length > 0)
        throw new UsageError('name an answer or entries, not both.');
      const [merchantNo, note, type] = [namedOf(flags).merchantNo, noteOf(flags.note), typeOf(flags.type)];
      return answer(self, async (store) => {
        const { acceptAnswer } = await import('./answers.ts');
        const match = await acceptAnswer(decidingOf(store, self, note), merchantNo, id, type);
        return { document: match, text: decidedText(match) };
      });
    });
  withEntries(books.command('writeoff'))
    .description('write off entries that have no counterpart, or the difference of those that have')
    .requiredOption('--type <type>', 'what is written off, for example fee or error')
    .requiredOption('--note <text>', 'the reason; kept with it')
    .addHelpText(
      'after',
      '\nExample:\n  daybook books writeoff --merchant M1 --own 4714 --type error --note "recorded twice" --by Ada',
    )
    .action((flags: EntryFlags, self: Command) => act(flags, self, true));
}

function decidedText({
  id,
  rule,
  difference,
  differenceType,
  currency,
  waitsForApproval,
}: DecidedMatch): string {
  const what = rule === 'write-off' ? 'written off' : 'matched by hand';
  const off = differenceType === null ? '' : `, with ${moneyText(difference, currency)} as ${differenceType}`;
  return waitsForApproval
    ? line`match ${id} waits for approval, and its entries count as unmatched until then: another person runs \`daybook books approve ${id}\``
    : line`${what}: match ${id}${off}`;
}

const matchIdOf = (text: string): number => idFlag(text, `${text} is no number of a match.`);

function addOfMatch(books: Command): void {
  withBy(books.command('undo'))
    .argument('<id>', 'the match’s number')
    .description('take a match back; the entries of a rule’s match are then left to people')
    .requiredOption('--note <text>', 'the reason; kept with it')
    .addHelpText('after', '\nExample:\n  daybook books undo 12 --note "other order" --by Ada')
    .action((text: string, flags: { readonly note: string }, self: Command) => {
      const [id, note] = [matchIdOf(text), noteOf(flags.note)];
      return answer(self, async (store) => {
        const { undoMatch } = await import('./decide.ts');
        const apart = await undoMatch(decidingOf(store, self, note), id);
        const rest =
          apart === null
            ? 'its entries are free for the rules again'
            : `no rule matches its entries again; \`daybook books undo ${apart.id}\` leaves them to the rules`;
        return {
          document: { undone: id, apart: apart?.id ?? null },
          text: `match ${id} is taken back: ${rest}`,
        };
      });
    });
  withBy(books.command('approve'))
    .argument('<id>', 'the match’s number')
    .description('approve what another person decided about an amount above BOOKS_APPROVAL_ABOVE')
    .option('--note <text>', 'kept with it')
    .addHelpText('after', '\nExample:\n  daybook books approve 12 --by Grace')
    .action((text: string, flags: { readonly note?: string }, self: Command) => {
      const [id, note] = [matchIdOf(text), noteOf(flags.note)];
      return answer(self, async (store) => {
        const { approveMatch } = await import('./decide.ts');
        await approveMatch(decidingOf(store, self, note), id);
        return {
          document: { approved: id },
          text: `match ${id} is approved, and its entries count as matched`,
        };
      });
    });
}

function addAssign(books: Command): void {
  withEntries(books.command('assign'))
    .description('say who is responsible for unmatched entries')
    .option('--to <name>', 'who: an operator of the merchant (default: the name of --by)')
    .option('--due <day>', 'by when, YYYY-MM-DD')
    .option('--note <text>', 'kept with it')
    .addHelpText(
      'after',
      '\nExample:\n  daybook books assign --merchant M1 --own 4714 --to Grace --due 2026-04-30 --by Ada',
    )
    .action((flags: EntryFlags & { note?: string; to?: string; due?: string }, self: Command) => {
      const [named, note] = [namedOf(flags), noteOf(flags.note)];
      const to = textFlag(flags.to, 'name the person, or leave it out', '--to');
      return answer(self, async (store) => {
        const { assignEntries } = await import('./decide.ts');
        const deciding = decidingOf(store, self, note);
        const assignment = checkedAssignment(store, named.merchantNo, {
          ...{ to: to ?? deciding.event.by, due: flags.due, isOther: to !== undefined },
        });
        const count = await assignEntries({ ...deciding, event: { ...deciding.event, assignment } }, named);
        return {
          document: { assigned: count, to: assignment!.to, due: assignment!.due },
          text: line`${counted(count, 'entry', 'entries')} assigned to ${assignment!.to}`,
        };
      });
    });
}
