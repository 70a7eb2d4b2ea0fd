/** The list of breaks, and each as a case: the difference, its surroundings, the history and the allowed steps. */
import { causeOf, explain } from '../../../ledger/hints/stories.ts';
import type { AdjacentRow, BreakCase, CaseEvent } from '../../../run/break-case.ts';
import {
  NOTE_CHARACTERS_MAX,
  type BreakStep,
  type CaseState,
  type StepKind,
} from '../../../store/breaks/break-cases.ts';
import { knownBreak, type BreakRow } from '../../../store/breaks/breaks.ts';
import type { RepeatRow } from '../../../store/repeats.ts';
import { addressWith, breakAddress, entryAddress } from './addresses.ts';
import { filled } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import { amountColumns, dayLink, link, pagingLinks, scrolling, table } from './parts.ts';
import { page, saidPart, type Said, type View } from './view.ts';
import { workForm } from './work.ts';

export interface BreakListed {
  readonly row: BreakRow;
  readonly state: CaseState;
  readonly takenBy: string | null;
}

export interface BreaksShown {
  readonly breaks: readonly BreakListed[];
  readonly all: boolean;
  readonly page: number;
  readonly hasMore: boolean;
}

export function breaksPage(view: View, { breaks, all, page: number, hasMore }: BreaksShown): string {
  const { texts, address } = view;
  const title = all ? texts.breaks.all : texts.breaks.open;
  return page(view, {
    title,
    section: 'breaks',
    content: html`<h1 id="list">${title}</h1>
      <p>
        ${link(addressWith(address, { all: all ? null : 'yes', page: null }), all ? texts.breaks.showOpen : texts.breaks.showAll)}
      </p>
      ${breaks.length === 0 ? html`<p>${all ? texts.breaks.nothingAtAll : texts.breaks.nothing}</p>` : breaksTable(view, breaks)}
      ${pagingLinks(view, [
        number > 1 && [addressWith(address, { page: number - 1 }), texts.previous],
        hasMore && [addressWith(address, { page: number + 1 }), texts.next],
      ])}`,
  });
}

const breaksTable = (view: View, breaks: readonly BreakListed[]): Html => {
  const { texts, format } = view;
  return table({ by: 'list' }, breaks, [
    [texts.breaks.id, ({ row }) => link(breakAddress(row.id), row.id), 'name'],
    [texts.breaks.account, ({ row }) => `${row.merchant_no} ${row.currency}`, 'line'],
    [texts.breaks.day, ({ row }) => dayLink(view, knownBreak(row).account, row.day), 'line'],
    [texts.breaks.net, ({ row }) => format.amount(row.missing_net), 'number'],
    [
      texts.breaks.state,
      ({ state, takenBy }) =>
        html`<span class="s ${state}">${texts.caseState[state]}</span
          >${when(takenBy !== null, () => html` ${texts.breaks.takenBy(takenBy!)}`)}`,
      'line',
    ],
    [texts.breaks.cause, ({ row, state }) => (state === 'healed' ? null : causeOf(knownBreak(row))), 'wide'],
  ]);
};

export interface CaseShown {
  readonly found: BreakCase;
  readonly steps: readonly BreakStep[];
  readonly message: string | null;
  /** The result of the last action. */
  readonly said: Said | null;
  /** The typed text of a refused note. */
  readonly note: string;
  /** Of a resolved break: how its day is published. */
  readonly decision: DecisionShown | null;
}

export interface DecisionShown {
  /** Whether something of the day is still to be published. */
  readonly isDue: boolean;
  /** Of the current statement; null where none is published. */
  readonly revision: number | null;
  readonly last: RepeatRow | undefined;
}

export function casePage(view: View, shown: CaseShown): string {
  const { texts, format, person } = view;
  const { found, message, said } = shown;
  const { row, state, takenBy } = found;
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
    content: html`<h1>${title} <span class="s ${state}">${texts.caseState[state]}</span></h1>
      ${saidPart(said)}
      <p>
        ${when(takenBy !== null, () => html`${texts.breaks.takenBy(takenBy!)} · `)}${row.merchant_no}
        ${row.currency}, ${dayLink(view, known.account, row.day)},
        ${filled(texts.case.between, at(row.begin_ms), at(row.end_ms))}
      </p>
      <p>${explain(known)}</p>
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
            <pre tabindex="0" role="region" aria-labelledby="message">${message}</pre>`,
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
            ${quarantined.map((one) => html`<li>${one.batchNo ?? one.id}: ${one.reason}${when(one.explains, () => html` <strong>${texts.case.explains}</strong>`)}</li>`)}
          </ul>`
    }`;

const eventItem = ({ texts, format }: View, { what, at, by, note }: CaseEvent): Html =>
  html`<li>
    ${format.shown.instant(at)}:
    ${texts.case.historyWhat[what]}${when(by !== null, () => html` ${texts.case.by(by!)}`)}${when(note !== null, () => html`: <q>${note}</q>`)}
  </li>`;

const stepForms = (view: View, { steps, found, note }: CaseShown): Html =>
  html`<h2>${view.texts.case.actions}</h2>
    <div class="actions">${steps.map((step) => stepForm(view, step, found.row.id, note))}</div>`;

const NAMES = { taken: 'take', commented: 'comment', resolved: 'resolve', reopened: 'reopen' } as const;

function stepForm(
  { texts, formToken }: View,
  { kind, needsNote }: BreakStep,
  id: number,
  note: string,
): Html {
  return html`<form method="post" action="${breakAddress(id)}">
<input type="hidden" name="form_token" value="${formToken}"><input type="hidden" name="step" value="${kind}">
<p><label for="note-${kind}">${noteLabel(texts.case, kind, needsNote)}</label><textarea id="note-${kind}" name="note" rows="2" cols="34" maxlength="${NOTE_CHARACTERS_MAX}"${needsNote ? html` required` : null}>${needsNote ? note : null}</textarea></p>
<p><button${kind === 'resolved' ? html` class="main"` : null}>${texts.case[NAMES[kind]]}</button></p>
</form>
`;
}

const noteLabel = (texts: View['texts']['case'], kind: StepKind, needsNote: boolean): string =>
  kind === 'resolved' ? texts.resolveNote : needsNote ? texts.note : texts.noteOptional;
