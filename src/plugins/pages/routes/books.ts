/** `/books` and `/books/MERCHANT/CURRENCY`: own books, and what people decide about their entries. */
import { ownBooksSlot } from '../../../months/own-books.ts';
import { addDays } from '../../../ledger/business-day.ts';
import { ExpectedError } from '../../../ledger/ending.ts';
import type { Account } from '../../../ledger/entry.ts';
import {
  sumsOfSides,
  type DecidedMatch,
  type Decision,
  type Named,
  type OpenEntry,
} from '../../../ledger/own-books.ts';
import { namedOperators } from '../../../run/operators.ts';
import type { Deciding, OwnBooks } from '../../../months/own-books.ts';
import { booksAddress } from '../html/addresses.ts';
import {
  answerName,
  answerTypeName,
  bookPage,
  booksPage,
  boxOf,
  entryOfBox,
  PROPOSALS_SHOWN_MAX,
  type BookShown,
} from '../html/books.ts';
import type { Said } from '../html/view.ts';
import {
  maySee,
  PageRefusal,
  withNames,
  type Asked,
  type DoForm,
  type MakePage,
  type PagesContext,
} from './context.ts';
import { accountIn } from './day.ts';

const DAYS_SHOWN = 31;
const OPEN_SHOWN_MAX = 200;
const MATCHES_SHOWN_MAX = 30;
/** So long a form waits for other work on the books of the merchant. */
const LOCK_MS_MAX = 3_000;

function ownBooks(): OwnBooks {
  const found = ownBooksSlot.part();
  if (found === null) throw new PageRefusal(404);
  return found;
}

const decidingOf = ({ db, settings, now, zone }: PagesContext, { person, field }: Asked): Deciding => {
  const note = field(field('step') === 'accept' ? 'answersNote' : 'note')?.trim() || null;
  return { db, settings, now: now(), zone, by: person.name, note, lockMs: LOCK_MS_MAX };
};

/** How many proposals stand before the first one that is shown: complete pages of them. */
function skippedIn({ query, field }: Asked, count: number): number {
  const asked = Number(/^\d{1,6}$/.exec(field('skipped') ?? query('skipped') ?? '')?.[0] ?? 0);
  const last = Math.max(count - 1, 0);
  return Math.floor(Math.min(asked, last) / PROPOSALS_SHOWN_MAX) * PROPOSALS_SHOWN_MAX;
}

/** The chosen answers of the proposals, each with the type of its difference. */
const answersIn = ({ field }: Asked) =>
  Array.from({ length: PROPOSALS_SHOWN_MAX }, (_, nth) => nth).flatMap((nth) => {
    const answer = field(answerName(nth));
    return answer === null ? [] : [{ answer, type: field(answerTypeName(nth))?.trim() || null }];
  });

/** Does what a form asks for; the page again, with what is in the way, where it cannot be done. */
async function tried<Done extends Awaited<ReturnType<DoForm>>>(
  act: () => Promise<Done>,
  shown: (said: Said) => Promise<string>,
): Promise<Done | { readonly refusedPage: string }> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    return { refusedPage: await shown({ text: error.message, isWrong: true }) };
  }
}

export const showBooks: MakePage = (context, asked) => shownBooks(context, asked, null);

async function shownBooks(context: PagesContext, { view, person, field }: Asked, said: Said | null) {
  const counts = await ownBooks().counts(context.db, person.merchants);
  const named = await withNames(
    context,
    view,
    counts.map(({ merchantNo }) => merchantNo),
  );
  const example = view.texts.books.mappingExample(counts[0]?.merchantNo ?? person.merchants?.[0] ?? 'NUMBER');
  return booksPage(named, counts, { said, mapping: field('mapping') ?? example });
}

/** Imports a file. */
export const doImport: DoForm = async (context, asked) => {
  const desk = await ownBooks().desk();
  const shown = (said: Said): Promise<string> => shownBooks(context, asked, said);
  const [file, mapping] = [asked.file('file'), asked.field('mapping')];
  if (file === null || mapping === null)
    return { refusedPage: await shown({ text: asked.view.texts.books.fileMissing, isWrong: true }) };
  return tried(async () => {
    const isAllowed = (merchantNo: string): boolean => maySee(asked.person, merchantNo);
    const text = await desk.takeIn(decidingOf(context, asked), {
      ...{ isAllowed, mapping, ...file },
      signal: asked.left,
    });
    return { page: await shown({ text, isWrong: false }) };
  }, shown);
};

export const showBook: MakePage = (context, asked) => {
  const { done } = asked.view.texts.books;
  const text = new Map<string, string>(Object.entries(done)).get(asked.query('done') ?? '');
  return shownBook(context, asked, text === undefined ? null : { text, isWrong: false });
};

async function shownBook(context: PagesContext, asked: Asked, said: Said | null): Promise<string> {
  const { db, settings } = context;
  const account = accountIn(asked);
  const { merchantNo, currency } = account;
  const { today, field } = asked;
  const books = ownBooks();
  const counts = (await books.counts(db, [merchantNo])).find((one) => one.currency === currency);
  if (counts === undefined) throw new PageRefusal(404);
  const desk = await books.desk();
  const open = await openOf(context, asked);
  const figures = await books.figures(db, account, '0001-01-01', addDays(today, DAYS_SHOWN));
  const proposals = await desk.proposed(db, { merchantNo, currency, rules: settings.books, today });
  const asksAnswers = field('step') === 'accept';
  const typed = {
    ...{ chosen: asked.fields('entry'), type: field('type') ?? '' },
    note: asksAnswers ? '' : (field('note') ?? ''),
    answers: new Map(answersIn(asked).map(({ answer, type }) => [answer, type ?? ''])),
    answersNote: field('answersNote') ?? '',
  };
  const skipped = skippedIn(asked, proposals.length);
  return bookPage(await withNames(context, asked.view, [merchantNo]), {
    ...{ account, said, typed, today, counts },
    figures: figures.slice(-DAYS_SHOWN).toReversed(),
    open: open.slice(0, OPEN_SHOWN_MAX),
    hasMore: open.length > OPEN_SHOWN_MAX,
    proposals: proposals.slice(skipped, skipped + PROPOSALS_SHOWN_MAX),
    proposalsCount: proposals.length,
    skipped,
    matches: await desk.matches(db, account, MATCHES_SHOWN_MAX),
    operators: namedOperators(merchantNo, settings.access.roles),
  } satisfies BookShown);
}

/** One more than is shown, if there are more. */
async function openOf({ db }: PagesContext, asked: Asked): Promise<OpenEntry[]> {
  const { merchantNo, currency } = accountIn(asked);
  const filter = { merchants: [merchantNo], currencies: [currency], limit: OPEN_SHOWN_MAX + 1 };
  return (await ownBooks().desk()).open(db, asked.today, filter);
}

export const doBook: DoForm = (context, asked) => {
  const account = accountIn(asked);
  const { books } = asked.view.texts;
  let answers = 0;
  return tried(
    async () => {
      if (asked.field('step') === 'check') {
        const text = await sumsText(context, asked);
        return { page: await shownBook(context, asked, { text, isWrong: false }) };
      }
      const desk = await ownBooks().desk();
      const deciding = decidingOf(context, asked);
      let done = '';
      for (const decision of decisionsIn(asked, account)) {
        const { match } = await desk.decide(deciding, decision);
        answers += decision.step === 'accept' ? 1 : 0;
        if (done !== 'waits') done = isWaiting(match) ? 'waits' : decision.step;
        if (decision.step === 'undo' && match !== null && match.undoBy !== null) done = 'undoWaits';
      }
      if (done !== '') return { doneAt: `${booksAddress(account)}?done=${done}` };
      const said = { text: books.answerMissing, isWrong: true };
      return { refusedPage: await shownBook(context, asked, said) };
    },
    // Answers before the one that is refused are matched.
    (said) => shownBook(context, asked, { ...said, text: books.answersDone(answers) + said.text }),
  );
};

const isWaiting = (match: DecidedMatch | null): boolean =>
  match !== null && match.waitsForApproval && match.rule !== 'apart';

/** One, or one for each proposal that is answered. Throws `PageRefusal` for what no form of ours sends. */
function decisionsIn(asked: Asked, { merchantNo }: Account): Decision[] {
  const { field, fields } = asked;
  const step = field('step') ?? '';
  const type = field('type')?.trim() || null;
  switch (step) {
    case 'accept':
      return answersIn(asked).map((one) => ({ step, merchantNo, ...one }));
    case 'match':
    case 'writeoff':
      return [{ step, merchantNo, entries: namedIn(fields('entry')), type }];
    case 'assign': {
      const [to, due] = [field('to')?.trim() || null, field('due')];
      return [{ step, merchantNo, entries: namedIn(fields('entry')), to, due }];
    }
    case 'undo':
    case 'approve':
      return [{ step, merchantNo, id: numberIn(field('match')) ?? 0, seen: numberIn(field('seen')) }];
    default:
      throw new PageRefusal(400);
  }
}

const numberIn = (text: string | null): number | null => {
  const [found] = /^\d{1,15}$/.exec(text ?? '') ?? [];
  return found === undefined ? null : Number(found);
};

/** The entries of the boxes. */
function namedIn(chosen: readonly string[]): Named {
  const entries = chosen.map((box) => {
    const entry = entryOfBox(box);
    if (entry === null) throw new PageRefusal(400);
    return entry;
  });
  return {
    ledger: entries.flatMap(({ book, number }) => (book === null ? [number] : [])),
    own: entries.filter(({ book }) => book !== null),
  };
}

/** What the chosen entries add up to. */
async function sumsText(context: PagesContext, asked: Asked): Promise<string> {
  const chosen = asked.fields('entry');
  const open = (await openOf(context, asked)).filter((one) => chosen.includes(boxOf(one)));
  const { ledger, book, difference } = sumsOfSides(open);
  return asked.view.texts.books.sums(ledger, book, difference);
}
