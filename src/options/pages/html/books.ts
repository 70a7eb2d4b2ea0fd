/** The pages of own books: what is unmatched of each account, and the page on which people decide about an account's entries. */
import type { Account, BusinessDay } from '../../../ledger/entry.ts';
import { compareAmounts } from '../../../ledger/money.ts';
import type {
  BookFigures,
  ListedMatch,
  MatchEntry,
  OpenEntry,
  Proposed,
  UnmatchedCount,
} from '../../../ledger/own-books.ts';
import { booksAddress, entryAddress } from './addresses.ts';
import { html, when, type Html, type Part } from './html.ts';
import { dayTime, link, table } from './parts.ts';
import { page, saidPart, type Said, type View } from './view.ts';

/** `mapping` is what was typed before. */
export function booksPage(
  view: View,
  counts: readonly UnmatchedCount[],
  { said, mapping }: { readonly said: Said | null; readonly mapping: string },
): string {
  const { books } = view.texts;
  return page(view, {
    title: books.title,
    section: null,
    content: html`<h1 id="list">${books.title}</h1>
      <p class="soft">${books.about}</p>
      ${saidPart(view, said)}
      ${
        counts.length === 0
          ? html`<p>${books.none}</p>`
          : table({ by: 'list' }, counts, [
              [books.account, (one) => link(booksAddress(one), `${one.merchantNo} ${one.currency}`), 'name'],
              [books.onlyThere, ({ ledger }) => ledger, 'number'],
              [books.onlyHere, ({ book }) => book, 'number'],
              [books.oldest, ({ oldest }) => oldest && dayTime(view, oldest), 'line'],
              [books.waiting, ({ waiting }) => waiting, 'number'],
            ])
      }
      ${when(view.person?.role === 'operator', () => importForm(view, mapping))}`,
  });
}

export interface BookShown {
  readonly account: Account;
  readonly figures: readonly BookFigures[];
  readonly isChanged: boolean;
  readonly open: readonly OpenEntry[];
  readonly hasMore: boolean;
  readonly proposals: readonly Proposed[];
  readonly matches: readonly ListedMatch[];
  readonly said: Said | null;
  /** What was typed and chosen in a form that was checked or refused. */
  readonly typed: TypedInBooks;
  /** Who may be responsible; null where others than those named may be, too. */
  readonly operators: readonly string[] | null;
  readonly today: BusinessDay;
}

export interface TypedInBooks {
  readonly chosen: readonly string[];
  readonly type: string;
  readonly note: string;
}

export const NOT_TYPED: TypedInBooks = { chosen: [], type: '', note: '' };

export function bookPage(view: View, shown: BookShown): string {
  const { books } = view.texts;
  const { account } = shown;
  return page(view, {
    title: `${books.title}: ${account.merchantNo} ${account.currency}`,
    section: null,
    content: html`<p class="up">${link('/books', books.title)}</p>
      <h1>${account.merchantNo} ${account.currency}</h1>
      ${saidPart(view, shown.said)} ${when(shown.isChanged, () => html`<p>${books.changed}</p>`)}
      ${figuresPart(view, shown)} ${proposalsPart(view, shown)} ${unmatchedPart(view, shown)}
      ${matchesPart(view, shown)}`,
  });
}

function figuresPart(view: View, { figures }: BookShown): Html {
  const { texts, format } = view;
  const { books } = texts;
  const isEven = ({ onlyThere, onlyHere, difference }: BookFigures): boolean =>
    [onlyThere, onlyHere, difference].every((amount) => compareAmounts(amount, '0') === 0);
  return html`<h2 id="figures">${books.figures}</h2>
    <p class="soft">${books.figuresAbout}</p>
    ${table({ by: 'figures' }, figures, [
      [books.day, ({ day }) => dayTime(view, day), 'nameLine'],
      [books.ledger, ({ ledger }) => format.amount(ledger), 'number'],
      [books.book, ({ book }) => format.amount(book), 'number'],
      [books.matched, ({ matched }) => format.amount(matched), 'number'],
      [books.onlyThere, ({ onlyThere }) => format.amount(onlyThere), 'number'],
      [books.onlyHere, ({ onlyHere }) => format.amount(onlyHere), 'number'],
      [books.differences, ({ difference }) => format.amount(difference), 'number'],
      [null, (one) => when(isEven(one), () => html`<span class="s proven">${books.agrees}</span>`), 'line'],
    ])}`;
}

const formOf = (view: View, { account }: BookShown, content: Part, more: Part = null): Html =>
  html`<form method="post" action="${booksAddress(account)}" ${more}>
    <input type="hidden" name="form_token" value="${view.formToken}" />${content}
  </form>`;

const entryText = (
  view: View,
  { book, side, number, day, amount }: Pick<MatchEntry, 'book' | 'side' | 'number' | 'day' | 'amount'>,
): Html =>
  html`${book ?? view.texts.books.sides[side]} <strong>${number}</strong>, ${dayTime(view, day)},
    ${view.format.amount(amount)}`;

const listed = (view: View, entries: ListedMatch['entries']): Part =>
  entries.map((one, nth) => html`${nth === 0 ? null : html`<br />`}${entryText(view, one)}`);

function proposalsPart(view: View, shown: BookShown): Html {
  const { books } = view.texts;
  const isOperator = view.person?.role === 'operator';
  const answerOf = (id: string, entries: readonly MatchEntry[]): Html =>
    isOperator
      ? html`<p>
          <label><input type="radio" name="answer" value="${id}" required /> ${listed(view, entries)}</label>
        </p>`
      : html`<p>${listed(view, entries)}</p>`;
  return html`<h2>${books.proposals}</h2>
    ${when(shown.proposals.length === 0, () => html`<p>${books.noProposal}</p>`)}
    ${shown.proposals.map(({ reason, answers }) => {
      const choices = html`<fieldset>
        <legend>${reason}</legend>
        ${answers.map(({ id, entries }) => answerOf(id, entries))}
        ${when(isOperator, () => html`<p><button class="main" name="step" value="accept">${books.accept}</button></p>`)}
      </fieldset>`;
      return isOperator ? formOf(view, shown, choices) : choices;
    })}`;
}

/** An entry as the value of its box. */
export const boxOf = ({ side, book, number }: Pick<MatchEntry, 'side' | 'book' | 'number'>): string =>
  JSON.stringify(side === 'ledger' ? [number] : [number, book]);

function unmatchedPart(view: View, shown: BookShown): Html {
  const { texts, format, person } = view;
  const { books } = texts;
  const { open, typed, account } = shown;
  if (open.length === 0)
    return html`<h2>${books.unmatched}</h2>
      <p>${books.noUnmatched}</p>`;
  const isOperator = person?.role === 'operator';
  const box = (one: OpenEntry): Part => {
    const value = boxOf(one);
    const isChosen = typed.chosen.includes(value);
    return html`<input
      type="checkbox"
      name="entry"
      value="${value}"
      aria-label="${books.choose} ${one.number}"
      ${isChosen ? html` checked` : null}
    />`;
  };
  const rows = table({ by: 'unmatched' }, open, [
    ...(isOperator ? ([[books.choose, box, 'line']] as const) : []),
    [
      books.number,
      ({ side, number }) =>
        side === 'ledger' ? link(entryAddress(account.merchantNo, number), number) : number,
      'nameId',
    ],
    [books.side, ({ side, book }) => book ?? books.sides[side], 'line'],
    [books.day, ({ day }) => dayTime(view, day), 'line'],
    [books.amount, ({ amount }) => format.amount(amount), 'number'],
    [books.age, ({ ageDays }) => books.days(ageDays), 'line'],
    [
      books.owner,
      ({ owner, dueOn }) =>
        html`${owner}${when(dueOn !== null, () => html`, ${books.due} ${dayTime(view, dueOn!)}`)}`,
      'line',
    ],
    [
      books.reference,
      ({ reference, matchRule }) =>
        matchRule === null
          ? reference
          : [matchRule === 'apart' ? books.rules.apart : books.waits, ' ', reference],
      'wide',
    ],
  ]);
  return html`<h2 id="unmatched">${books.unmatched}</h2>
    ${when(shown.hasMore, () => html`<p>${books.shownFirst(open.length)}</p>`)}
    ${isOperator ? formOf(view, shown, [rows, decisionFields(view, shown)]) : rows}`;
}

function decisionFields({ texts: { books } }: View, { typed, operators, today }: BookShown): Html {
  const person =
    operators === null
      ? html`<input id="to" name="to" />`
      : html`<select id="to" name="to">
          <option value=""></option>
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
    <p>
      <button name="step" value="check">${books.check}</button>
      <button name="step" value="match" class="main">${books.match}</button>
      <button name="step" value="writeoff">${books.writeOff}</button>
    </p>
    <p><label for="to">${books.to}</label>${person}</p>
    <p><label for="due">${books.dueOn}</label><input id="due" name="due" type="date" min="${today}" /></p>
    <p><button name="step" value="assign">${books.assign}</button></p>`;
}

function matchesPart(view: View, shown: BookShown): Part {
  const { texts, person } = view;
  const { books } = texts;
  if (shown.matches.length === 0) return null;
  const forms = (match: ListedMatch): Html =>
    formOf(
      view,
      shown,
      html`<input type="hidden" name="match" value="${match.id}" />
        <label>${books.reason} <input name="note" maxlength="1000" size="12" /></label>
        <button name="step" value="undo" aria-label="${books.undoOne(match.id)}">${books.undo}</button>
        ${when(match.waitsForApproval && match.rule !== 'apart', () => html`<button name="step" value="approve" aria-label="${books.approveOne(match.id)}">${books.approve}</button>`)}`,
      html`class="line"`,
    );
  return html`<h2 id="matches">${books.matches}</h2>
    ${table({ by: 'matches' }, shown.matches, [
      [books.number, ({ id }) => id, 'name'],
      [
        books.rule,
        ({ rule, by, note, waitsForApproval }) =>
          html`${books.rules[rule]}${when(by !== null, () => html`, ${by}`)}${when(waitsForApproval && rule !== 'apart', () => html`, <strong>${books.waits}</strong>`)}${when(note !== null, () => html`: <q>${note}</q>`)}`,
        'wide',
      ],
      [books.unmatched, ({ entries }) => listed(view, entries), 'line'],
      [
        books.differences,
        ({ difference, differenceType }) =>
          when(differenceType !== null, () => html`${view.format.amount(difference)} ${differenceType}`),
        'number',
      ],
      ...(person?.role === 'operator' ? ([[null, forms, 'line']] as const) : []),
    ])}`;
}

const importForm = (view: View, mapping: string): Html => {
  const { books } = view.texts;
  return html`<h2>${books.import}</h2>
    <form method="post" action="/books" enctype="multipart/form-data">
      <input type="hidden" name="form_token" value="${view.formToken}" />
      <p>
        <label for="mapping">${books.mapping}</label
        ><textarea id="mapping" name="mapping" rows="6" cols="40" required>${mapping}</textarea>
      </p>
      <p><label for="file">${books.file}</label><input id="file" name="file" type="file" required /></p>
      <p><button>${books.importButton}</button></p>
    </form>`;
};
