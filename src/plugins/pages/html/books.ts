/** The pages of own books: what is unmatched of each account, and the page on which people decide about an account's entries. */
import type { Account, BusinessDay } from '../../../ledger/entry.ts';
import { addAmounts, compareAmounts, subtractAmounts } from '../../../ledger/money.ts';
import type {
  BookFigures,
  ListedMatch,
  MatchEntry,
  OpenEntry,
  Proposed,
  UnmatchedCount,
} from '../../../ledger/own-books.ts';
import { isSamePerson } from '../../../ledger/people.ts';
import { addressWith, booksAddress, entryAddress } from './addresses.ts';
import { html, when, type Html, type Part } from './html.ts';
import { accountPart } from './names.ts';
import { dayTime, link, pagingLinks, scrolling, table, type Column } from './parts.ts';
import { page, saidPart, type Said, type View } from './view.ts';

const isOperator = ({ person }: View): boolean => person?.role === 'operator';
const isZero = (amount: string): boolean => compareAmounts(amount, '0') === 0;

/** `mapping` is what was typed before, or an example. */
export function booksPage(
  view: View,
  counts: readonly UnmatchedCount[],
  { said, mapping }: { readonly said: Said | null; readonly mapping: string },
): string {
  const { books } = view.texts;
  return page(view, {
    title: books.title,
    section: 'status',
    content: html`<p class="up">${link('/status', view.texts.status.title)}</p>
      <h1 id="list">${books.title}</h1>
      <p class="soft">${books.about}</p>
      ${saidPart(view, said)}
      ${
        counts.length === 0
          ? html`<p>${books.none}</p>`
          : table({ by: 'list' }, counts, [
              [books.account, (one) => accountPart(view, one, booksAddress(one)), 'name'],
              [books.state, (one) => statePart(view, one), 'line'],
              [books.onlyThere, ({ ledger }) => view.format.count(ledger), 'number'],
              [books.onlyHere, ({ book }) => view.format.count(book), 'number'],
              [books.oldest, ({ oldest }) => oldest && dayTime(view, oldest), 'line'],
              [books.waiting, ({ waiting }) => view.format.count(waiting), 'number'],
            ])
      }
      ${when(isOperator(view), () => importForm(view, mapping))}`,
  });
}

/** Whether all is matched. */
function statePart({ texts: { books } }: View, { ledger, book, isChanged }: UnmatchedCount): Html {
  if (isChanged) return html`<span class="s explained">${books.notMatched}</span>`;
  return ledger + book === 0
    ? html`<span class="s proven">${books.agrees}</span>`
    : html`<span class="s broken">${books.open}</span>`;
}

export interface BookShown {
  readonly account: Account;
  readonly counts: UnmatchedCount;
  /** The newest day first. */
  readonly figures: readonly BookFigures[];
  readonly open: readonly OpenEntry[];
  readonly hasMore: boolean;
  /** Those of this page, of so many; the first one has the place `skipped`, from 0. */
  readonly proposals: readonly Proposed[];
  readonly proposalsCount: number;
  readonly skipped: number;
  readonly matches: readonly ListedMatch[];
  readonly said: Said | null;
  /** What was typed and chosen in a form that was checked or refused. */
  readonly typed: {
    readonly chosen: readonly string[];
    readonly type: string;
    readonly note: string;
    /** The chosen answers, each with the type of its difference. */
    readonly answers: ReadonlyMap<string, string>;
    readonly answersNote: string;
  };
  /** Who may be responsible; null where others than those named may be, too. */
  readonly operators: readonly string[] | null;
  readonly today: BusinessDay;
}

export function bookPage(given: View, shown: BookShown): string {
  const { books } = given.texts;
  const { account, counts, said, figures } = shown;
  const none = subtractAmounts(figures[0]?.ledger ?? '0', figures[0]?.ledger ?? '0');
  // With as many decimals as the account's figures, so that columns of amounts are aligned.
  const amount = (exact: string): string => given.format.amount(addAmounts(exact, none));
  const view = { ...given, format: { ...given.format, amount } };
  return page(view, {
    title: `${books.title}: ${account.merchantNo} ${account.currency}`,
    section: 'status',
    content: html`<p class="up">${link('/books', books.title)}</p>
      <h1>${accountPart(view, account)} ${statePart(view, counts)}</h1>
      ${saidPart(view, said)} ${when(counts.isChanged, () => html`<p>${books.changed}</p>`)}
      ${sumPart(view, shown)} ${when(shown.proposals.length > 0, () => proposalsPart(view, shown))}
      ${unmatchedPart(view, shown)} ${figuresPart(view, shown)} ${matchesPart(view, shown)}`,
  });
}

/** The newest day as the sum that it is: what the two sides differ by, and what explains it. */
function sumPart(view: View, { figures: [last], counts, account }: BookShown): Part {
  if (last === undefined) return null;
  const { texts, format } = view;
  const { books } = texts;
  const row = (name: Part, amount: string, className: string | null = null): Html =>
    html`<tr class="${className}">
      <th scope="row">${name}</th>
      <td class="n">${format.amount(amount)}</td>
    </tr> `;
  const counted = (name: string, count: number): Html =>
    html`${name} <span class="soft">${books.entries(format.count(count))}</span>`;
  const explained = addAmounts(subtractAmounts(last.onlyThere, last.onlyHere), last.difference);
  return scrolling(
    { label: books.sum },
    html`<table class="sum">
      <caption>
        ${books.sumTo(account.currency)} ${dayTime(view, last.day)}
      </caption>
      <tbody>
        ${row(books.ledger, last.ledger)} ${row(html`− ${books.book}`, last.book)}
        ${row(books.difference, subtractAmounts(last.ledger, last.book), 'total')}
        ${row(counted(books.onlyThere, counts.ledger), last.onlyThere)}
        ${row(counted(`− ${books.onlyHere}`, counts.book), last.onlyHere)}
        ${row(`+ ${books.differences}`, last.difference)} ${row(books.explained, explained, 'total')}
      </tbody>
    </table>`,
  );
}

function figuresPart(view: View, { figures }: BookShown): Html {
  const { texts, format } = view;
  const { books } = texts;
  const isEven = ({ onlyThere, onlyHere }: BookFigures): boolean => isZero(onlyThere) && isZero(onlyHere);
  const amounts = ['ledger', 'book', 'matched', 'onlyThere', 'onlyHere', 'difference'] as const;
  return html`<h2 id="figures">${books.figures}</h2>
    <p class="soft">${books.figuresAbout}</p>
    ${table({ by: 'figures' }, figures, [
      [books.day, ({ day }) => dayTime(view, day), 'nameLine'],
      [
        books.state,
        (one) =>
          isEven(one)
            ? html`<span class="s proven">${books.agrees}</span>`
            : html`<span class="s broken">${books.open}</span>`,
        'line',
      ],
      ...amounts.map((key): Column<BookFigures> => [
        key === 'difference' ? books.differences : books[key],
        (one) => format.amount(one[key]),
        'number',
      ]),
    ])}`;
}

const formOf = (view: View, { account }: BookShown, content: Part): Html =>
  html`<form method="post" action="${booksAddress(account)}">
    <input type="hidden" name="form_token" value="${view.formToken}" />${content}
  </form>`;

/** The book, unless it is the one that has no name. */
const bookPart = (book: string | null): Part => when(book !== null && book !== 'books', () => ` (${book})`);

type Shown = ListedMatch['entries'][number];

/** Entries of one side and, in a column next to it, their amounts, a line each. */
function sideColumns<Row>(
  view: View,
  side: MatchEntry['side'],
  entriesOf: (row: Row) => readonly Shown[],
): Column<Row>[] {
  const { books } = view.texts;
  const lines = (row: Row, of: (entry: Shown) => Part): Part =>
    entriesOf(row)
      .filter((one) => one.side === side)
      .map((one, nth) => [when(nth > 0, () => html`<br />`), of(one)]);
  const name = ({ number, day, book }: Shown): Part => [number, bookPart(book), ', ', dayTime(view, day)];
  return [
    [side === 'ledger' ? books.ledger : books.book, (row) => lines(row, name), 'line'],
    [books.amount, (row) => lines(row, ({ amount }) => view.format.amount(amount)), 'number'],
  ];
}

const differenceOf = (entries: readonly Shown[]): string =>
  entries.reduce(
    (sum, { side, amount }) => (side === 'ledger' ? addAmounts : subtractAmounts)(sum, amount),
    '0',
  );

/** The name of the answers to a proposal, of which one is chosen. */
export const answerName = (nth: number): string => `answer${nth}`;
/** The name of the type of their differences. */
export const answerTypeName = (nth: number): string => `type${nth}`;
export const PROPOSALS_SHOWN_MAX = 20;

function proposalsPart(view: View, shown: BookShown): Html {
  const { books } = view.texts;
  const { answers: chosen, answersNote } = shown.typed;
  const proposal = ({ reason, answers }: Proposed, nth: number): Html => {
    const choice = ({ id, entries }: Proposed['answers'][number]): Html =>
      html`<input
        type="radio"
        name="${answerName(nth)}"
        value="${id}"
        ${chosen.has(id) ? html` checked` : null}
        aria-label="${books.answer(entries.map(({ number }) => number).join(' and '))}"
      />`;
    return html`<h3 id="proposal${nth}">${reason}</h3>
      ${table({ by: `proposal${nth}` }, answers, [
        ...(isOperator(view) ? ([[books.choose, choice, 'line']] as const) : []),
        ...sideColumns<Proposed['answers'][number]>(view, 'ledger', ({ entries }) => entries),
        ...sideColumns<Proposed['answers'][number]>(view, 'book', ({ entries }) => entries),
        [books.difference, ({ entries }) => view.format.amount(differenceOf(entries)), 'number'],
      ])}
      ${when(isOperator(view) && answers.some(({ entries }) => !isZero(differenceOf(entries))), () => {
        const name = answerTypeName(nth);
        const typed = answers.flatMap(({ id }) => chosen.get(id) ?? [])[0] ?? '';
        return html`<p>
          <label for="${name}">${books.type}</label
          ><input id="${name}" name="${name}" maxlength="50" value="${typed}" />
        </p>`;
      })}`;
  };
  const all = shown.proposals.map(proposal);
  return html`<h2 id="proposals">${books.proposals}</h2>
    <p class="soft">${books.proposalsAbout}</p>
    ${
      isOperator(view)
        ? formOf(
            view,
            shown,
            html`${all}<input type="hidden" name="skipped" value="${shown.skipped}" />
              <p>
                <label for="answersNote">${books.answersNote}</label
                ><textarea id="answersNote" name="answersNote" rows="2" maxlength="1000">
${answersNote}</textarea>
              </p>
              <p><button class="main" name="step" value="accept">${books.accept}</button></p>`,
          )
        : all
    }
    ${proposalsPaging(view, shown)}`;
}

/** The ways to the other proposals, where there are more than a page shows. */
function proposalsPaging(view: View, { account, skipped, proposals, proposalsCount }: BookShown): Part {
  if (proposalsCount <= proposals.length) return null;
  const { books } = view.texts;
  const to = (place: number): string =>
    `${addressWith(booksAddress(account), { skipped: place === 0 ? null : place })}#proposals`;
  const [before, after] = [skipped - PROPOSALS_SHOWN_MAX, skipped + PROPOSALS_SHOWN_MAX];
  return html`<p>${books.proposalsShown(skipped + 1, skipped + proposals.length, proposalsCount)}</p>
    ${pagingLinks(view, [
      before >= 0 && [to(before), books.proposalsBefore],
      after < proposalsCount && [to(after), books.proposalsAfter],
    ])}`;
}

/** An entry as the value of its box, in characters that every page shows and sends as they are. */
export const boxOf = ({ book, number }: Pick<MatchEntry, 'book' | 'number'>): string =>
  (book === null ? ['ledger', number] : ['own', book, number]).map(encodeURIComponent).join(':');

/** The entry of a box; null where no page of ours has such a box. */
export function entryOfBox(box: string): Pick<MatchEntry, 'book' | 'number'> | null {
  const [side, ...names] = box.split(':');
  if (side === undefined || names.length !== (side === 'own' ? 2 : 1) || !['own', 'ledger'].includes(side))
    return null;
  try {
    const [book, number] = [null, ...names.map(decodeURIComponent)].slice(-2) as [string | null, string];
    return number === '' ? null : { book, number };
  } catch {
    return null;
  }
}

function unmatchedPart(view: View, shown: BookShown): Html {
  const { texts, format } = view;
  const { books } = texts;
  const { open, typed, account } = shown;
  const heading = html`<h2 id="unmatched">${books.unmatched}</h2>`;
  if (open.length === 0)
    return html`${heading}
      <p>${books.noUnmatched}</p>`;
  const box = (one: OpenEntry): Part =>
    when(
      one.matchRule === null || one.matchRule === 'apart',
      () =>
        html`<input
          type="checkbox"
          name="entry"
          value="${boxOf(one)}"
          aria-label="${books.choose} ${one.number}"
          ${when(typed.chosen.includes(boxOf(one)), () => html` checked`)}
        />`,
    );
  const amountOf = (side: OpenEntry['side']) => (one: OpenEntry) =>
    when(one.side === side, () => format.amount(one.amount));
  const owner = ({ owner: name, dueOn }: OpenEntry): Part => [
    name,
    when(dueOn !== null, () => html`, ${books.due} ${dayTime(view, dueOn!)}`),
  ];
  const state = ({ matchRule }: OpenEntry): Part =>
    when(
      matchRule !== null,
      () =>
        html`<span class="s explained">${matchRule === 'apart' ? books.rules.apart : books.waits}</span> `,
    );
  const rows = table({ by: 'unmatched' }, open, [
    ...(isOperator(view) ? ([[books.choose, box, 'line']] as const) : []),
    [books.day, ({ day }) => dayTime(view, day), 'line'],
    [books.inLedger, amountOf('ledger'), 'number'],
    [books.inBook, amountOf('book'), 'number'],
    [
      books.number,
      ({ book, number }) =>
        book === null ? link(entryAddress(account.merchantNo, number), number) : [number, bookPart(book)],
      'nameLine',
    ],
    [books.age, ({ ageDays }) => books.days(ageDays), 'number'],
    [books.owner, (one) => [state(one), owner(one)], 'state'],
    [books.reference, ({ reference }) => reference],
  ]);
  return html`${heading} ${when(shown.hasMore, () => html`<p>${books.shownFirst(open.length)}</p>`)}
  ${isOperator(view) ? formOf(view, shown, [rows, decisionFields(view, shown)]) : rows}`;
}

function decisionFields({ texts: { books } }: View, { typed, operators, today, proposals }: BookShown): Html {
  const person =
    operators === null
      ? html`<input id="to" name="to" />`
      : html`<select id="to" name="to">
          <option value="">${books.me}</option>
          ${operators.map((name) => html`<option>${name}</option>`)}
        </select>`;
  return html`<p>
      <label for="type">${books.type}</label
      ><input id="type" name="type" maxlength="50" value="${typed.type}" />
    </p>
    <p>
      <label for="note">${books.note}</label
      ><textarea id="note" name="note" rows="2" maxlength="1000">${typed.note}</textarea>
    </p>
    <p class="bar">
      <button name="step" value="check">${books.check}</button>
      <button name="step" value="match" ${when(proposals.length === 0, () => html`class="main"`)}>
        ${books.match}
      </button>
      <button name="step" value="writeoff">${books.writeOff}</button>
    </p>
    <details>
      <summary>${books.assignTitle}</summary>
      <p><label for="to">${books.to}</label>${person}</p>
      <p><label for="due">${books.dueOn}</label><input id="due" name="due" type="date" min="${today}" /></p>
      <p><button name="step" value="assign">${books.assign}</button></p>
    </details>`;
}

function matchesPart(view: View, shown: BookShown): Part {
  const { texts, person, format } = view;
  const { books } = texts;
  if (shown.matches.length === 0) return null;
  const waits = ({ waitsForApproval, rule }: ListedMatch): boolean => waitsForApproval && rule !== 'apart';
  const undo = ({ id }: ListedMatch): Html =>
    html`<details>
      <summary aria-label="${books.undoOne(id)}">${books.undo}</summary>
      <p>
        <label for="note${id}">${books.reason}</label
        ><input id="note${id}" name="note" maxlength="1000" size="16" />
      </p>
      <p><button name="step" value="undo">${books.undo}</button></p>
    </details>`;
  const forms = (match: ListedMatch): Html =>
    formOf(view, shown, [
      html`<input type="hidden" name="match" value="${match.id}" /><input
          type="hidden"
          name="seen"
          value="${match.decidedIn ?? ''}"
        />`,
      when(
        (waits(match) || match.undoBy !== null) &&
          !isSamePerson(match.undoBy ?? match.by ?? '', person!.name),
        () =>
          html`<button name="step" value="approve" aria-label="${books.approveOne(match.id)}">
            ${books.approve}
          </button>`,
      ),
      when(match.undoBy === null, () => undo(match)),
    ]);
  const made = (match: ListedMatch): Part => [
    books.rules[match.rule],
    when(match.differenceType !== null, () => `, ${match.differenceType}`),
    when(match.by !== null, () => `, ${match.by}`),
    when(waits(match), () => html`, <strong class="s explained">${books.waits}</strong>`),
    when(match.note !== null, () => html`: <q>${match.note}</q>`),
    when(
      match.undoBy !== null,
      () =>
        html`, <strong class="s explained">${books.undoWaits}</strong>,
          ${match.undoBy}${when(match.undoNote !== null, () => html`: <q>${match.undoNote}</q>`)}`,
    ),
  ];
  return html`<h2 id="matches">${books.matches}</h2>
    ${table({ by: 'matches' }, shown.matches, [
      [books.number, ({ id }) => id, 'name'],
      ...sideColumns<ListedMatch>(view, 'ledger', ({ entries }) => entries),
      ...sideColumns<ListedMatch>(view, 'book', ({ entries }) => entries),
      [
        books.difference,
        ({ difference, rule }) => when(rule !== 'apart', () => format.amount(difference)),
        'number',
      ],
      [books.rule, made, 'state'],
      ...(isOperator(view) ? ([[null, forms, 'line']] as const) : []),
    ])}`;
}

const importForm = (view: View, mapping: string): Html => {
  const { books } = view.texts;
  return html`<h2>${books.import}</h2>
    <p class="soft">${books.importAbout}</p>
    <form method="post" action="/books" enctype="multipart/form-data">
      <input type="hidden" name="form_token" value="${view.formToken}" />
      <p>
        <label for="mapping">${books.mapping}</label
        ><textarea id="mapping" name="mapping" rows="8" required>${mapping}</textarea>
      </p>
      <p><label for="file">${books.file}</label><input id="file" name="file" type="file" required /></p>
      <p><button class="main">${books.importButton}</button></p>
    </form>`;
};
