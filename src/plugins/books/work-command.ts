/** `books unmatched`, `propose`, `accept`, `writeoff`, `undo`, `approve` and `assign`: what people do about entries that no rule matches. */
import type { Command } from 'commander';
import { answer, auditEventOf, collect, withBy, type GlobalFlags } from '../../cli/context.ts';
import {
  accountsFlagged,
  currencyFlag,
  dayFlag,
  idFlag,
  merchantNoFlag,
  pageBehind,
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
import { canonicalAmount, createCurrencies, grouped, moneyText } from '../../ledger/money.ts';
import type { Decided, Decision, MatchEntry, Proposed } from '../../ledger/own-books.ts';
import { UsageError } from '../../run/verdict/exit-codes.ts';
import { decide } from './decide.ts';
import { openEntries } from './open.ts';
import { proposedOf } from './proposals.ts';

type UnmatchedFlags = RangeFlags & PageFlags & { readonly side?: string; readonly olderThan?: string };

const example = (words: string): string => `\nExample:\n  daybook books ${words}`;

const PROPOSE_HELP = `
\`daybook books accept ANSWER --merchant NO\` matches an answer as it is listed. It is refused once an entry of it has changed.

Examples:
  daybook books propose --merchant M1
  daybook books accept USD/2026-03-05/1f3a9c02d4 --merchant M1 --by Ada`;

export function addWorkCommands(books: Command): void {
  withPageFlags(withRangeFlags(books.command('unmatched')), 'place')
    .description('entries that only the ledger or only an own book has, the oldest first')
    .option('--side <side>', 'only entries of this side: ledger or book')
    .option('--older-than <days>', 'only entries that are older than so many days')
    .addHelpText('after', example('unmatched --merchant M1 --side ledger --older-than 7'))
    .action(listUnmatched);
  books
    .command('propose')
    .requiredOption('--merchant <no>', 'whose entries')
    .option('--currency <code>', 'only this currency')
    .option('--from <day>', 'only with an entry from this day on, YYYY-MM-DD')
    .option('--to <day>', 'only with an entry up to this day')
    .description('what may belong together among unmatched entries, and why no rule matches it')
    .addHelpText('after', PROPOSE_HELP)
    .action(listProposals);
  addDecisionsOnEntries(books);
  addDecisionsOnMatches(books);
}

async function listUnmatched(flags: UnmatchedFlags, self: Command): Promise<void> {
  const { side, olderThan: days } = flags;
  if (side !== undefined && side !== 'ledger' && side !== 'book')
    throw new UsageError(`--side ${side} is no side; write ledger or book.`);
  const { limit, after } = pageOf(flags, self.optsWithGlobals<GlobalFlags>().json === true);
  await answer(self, async ({ db, settings, times, now }) => {
    const today = dayOf(now().getTime(), times.zone);
    const found = await openEntries(db, today, {
      ...{ ...accountsFlagged(flags), side, after, limit: limit && limit + 1 },
      ...{ from: dayFlag('--from', flags.from), to: dayFlag('--to', flags.to) },
      olderThan: days === undefined ? days : idFlag(days, `--older-than ${days} is no number of days.`),
    });
    const { minorUnits } = createCurrencies(settings.currencies);
    const page = pageBehind(found, ({ place }) => place, { limit, after: '' });
    const { next } = page;
    const shown = page.shown.map((one) => {
      return { ...one, amount: canonicalAmount(one.amount, minorUnits(one.currency))!.amount };
    });
    const table = longTable(shown, {
      day: ({ day }) => day,
      merchant: ({ merchantNo }) => merchantNo,
      'only in': ({ book }) => book ?? 'the ledger',
      number: ({ number }) => number,
      '>amount': ({ amount, currency }) => moneyText(amount, currency),
      '>age': ({ ageDays }) => counted(ageDays, 'day'),
      '?~reference': ({ reference }) => reference,
      '?responsible': ({ owner, dueOn }) => assignedText({ takenBy: owner, dueOn }, today) ?? '',
      '?match': ({ matchId, matchRule }) =>
        matchId && `${matchId}, ${matchRule === 'apart' ? 'taken back' : 'waits for approval'}`,
    });
    const count = `\n${counted(shown.length, 'unmatched entry', 'unmatched entries')}`;
    const text = lines(table, count, nextLine(shown.length, 'row', next));
    return { document: shown, text: shown.length === 0 ? 'no unmatched entry' : text };
  });
}

/** Most proposals that the text shows. */
const PROPOSALS_SHOWN_MAX = 50;

type ProposeFlags = Readonly<
  Record<'merchant', string> & Partial<Record<'currency' | 'from' | 'to', string>>
>;

const listProposals = (flags: ProposeFlags, self: Command): Promise<void> =>
  answer(self, async ({ db, settings, times, now }) => {
    const found = await proposedOf(db, {
      merchantNo: merchantNoFlag('--merchant', flags.merchant),
      currency: flags.currency === undefined ? null : currencyFlag(flags.currency),
      ...{ from: dayFlag('--from', flags.from), to: dayFlag('--to', flags.to) },
      ...{ rules: settings.books, today: dayOf(now().getTime(), times.zone) },
    });
    const shown = found.slice(0, PROPOSALS_SHOWN_MAX).map(proposalText);
    const more = counted(found.length - shown.length, 'more proposal');
    const text = lines(...shown, found.length > shown.length && `and ${more}: \`--json\` has all`);
    return { document: found, text: found.length === 0 ? 'no proposal' : text };
  });

const entryText = ({ book, number, day, amount }: MatchEntry): string =>
  line`${book ?? 'ledger'} ${number} ${day} ${grouped(amount)}`;

function proposalText({ merchantNo, currency, rule, reason, answers }: Proposed): string {
  const texts = answers.map(({ id, entries }) => `  ${id}: ${entries.map(entryText).join('; ')}`);
  return lines(line`${merchantNo} ${currency}, rule ${rule}: ${reason}`, ...texts, '');
}

type EntryFlags = Readonly<
  Record<'merchant', string> &
    Record<'ledger' | 'own', readonly string[]> &
    Partial<Record<'book' | 'type' | 'to' | 'due', string>>
>;

/** A command that decides, with an example. */
const addDeciding = (books: Command, name: string, words: string): Command =>
  withBy(books.command(name)).addHelpText('after', example(`${name} ${words}`));

const addOfEntries = (books: Command, name: string, words: string): Command =>
  addDeciding(books, name, `--merchant M1 ${words} --by Ada`)
    .requiredOption('--merchant <no>', 'whose entries they are')
    .option('--ledger <number>', 'batch number of an entry of the ledger (may be repeated)', collect, [])
    .option('--own <number>', 'own number of an entry of a book (may be repeated)', collect, [])
    .option('--book <name>', 'the book of the own numbers, where several have them');

const namedOf = ({ merchant, ledger, own, book }: EntryFlags) => ({
  merchantNo: merchantNoFlag('--merchant', merchant),
  entries: {
    ledger: [...new Set(ledger)],
    own: [...new Set(own)].map((number) => ({ book: book ?? null, number })),
  },
});

/** Decides, and says what came of it. */
const act = (self: Command, decision: Decision): Promise<void> => {
  const note = textFlag(self.opts<{ readonly note?: string }>().note, 'say why') ?? null;
  return answer(self, async ({ db, settings, times, now }) => {
    const { by } = auditEventOf(self, '');
    const decided = await decide({ db, settings, now: now(), zone: times.zone, by, note }, decision);
    return { document: decided, text: decidedText(decision, decided, by) };
  });
};

function decidedText(decision: Decision, { match, entries }: Decided, by: string): string {
  if (decision.step === 'assign')
    return line`${counted(entries, 'entry', 'entries')} assigned to ${decision.to ?? by}`;
  if (match === null) return 'the match is taken back; its entries are free for the rules again';
  const { id, difference, differenceType, currency, waitsForApproval, undoBy } = match;
  if (undoBy !== null)
    return `match ${id} was approved, so it stays until another person runs \`daybook books approve ${id}\``;
  if (decision.step === 'undo')
    return `match ${id} is taken back, and no rule matches its entries again; \`daybook books undo ${id} --note TEXT\` leaves them to the rules`;
  if (waitsForApproval)
    return `match ${id} waits for approval, and its entries count as unmatched until then; another person runs \`daybook books approve ${id}\``;
  if (decision.step === 'approve') return `match ${id} is approved, and its entries count as matched`;
  const off = differenceType === null ? '' : `, with ${moneyText(difference, currency)} as ${differenceType}`;
  return line`${decision.step === 'writeoff' ? 'written off' : 'matched by hand'}: match ${id}${off}`;
}

function addDecisionsOnEntries(books: Command): void {
  addOfEntries(books, 'accept', '--ledger B7 --own 4711 --own 4712 --type fee')
    .argument('[answer]', 'an answer that `books propose` lists, in place of entries')
    .description('match entries of both sides: an answer of a proposal, or the entries that are named')
    .option('--type <type>', 'what the difference of their sums is, if there is one; for example fee')
    .option('--note <text>', 'kept with it')
    .action((answer: string | undefined, flags: EntryFlags, self: Command) => {
      const type = flags.type ?? null;
      const { merchantNo, entries } = namedOf(flags);
      if (answer === undefined) return act(self, { step: 'match', merchantNo, entries, type });
      if (entries.ledger.length + entries.own.length > 0)
        throw new UsageError('an answer and entries are named; name one or the other.');
      return act(self, { step: 'accept', merchantNo, answer, type });
    });
  addOfEntries(books, 'writeoff', '--own 4714 --type error --note "recorded twice"')
    .description('write off entries that have no counterpart, or the difference of those that have')
    .requiredOption('--type <type>', 'what is written off, for example fee or error')
    .requiredOption('--note <text>', 'the reason; kept with it')
    .action((flags: EntryFlags, self: Command) =>
      act(self, { step: 'writeoff', ...namedOf(flags), type: flags.type! }),
    );
  addOfEntries(books, 'assign', '--own 4714 --to Grace --due 2026-04-30')
    .description('say who is responsible for unmatched entries')
    .option('--to <name>', 'who: an operator of the merchant (default: the name of --by)')
    .option('--due <day>', 'by when, YYYY-MM-DD')
    .option('--note <text>', 'kept with it')
    .action((flags: EntryFlags, self: Command) => {
      const to = textFlag(flags.to, 'name the person, or leave it out', '--to') ?? null;
      return act(self, { step: 'assign', ...namedOf(flags), to, due: flags.due ?? null });
    });
}

function addDecisionsOnMatches(books: Command): void {
  const add = (step: 'undo' | 'approve', words: string): Command =>
    addDeciding(books, step, words)
      .argument('<id>', 'the match’s number')
      .action((id: string, _, self: Command) =>
        act(self, { step, merchantNo: null, id: idFlag(id, `${id} is no number of a match.`) }),
      );
  add('undo', '12 --note "other order" --by Ada')
    .description('take a match back; the entries of a rule’s match are then left to people')
    .requiredOption('--note <text>', 'the reason; kept with it');
  add('approve', '12 --by Grace')
    .description(
      'approve what another person decided about an amount above BOOKS_APPROVAL_ABOVE, or that it is taken back',
    )
    .option('--note <text>', 'kept with it');
}
