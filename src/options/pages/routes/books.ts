/** `/books` and `/books/MERCHANT/CURRENCY`: own books, and what people decide about their entries. */
import { addDays } from '../../../ledger/business-day.ts';
import type { Account } from '../../../ledger/entry.ts';
import { ExpectedError } from '../../../ledger/ending.ts';
import { addAmounts, subtractAmounts } from '../../../ledger/money.ts';
import type { Named, OpenEntry } from '../../../ledger/own-books.ts';
import { mayBeOperator, namedOperators } from '../../../run/operators.ts';
import { part } from '../../all.ts';
import type { Deciding, OwnBooks } from '../../option.ts';
import { booksAddress } from '../html/addresses.ts';
import { bookPage, booksPage, boxOf, NOT_TYPED, type TypedInBooks } from '../html/books.ts';
import type { Said } from '../html/view.ts';
import { isDay } from '../../../ledger/business-day.ts';
import { accountIn } from './day.ts';
import { maySee, PageRefusal, type Asked, type DoForm, type MakePage, type PagesContext } from './context.ts';

const DAYS_SHOWN = 31;
const OPEN_SHOWN_MAX = 200;
const PROPOSALS_SHOWN_MAX = 20;
const MATCHES_SHOWN_MAX = 30;
const NOTE_CHARACTERS_MAX = 1_000;
const TYPE = /^[\p{L}\p{N}][\p{L}\p{N} _-]{0,49}$/u;

function ownBooks(): OwnBooks {
  const found = part('ownBooks');
  if (found === null) throw new PageRefusal(404);
  return found;
}

export const showBooks: MakePage = (context, asked) => shownBooks(context, asked, null);

const shownBooks = async (
  { db }: PagesContext,
  { view, person, field }: Asked,
  said: Said | null,
): Promise<string> =>
  booksPage(view, await ownBooks().counts(db, person.merchants), { said, mapping: field('mapping') ?? '' });

/** Imports a file. */
export const doImport: DoForm = async (context, asked) => {
  const { db, settings, now, zone } = context;
  const { person, view } = asked;
  const desk = await ownBooks().desk();
  const [file, mapping] = [asked.file('file'), asked.field('mapping')];
  try {
    if (file === null || mapping === null) throw new Refused(view.texts.books.fileMissing);
    const event = { by: person.name, command: 'books import', note: file.name };
    const deciding = { db, rules: settings.books, now: now(), event };
    const isAllowed = (merchantNo: string): boolean => maySee(person, merchantNo);
    const text = await desk.takeIn(deciding, { isAllowed, mapping, zone, ...file });
    return { page: await shownBooks(context, asked, { text, isWrong: false }) };
  } catch (error) {
    if (!(error instanceof ExpectedError) && !(error instanceof Refused)) throw error;
    return { refusedPage: await shownBooks(context, asked, { text: error.message, isWrong: true }) };
  }
};

export const showBook: MakePage = (context, asked) => {
  const { done } = asked.view.texts.books;
  const given = asked.query('done');
  const text =
    given === 'assign'
      ? done.assign(Number(asked.query('count') ?? 1))
      : new Map(Object.entries(done)).get(given ?? '');
  return shownBook(context, asked, typeof text === 'string' ? { text, isWrong: false } : null, NOT_TYPED);
};

async function shownBook(
  { db, settings }: PagesContext,
  asked: Asked,
  said: Said | null,
  typed: TypedInBooks,
): Promise<string> {
  const account = accountIn(asked);
  const { merchantNo, currency } = account;
  const { today } = asked;
  const books = ownBooks();
  const counts = (await books.counts(db, [merchantNo])).find((one) => one.currency === currency);
  if (counts === undefined) throw new PageRefusal(404);
  const desk = await books.desk();
  const filter = { merchants: [merchantNo], currencies: [currency], limit: OPEN_SHOWN_MAX + 1 };
  const open = await desk.open(db, today, filter);
  const figures = await books.figures(db, account, '0001-01-01', addDays(today, DAYS_SHOWN));
  const proposals = await desk.proposed(db, { merchantNo, currency, rules: settings.books, today });
  return bookPage(asked.view, {
    ...{ account, said, typed, today, isChanged: counts.isChanged },
    figures: figures.slice(-DAYS_SHOWN).toReversed(),
    open: open.slice(0, OPEN_SHOWN_MAX),
    hasMore: open.length > OPEN_SHOWN_MAX,
    proposals: proposals.slice(0, PROPOSALS_SHOWN_MAX),
    matches: await desk.matches(db, account, MATCHES_SHOWN_MAX),
    operators: namedOperators(merchantNo, settings.access.roles),
  });
}

/** The page again, with what was wrong. */
class Refused extends Error {
  override readonly name = 'Refused';
}

export const doBook: DoForm = async (context, asked) => {
  const account = accountIn(asked);
  const typed: TypedInBooks = {
    chosen: asked.fields('entry'),
    ...{ type: asked.field('type')?.trim() ?? '', note: asked.field('note')?.trim() ?? '' },
  };
  try {
    const done = await step(context, asked, account, typed);
    if ('doneAt' in done) return done;
    return { page: await shownBook(context, asked, { text: done.text, isWrong: false }, typed) };
  } catch (error) {
    if (!(error instanceof ExpectedError) && !(error instanceof Refused)) throw error;
    return { refusedPage: await shownBook(context, asked, { text: error.message, isWrong: true }, typed) };
  }
};

type Done = { readonly doneAt: string } | { readonly text: string };

async function step(
  context: PagesContext,
  asked: Asked,
  account: Account,
  { chosen, type, note }: TypedInBooks,
): Promise<Done> {
  const { books } = asked.view.texts;
  const { merchantNo } = account;
  const which = asked.field('step') ?? '';
  const desk = await ownBooks().desk();
  if (note.length > NOTE_CHARACTERS_MAX) throw new Refused(books.noteLong(NOTE_CHARACTERS_MAX));
  if (type !== '' && !TYPE.test(type)) throw new Refused(books.typeWrong);
  const deciding = (command: string): Deciding => ({
    ...{ db: context.db, rules: context.settings.books, now: context.now() },
    event: { by: asked.person.name, command: `books ${command}`, note: note || undefined },
  });
  const doneAt = (done: string, count = 1): Done => ({
    doneAt: `${booksAddress(account)}?done=${done}&count=${count}`,
  });
  const id = Number(/^\d{1,15}$/.exec(asked.field('match') ?? '')?.[0] ?? 0);
  switch (which) {
    case 'check':
      return { text: await sumsText(context, asked, account, chosen) };
    case 'accept': {
      const match = await desk.accept(
        deciding('accept'),
        merchantNo,
        asked.field('answer') ?? '',
        type || null,
      );
      return doneAt(match.waitsForApproval ? 'waits' : 'match');
    }
    case 'match':
    case 'writeoff': {
      const isWriteOff = which === 'writeoff';
      if (isWriteOff && note === '') throw new Refused(books.noteMissing);
      if (isWriteOff && type === '') throw new Refused(books.typeMissing);
      const how = { differenceType: type || null, isWriteOff };
      const match = await desk.match(
        deciding(isWriteOff ? 'writeoff' : 'accept'),
        namedOf(merchantNo, chosen),
        how,
      );
      return doneAt(match.waitsForApproval ? 'waits' : which);
    }
    case 'undo':
      if (note === '') throw new Refused(books.noteMissing);
      await desk.undo(deciding('undo'), id, merchantNo);
      return doneAt('undo');
    case 'approve':
      await desk.approve(deciding('approve'), id, merchantNo);
      return doneAt('approve');
    case 'assign': {
      const event = { ...deciding('assign').event, assignment: assignmentIn(context, asked, merchantNo) };
      return doneAt(
        'assign',
        await desk.assign({ ...deciding('assign'), event }, namedOf(merchantNo, chosen)),
      );
    }
    default:
      throw new PageRefusal(400);
  }
}

/** The entries of the boxes. Throws `PageRefusal` for what no form of ours sends. */
function namedOf(merchantNo: string, chosen: readonly string[]): Named {
  const entries = chosen.map((box): unknown => {
    try {
      return JSON.parse(box);
    } catch {
      throw new PageRefusal(400);
    }
  });
  if (!entries.every(isBox)) throw new PageRefusal(400);
  return {
    merchantNo,
    ledger: entries.flatMap(([number, book]) => (book === undefined ? [number] : [])),
    own: entries.flatMap(([number, book]) => (book === undefined ? [] : [{ number, book }])),
  };
}

const isBox = (value: unknown): value is [number: string, book?: string] =>
  Array.isArray(value) &&
  (value.length === 1 || value.length === 2) &&
  value.every((one) => typeof one === 'string');

/** What the chosen entries add up to. */
async function sumsText(
  { db }: PagesContext,
  { today, view }: Asked,
  { merchantNo, currency }: Account,
  chosen: readonly string[],
): Promise<string> {
  const desk = await ownBooks().desk();
  const open = await desk.open(db, today, {
    merchants: [merchantNo],
    currencies: [currency],
    limit: OPEN_SHOWN_MAX,
  });
  const sum = (side: OpenEntry['side']): string =>
    open.reduce(
      (total, one) =>
        one.side === side && chosen.includes(boxOf(one)) ? addAmounts(total, one.amount) : total,
      '0',
    );
  const [ledger, book] = [sum('ledger'), sum('book')];
  return view.texts.books.sums(ledger, book, subtractAmounts(ledger, book));
}

function assignmentIn({ settings }: PagesContext, { field, person, today, view }: Asked, merchantNo: string) {
  const { books } = view.texts;
  const to = field('to')?.trim() ?? person.name;
  if (to !== person.name && !mayBeOperator(to, merchantNo, settings.access.roles))
    throw new Refused(books.noPerson);
  const given = field('due');
  const due = given !== null && isDay(given) ? given : null;
  if (given !== null && (due === null || due < today)) throw new Refused(books.dueWrong);
  return { to, due };
}
