/** The page of a break as a case: the difference, its surroundings, the history and the allowed steps. */
import { explain } from '../ledger/hints/stories.ts';
import { NOTE_CHARACTERS_MAX, type BreakStep, type StepKind } from '../store/breaks/break-cases.ts';
import type { BreakCase, CaseEvent, AdjacentRow } from '../run/break-case.ts';
import { knownBreak } from '../store/breaks/breaks.ts';
import { breakAddress, dayAddress, entryAddress } from './addresses.ts';
import { filled } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import { amountHeads, scrolling } from './tables.ts';
import { page, saidPart, type Said, type View } from './view.ts';

export interface CaseShown {
  readonly found: BreakCase;
  /** The steps allowed now. */
  readonly steps: readonly BreakStep[];
  readonly message: string | null;
  /** The result of the last action. */
  readonly said: Said | null;
  /** The typed text of a refused note. */
  readonly note: string;
}

export function casePage(view: View, shown: CaseShown): string {
  const { texts, format, person } = view;
  const { found, message, said } = shown;
  const { row, state, takenBy } = found;
  const known = knownBreak(row);
  const at = (ms: number): Part => format.shown.instant(new Date(ms));
  const title = texts.case.title(row.id);
  return page(view, {
    title,
    section: 'breaks',
    content: html`<h1>${title} <span class="s ${state}">${texts.caseState[state]}</span></h1>
      ${saidPart(said)}
      <p>
        ${when(takenBy !== null, () => html`${texts.breaks.takenBy(takenBy!)} · `)}${row.merchant_no}
        ${row.currency},
        <a href="${dayAddress(known.account, row.day)}"
          ><time datetime="${row.day}">${format.shown.day(row.day)}</time></a
        >, ${filled(texts.case.between, at(row.begin_ms), at(row.end_ms))}
      </p>
      <p>${explain(known)}</p>
      ${when(row.note !== null, () => html`<blockquote>${row.note}</blockquote>`)}
      ${scrolling(
        { label: texts.case.balances },
        html`<table>
          <tbody>
            <tr>
              <th scope="row">${texts.case.expected(row.before_batch_no)}</th>
              <td class="n">${format.amount(row.expected_balance)} ${row.currency}</td>
            </tr>
            <tr>
              <th scope="row">${texts.case.found}</th>
              <td class="n">${format.amount(row.found_balance)} ${row.currency}</td>
            </tr>
            <tr>
              <th scope="row">
                ${row.status === 'resolved' ? texts.case.differenceExplained : texts.case.difference}
              </th>
              <td class="n">${format.amount(row.missing_net)} ${row.currency}</td>
            </tr>
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

function rowsTable(view: View, { rows, row }: BreakCase): Html {
  const { texts } = view;
  if (rows.length === 0) return html`<p>${texts.case.noRows}</p>`;
  return scrolling(
    { by: 'rows' },
    html`<table>
      <thead>
        <tr>
          <th scope="col">${texts.day.batchNo}</th>
          <th scope="col">${texts.entry.booked}</th>
          <th scope="col">${texts.day.type}</th>
          ${amountHeads(view)}
        </tr>
      </thead>
      <tbody>
        ${rows.map((one) => adjacentRow(view, row.merchant_no, one))}
      </tbody>
    </table>`,
  );
}

function adjacentRow(
  { texts, format }: View,
  merchantNo: string,
  { entry, break: found, isHere }: AdjacentRow,
): Html {
  const amount = (exact: string | null): Part =>
    html`<td class="n">${exact === null ? null : format.amount(exact)}</td>`;
  return html`${when(
      found !== null,
      () =>
        html`<tr class="break">
          <td colspan="6">${isHere ? texts.case.here : texts.case.another}</td>
        </tr>`,
    )}
    <tr>
      <th scope="row" class="id">
        <a href="${entryAddress(merchantNo, entry.batchNo)}">${entry.batchNo}</a>
      </th>
      <td class="t">${format.shown.instant(new Date(entry.bookedMs))}</td>
      <td>${entry.transactionType}</td>
      ${amount(entry.credit)}${amount(entry.debit)}${amount(entry.balance)}
    </tr> `;
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
                <a href="${entryAddress(row.merchant_no, batchNo)}">${batchNo}</a>:
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
