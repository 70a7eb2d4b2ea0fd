/** The list of breaks, and each as a case: the difference, its surroundings, the history and the allowed steps. */
import type { BusinessDay } from '../../../ledger/entry.ts';
import { causeOf, explain } from '../../../ledger/hints/stories.ts';
import type { AdjacentRow, BreakCase, CaseEvent } from '../../../run/break-case.ts';
import {
  BREAK_CHOICES,
  NOTE_CHARACTERS_MAX,
  type BreakChoice,
  type BreakStep,
  type Handling,
  type StepKind,
} from '../../../store/breaks/break-cases.ts';
import { knownBreak, type BreakRow } from '../../../store/breaks/breaks.ts';
import type { RequestRow } from '../../../store/requests.ts';
import { addressWith, breakAddress, entryAddress, unreadableAddress } from './addresses.ts';
import { curedParagraph, curedPart } from './cures.ts';
import { filled } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import { accountPart, merchantPart } from './names.ts';
import { amountColumns, dayLink, dayTime, link, pagingLinks, scrolling, table } from './parts.ts';
import { page, saidPart, type Said, type View } from './view.ts';
import { workForm } from './work.ts';

export interface BreakListed extends Handling {
  readonly row: BreakRow;
  /** Of an open one: how long ago it was found. */
  readonly ageDays: number | null;
}

export interface BreaksAsked {
  readonly merchant: string;
  readonly currency: string;
  readonly which: BreakChoice;
  readonly isMine: boolean;
}

export interface BreaksShown {
  readonly breaks: readonly BreakListed[];
  readonly asked: BreaksAsked;
  readonly today: BusinessDay;
  readonly page: number;
  readonly hasMore: boolean;
}

export function breaksPage(view: View, shown: BreaksShown): string {
  const { texts, address } = view;
  const { breaks, asked, page: number, hasMore } = shown;
  const isFiltered = asked.merchant !== '' || asked.currency !== '' || asked.which !== 'open' || asked.isMine;
  return page(view, {
    title: texts.breaks.title,
    section: 'breaks',
    content: html`<h1 id="list">${texts.breaks.title}</h1>
      ${filterForm(view, asked)}
      ${when(breaks.length === 0, () => html`<p>${isFiltered ? texts.breaks.nothingMatches : texts.breaks.nothing}</p>`)}
      ${when(isFiltered, () => html`<p>${link(view.isExact ? '/breaks?digits=exact' : '/breaks', texts.breaks.showOpen)}</p>`)}
      ${when(breaks.length > 0, () => breaksTable(view, shown))}
      ${pagingLinks(view, [
        number > 1 && [addressWith(address, { page: number - 1 }), texts.previous],
        hasMore && [addressWith(address, { page: number + 1 }), texts.next],
      ])}`,
  });
}

const filterForm = ({ texts: { breaks: texts }, isExact }: View, asked: BreaksAsked): Html =>
  html`<form class="line" method="get" action="/breaks" role="search">
    ${when(isExact, () => html`<input type="hidden" name="digits" value="exact" />`)}
    <p>
      <label for="merchant">${texts.merchant}</label
      ><input id="merchant" name="merchant" value="${asked.merchant}" />
    </p>
    <p>
      <label for="currency">${texts.currency}</label
      ><input id="currency" name="currency" size="5" value="${asked.currency}" />
    </p>
    <p>
      <label for="state">${texts.state}</label
      ><select id="state" name="state">
        ${BREAK_CHOICES.map((one) => html`<option value="${one}" ${one === asked.which ? html` selected` : null}>${texts.which[one]}</option>`)}
      </select>
    </p>
    <p>
      <label
        ><input type="checkbox" name="mine" value="yes" ${asked.isMine ? html` checked` : null} />
        ${texts.mine}</label
      >
    </p>
    <p><button>${texts.show}</button></p>
  </form>`;

const breaksTable = (view: View, { breaks, today }: BreaksShown): Html => {
  const { texts, format, person } = view;
  return table({ by: 'list' }, breaks, [
    [texts.breaks.id, ({ row }) => link(breakAddress(row.id), row.id), 'name'],
    [texts.breaks.account, ({ row }) => accountPart(view, knownBreak(row).account), 'line'],
    [texts.breaks.day, ({ row }) => dayLink(view, knownBreak(row).account, row.day), 'line'],
    [texts.breaks.net, ({ row }) => format.amount(row.missing_net), 'number'],
    [
      texts.breaks.state,
      ({ state }) => html`<span class="s ${state}">${texts.caseState[state]}</span>`,
      'line',
    ],
    [
      texts.breaks.age,
      ({ ageDays }) => when(ageDays !== null, () => html`${texts.breaks.days(ageDays!)}`),
      'line',
    ],
    [
      texts.breaks.owner,
      ({ row, takenBy }) =>
        takenBy ??
        when(
          row.status === 'open' && person?.role === 'operator',
          () =>
            html`<a href="${breakAddress(row.id)}#assign" aria-label="${texts.breaks.assignOne(row.id)}"
              >${texts.breaks.assign}</a
            >`,
        ),
      'line',
    ],
    [texts.breaks.due, ({ dueOn }) => when(dueOn !== null, () => dueTime(view, dueOn!, today)), 'line'],
    [
      texts.breaks.cause,
      ({ row, state }) => (state === 'healed' ? null : curedPart(texts, causeOf(knownBreak(row)))),
      'wide',
    ],
  ]);
};

/** A day by which something is due, marked where it is over. */
const dueTime = (view: View, due: BusinessDay, today: BusinessDay): Html =>
  html`${dayTime(view, due)}${when(due < today, () => html` <strong class="s broken">${view.texts.breaks.overdue}</strong>`)}`;

export interface CaseShown {
  readonly found: BreakCase;
  readonly steps: readonly BreakStep[];
  readonly message: string | null;
  /** The result of the last action. */
  readonly said: Said | null;
  /** What was typed in a form that was refused. */
  readonly typed: Typed;
  /** Who may be responsible for it: those that the settings name, null where others may be, too. */
  readonly operators: readonly string[] | null;
  readonly today: BusinessDay;
  /** Of a resolved break: how its day is published. */
  readonly decision: DecisionShown | null;
}

export interface Typed {
  readonly note: string;
  readonly to: string;
  /** As it came. */
  readonly due: string;
}

export interface DecisionShown {
  /** Whether something of the day is still to be published. */
  readonly isDue: boolean;
  /** Of the current statement; null where none is published. */
  readonly revision: number | null;
  readonly last: RequestRow | undefined;
}

export function casePage(view: View, shown: CaseShown): string {
  const { texts, format, person } = view;
  const { found, message, said } = shown;
  const { row, state, takenBy, dueOn } = found;
  const known = knownBreak(row);
  const at = (ms: number): Part => format.shown.instant(new Date(ms));
  const balance = (name: string, amount: string): Html =>
    html`<tr>
      <th scope="row">${name}</th>
      <td class="n">${format.amount(amount)} ${row.currency}</td>
    </tr>`;
  const { expected, found: inFact, difference, differenceExplained } = texts.case;
  const title = texts.case.title(row.id);
  return page(view, {
    title,
    section: 'breaks',
    script: message === null ? null : view.copyScript,
    content: html`<h1>${title} <span class="s ${state}">${texts.caseState[state]}</span></h1>
      ${saidPart(view, said)}
      <p>
        ${when(takenBy !== null, () => html`${texts.breaks.takenBy(takenBy!)} · `)}${when(dueOn !== null, () => html`${filled(texts.breaks.dueOn, dueTime(view, dueOn!, shown.today))} · `)}${merchantPart(view, row.merchant_no)}
        ${row.currency}, ${dayLink(view, known.account, row.day)},
        ${filled(texts.case.between, at(row.begin_ms), at(row.end_ms))}
      </p>
      ${curedParagraph(texts, explain(known))}
      ${when(row.note !== null, () => html`<blockquote>${row.note}</blockquote>`)}
      ${when(shown.decision !== null, () => decisionPart(view, found, shown.decision!))}
      ${scrolling(
        { label: texts.case.balances },
        html`<table>
          <tbody>
            ${balance(expected(row.before_batch_no), row.expected_balance)}
            ${balance(inFact, row.found_balance)}
            ${balance(row.status === 'resolved' ? differenceExplained : difference, row.missing_net)}
          </tbody>
        </table>`,
      )}
      <h2 id="rows">${texts.case.rows}</h2>
      ${rowsTable(view, found)} ${changedSection(view, found)} ${quarantineSection(view, found)}
      <h2>${texts.case.history}</h2>
      <ol>
        ${found.history.map((event) => eventItem(view, event))}
      </ol>
      ${person?.role === 'operator' ? stepForms(view, shown) : html`<p class="soft">${texts.case.viewer}</p>`}
      ${when(
        message !== null,
        () =>
          html`<h2 id="message">${texts.case.message}</h2>
            <pre
              tabindex="0"
              role="region"
              aria-labelledby="message"
              data-copy="${texts.case.copy}"
              data-copied="${texts.case.copied}"
              data-selected="${texts.case.selected}"
            >
${message}</pre>`,
      )}`,
  });
}

/** Whether the published statement carries the decision; else the way to publish it. */
const decisionPart = (view: View, { row }: BreakCase, { isDue, revision, last }: DecisionShown): Html => {
  const { work } = view.texts;
  if (!isDue && revision !== null) return html`<p>${work.carried(revision)}</p>`;
  const day = { kinds: ['publish'] as const, merchantNo: row.merchant_no, from: row.day, to: row.day };
  return html`<p class="said">${work.publishAfter}</p>
    ${workForm(view, { ...day, last })}`;
};

function rowsTable(view: View, { rows, row }: BreakCase): Html {
  const { texts, format } = view;
  if (rows.length === 0) return html`<p>${texts.case.noRows}</p>`;
  return table<AdjacentRow>(
    { by: 'rows' },
    rows,
    [
      [
        texts.day.batchNo,
        ({ entry: { batchNo } }) => link(entryAddress(row.merchant_no, batchNo), batchNo),
        'nameId',
      ],
      [texts.entry.booked, ({ entry }) => format.shown.instant(new Date(entry.bookedMs)), 'line'],
      [texts.day.type, ({ entry }) => entry.transactionType],
      ...amountColumns<AdjacentRow>(view, ({ entry }) => entry),
    ],
    {
      tableClass: 'entries',
      above: ({ break: found, isHere }) =>
        when(
          found !== null,
          () =>
            html`<tr class="break">
              <td colspan="6">${isHere ? texts.case.here : texts.case.another}</td>
            </tr>`,
        ),
    },
  );
}
const changedSection = ({ texts, format }: View, { changed, row }: BreakCase): Part =>
  when(
    changed.length > 0,
    () =>
      html`<h2>${texts.case.changed}</h2>
        <ul>
          ${changed.map(
            ({ batchNo, kind, at, explains }) =>
              html`<li>
                ${link(entryAddress(row.merchant_no, batchNo), batchNo)}:
                ${filled(texts.case.changedWhat[kind], format.shown.instant(at))}${when(explains, () => html` <strong>${texts.case.explains}</strong>`)}
              </li>`,
          )}
        </ul>`,
  );

const quarantineSection = ({ texts }: View, { quarantined }: BreakCase): Html =>
  html`<h2>${texts.case.quarantine}</h2>
    ${
      quarantined.length === 0
        ? html`<p>${texts.case.noQuarantine}</p>`
        : html`<ul>
            ${quarantined.map((one) => html`<li>${link(unreadableAddress(one.id), one.batchNo ?? one.id)}: ${one.reason}${when(one.explains, () => html` <strong>${texts.case.explains}</strong>`)}</li>`)}
          </ul>`
    }`;

const eventItem = ({ texts, format }: View, { what, at, by, note, assignment }: CaseEvent): Html =>
  html`<li>
    ${format.shown.instant(at)}:
    ${texts.case.historyWhat[what]}${when(assignment !== null && assignment.to !== by, () => html` ${texts.case.to(assignment!.to)}`)}${when(by !== null, () => html` ${texts.case.by(by!)}`)}${when((assignment?.due ?? null) !== null, () => html`, ${filled(texts.breaks.dueOn, format.shown.day(assignment!.due!))}`)}${when(note !== null, () => html`: <q>${note}</q>`)}
  </li>`;

function stepForms(view: View, shown: CaseShown): Html {
  const { actions } = view.texts.case;
  return html`<h2 id="assign">${actions}</h2>
    <div class="actions">
      ${shown.steps.map((step) => [stepForm(view, step, shown), when(step.kind === 'taken', () => stepForm(view, step, shown, true))])}
    </div>`;
}

const NAMES = { taken: 'take', commented: 'comment', resolved: 'resolve', reopened: 'reopen' } as const;

/** `isToOther`: of an assignment, the form with the name of the person. */
function stepForm(view: View, { kind, needsNote }: BreakStep, shown: CaseShown, isToOther = false): Html {
  const { texts, formToken } = view;
  const name = isToOther ? 'assign' : NAMES[kind];
  return html`<form method="post" action="${breakAddress(shown.found.row.id)}">
<input type="hidden" name="form_token" value="${formToken}"><input type="hidden" name="step" value="${kind}">
${when(isToOther, () => operatorField(view, shown))}${when(kind === 'taken', () => dueField(view, name, shown))}
<p><label for="note-${name}">${noteLabel(texts.case, kind, needsNote)}</label><textarea id="note-${name}" name="note" rows="2" cols="34" maxlength="${NOTE_CHARACTERS_MAX}"${needsNote ? html` required` : null}>${needsNote || isToOther ? shown.typed.note : null}</textarea></p>
<p><button${kind === 'resolved' ? html` class="main"` : null}>${texts.case[name]}</button></p>
</form>
`;
}

function operatorField({ texts }: View, { operators, typed }: CaseShown): Html {
  const field =
    operators === null
      ? html`<input id="to" name="to" required value="${typed.to}" />`
      : html`<select id="to" name="to" required>
          <option value=""></option>
          ${operators.map((name) => html`<option ${name === typed.to ? html` selected` : null}>${name}</option>`)}
        </select>`;
  return html`<p><label for="to">${texts.case.assignTo}</label>${field}</p>`;
}

const dueField = ({ texts }: View, name: string, { found, typed, today }: CaseShown): Html =>
  html`<p>
    <label for="due-${name}">${texts.case.due}</label
    ><input
      id="due-${name}"
      name="due"
      type="date"
      min="${found.dueOn !== null && found.dueOn < today ? found.dueOn : today}"
      value="${typed.due || found.dueOn}"
    />
  </p>`;

const noteLabel = (texts: View['texts']['case'], kind: StepKind, needsNote: boolean): string =>
  kind === 'resolved' ? texts.resolveNote : needsNote ? texts.note : texts.noteOptional;
