/** The part of a month's page about closing it: who closed it and when, what changed since, and the form to close it. */
import { isSamePerson } from '../../../ledger/people.ts';
import type { BusinessDay } from '../../../ledger/entry.ts';
import { fileOf } from '../../../verify/names.ts';
import { stretches } from '../../../months/month.ts';
import { openGroups, todoOf, type OpenDay } from '../../../months/open-days.ts';
import { countDays } from '../../../verify/close-file.ts';
import {
  inForce,
  REASON_CHARACTERS_MAX,
  type Adjustment,
  type Action,
  type MonthClose,
  type Preparation,
} from '../../../months/closes.ts';
import type { CloseStep, Obstacle } from '../../../months/closes.ts';
import { addressWith, breakAddress, dayAddress, monthAddress } from './addresses.ts';
import { cured, curedPart } from './cures.ts';
import { filled, type Format } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import { dayTime, link, table } from './parts.ts';
import type { View } from './view.ts';

export interface CloseShown {
  readonly merchantNo: string;
  /** `2026-03`. */
  readonly month: string;
  readonly closes: readonly MonthClose[];
  /** What differs from the last close, by day. */
  readonly adjustments: readonly Adjustment[];
  /** Whether anything is published that a close would freeze. */
  readonly hasStatements: boolean;
  /** Who prepared it, where it waits for approval. */
  readonly preparation: Preparation | null;
  /** Whether one person prepares a month and another one approves it. */
  readonly needsApproval: boolean;
  /** The form to close it; null unless it is asked for. */
  readonly form: CloseForm | null;
}

export interface CloseForm {
  /** Whether it is the form to reopen the month. */
  readonly isReopening: boolean;
  readonly openDays: readonly OpenDay[];
  /** What else is in the way. */
  readonly others: readonly Obstacle[];
  /** Names what is shown, so that nothing else is closed; null where that is not known. */
  readonly seen: string | null;
  /** What was typed, where it was refused. */
  readonly note: string;
  readonly despite: string;
}

export function closeSection(view: View, shown: CloseShown): Html {
  const { close } = view.texts;
  const { closes, adjustments, preparation, form } = shown;
  const isClosed = inForce(closes) !== undefined;
  return html`<h2 id="close">${close.title}</h2>
    ${when(!isClosed, () => html`<p>${close.notClosed}</p>`)}
    ${when(closes.length > 0, () => closesTable(view, closes))}
    ${when(preparation !== null, () => preparedPart(view, preparation!))}
    ${when(
      isClosed,
      () =>
        html`<h3 id="adjustments">${close.adjustments}</h3>
          ${adjustments.length === 0 ? html`<p>${close.noAdjustments}</p>` : adjustmentsTable(view, adjustments)}`,
    )}
    ${form === null ? way(view, shown) : closeForm(view, shown, form)}`;
}

function closesTable(view: View, closes: readonly MonthClose[]): Html {
  const { close } = view.texts;
  const { count, shown } = view.format;
  return table({ by: 'close' }, closes, [
    [close.number, (one) => count(one.number), 'nameNumber'],
    [close.at, (one) => shown.instant(one.closedAt), 'line'],
    [close.by, (one) => one.by],
    [close.statements, (one) => count(one.statements), 'number'],
    [
      close.note,
      (one) => [
        when(one.note !== null, () => html`<q>${one.note}</q><br />`),
        when(one.prepared !== null, () =>
          actionPart(view, close.preparedBy(one.prepared!.by), one.prepared!),
        ),
        when(one.reopened !== null, () =>
          actionPart(view, close.reopenedBy(one.reopened!.by), one.reopened!),
        ),
        when(one.openDays > 0, () => html`${close.despiteDays(one.openDays)}: <q>${one.despite}</q>`),
      ],
      'wide',
    ],
    [
      close.file,
      (one) =>
        html`${fileOf(one.objectKey)}
          <details>
            <summary>SHA-256</summary>
            <code>${one.sha256}</code>
          </details>`,
      'wide',
    ],
  ]);
}

function preparedPart({ texts, format, person }: View, { by, at, note, despite }: Preparation): Html {
  const { close } = texts;
  const isOwn = person !== null && person.name === by;
  return html`<p class="said">
    ${close.preparedBy(by)} ${format.shown.instant(at)}${isOwn ? close.waitsForOther : close.waits}
    ${when(note !== null, () => html`<q>${note}</q>`)}
    ${when(despite !== null, () => html`${close.despite}: <q>${despite}</q>`)}
  </p>`;
}

function adjustmentsTable(view: View, adjustments: readonly Adjustment[]): Html {
  const { texts, format } = view;
  const { close, day } = texts;
  return html`<p class="said">${close.adjusted(adjustments.length)}</p>
    ${table({ by: 'adjustments' }, adjustments, [
      [close.day, (one) => dayTime(view, one.day), 'nameLine'],
      [close.account, (one) => one.currency],
      [close.revisions, (one) => adjustmentLink(view, one), 'line'],
      [day.publishedAt, (one) => format.shown.published(one.publishedAt), 'line'],
      [day.why, (one) => one.reason ?? close.firstPublished, 'wide'],
    ])}`;
}

/** Leads to the day, with the frozen revision and the current one side by side. */
export function adjustmentLink({ texts }: View, one: Adjustment): Html {
  const { frozenRevision, revision } = one;
  const address = dayAddress(one, one.day);
  if (frozenRevision === null) return link(address, texts.close.cameLater(revision));
  const compared = `${addressWith(address, { revision, against: frozenRevision })}#compared`;
  return link(compared, texts.changes.compare(frozenRevision, revision));
}

const actionPart = ({ format }: View, what: string, { at, note }: Action): Html =>
  html`${what} ${format.shown.instant(at)}${when(note !== null, () => html`: <q>${note}</q>`)}<br />`;

/** The ways on from where the month is: to close it, or to open it again. */
function way({ texts, person }: View, shown: CloseShown): Part {
  const { close } = texts;
  const { closes, adjustments, hasStatements, preparation } = shown;
  const isClosed = inForce(closes) !== undefined;
  if (!hasStatements) return null;
  const isDone = isClosed && adjustments.length === 0;
  if (person?.role !== 'operator') return isDone ? null : html`<p class="soft">${close.viewer}</p>`;
  const button = (form: string, text: string): Html =>
    html`<a class="button" href="${monthAddress(shown.merchantNo, shown.month)}?close=${form}#to-close"
      >${text}</a
    > `;
  const begin = shown.needsApproval ? close.beginPrepare : isClosed ? close.beginNext : close.begin;
  return html`<p class="paging">
    ${when(!isDone, () => button('yes', preparation === null ? begin : close.beginApprove))}
    ${when(isClosed, () => button('reopen', close.reopen))}
  </p>`;
}

function closeForm(view: View, shown: CloseShown, form: CloseForm): Html {
  const { texts, format } = view;
  const { close } = texts;
  const { openDays, others, note, isReopening } = form;
  if (isReopening)
    return html`<h3 id="to-close">${filled(close.reopenForm, format.shown.month(shown.month))}</h3>
      <p>${close.reopenMeaning}</p>
      ${formOf(view, shown, form, [area('note', close.reopenReason, note, true), submit('reopen', close.reopen, true)])}`;
  const isOpen = openDays.length > 0;
  return html`<h3 id="to-close">${filled(close.form, format.shown.month(shown.month))}</h3>
    <p>${close.meaning}</p>
    ${isOpen ? openTable(view, shown.merchantNo, openDays) : html`<p>${close.noOpenDays}</p>`}
    ${when(
      others.length > 0,
      () =>
        html`<ul>
          ${others.map(({ why, todo }) => html`<li>${curedPart(view.texts, `${why}: ${todo}`)}</li>`)}
        </ul>`,
    )}
    ${formOf(view, shown, form, stepParts(view, shown, form))}`;
}

/** The fields and buttons of what this person may do next. */
function stepParts(
  { texts, person }: View,
  shown: CloseShown,
  { openDays, others, note, despite }: CloseForm,
): Part[] {
  const { close } = texts;
  const { preparation, needsApproval } = shown;
  const isOpen = openDays.length > 0;
  const isStale = others.some(({ cause }) => cause === 'changed');
  const noteArea = area('note', close.noteField, note, false);
  if (preparation !== null && !isStale) {
    const isOwn = person !== null && isSamePerson(person.name, preparation.by);
    return [
      noteArea,
      when(!isOwn && needsApproval, () => submit('approve', close.approve, true)),
      submit('withdraw', close.withdraw, isOwn),
    ];
  }
  const reason = when(isOpen, () => area('despite', close.despite, despite, true));
  if (needsApproval)
    return [reason, noteArea, submit('prepare', isOpen ? close.prepareDespite : close.prepare, true)];
  return [reason, noteArea, submit('close', isOpen ? close.submitDespite : close.submit, true)];
}

const formOf = ({ formToken }: View, shown: CloseShown, { seen }: CloseForm, content: Part): Html =>
  html`<form method="post" action="${monthAddress(shown.merchantNo, shown.month)}">
    <input type="hidden" name="form_token" value="${formToken}" />
    <input type="hidden" name="seen" value="${seen ?? ''}" />
    ${content}
  </form>`;

const submit = (step: CloseStep, text: string, isMain: boolean): Html =>
  html`<p><button${isMain ? html` class="main"` : null} name="step" value="${step}">${text}</button></p> `;

const area = (name: string, label: string, text: string, isNeeded: boolean): Html =>
  html`<p>
    <label for="${name}">${label}</label
    ><textarea
      id="${name}"
      name="${name}"
      rows="2"
      cols="34"
      maxlength="${REASON_CHARACTERS_MAX}"
      ${isNeeded ? html` required` : null}
    >
${text}</textarea>
  </p> `;

function openTable({ texts, format }: View, merchantNo: string, openDays: readonly OpenDay[]): Html {
  const { close } = texts;
  const said = close.daysOpen(countDays(openDays), new Set(openDays.map(({ currency }) => currency)).size);
  const daysOf = (group: readonly OpenDay[]): Part => {
    const { day, currency } = group[0]!;
    if (group.length === 1) return link(dayAddress({ merchantNo, currency }, day), format.shown.day(day));
    return daysText(
      format,
      group.map((one) => one.day),
    );
  };
  return html`<p class="said">${said}</p>
    ${table({ label: said }, openGroups(openDays), [
      [close.account, ([first]) => first!.currency],
      [close.days, daysOf, 'nameLine'],
      [
        close.cause,
        ([first]) => [
          html`<strong>${close.causes[first!.cause]}</strong>: ${curedPart(texts, first!.why)}`,
          when(
            first!.amount !== undefined,
            () => html` (${close.difference} ${format.amount(first!.amount!)} ${first!.currency})`,
          ),
        ],
        'wide',
      ],
      [
        close.todo,
        (group) => [
          group[0]!.breaks?.map((id) => html`${link(breakAddress(id), close.breakNumber(id))} `) ?? null,
          curedPart(texts, todoOf(group)),
        ],
        'wide',
      ],
      [close.who, ([first]) => close.doneBy[cured(texts, first!.todo).isOnPages ? 'operator' : first!.who]],
    ])}`;
}

/** Days in a row as one: `5 Mar 2026, 8 Mar 2026 – 31 Mar 2026`. */
export const daysText = ({ shown }: Pick<Format, 'shown'>, days: readonly BusinessDay[]): Part =>
  stretches(days).map((stretch, at, all) => {
    const comma = at < all.length - 1 ? ',' : '';
    const [first, last] = stretch.split('/').map((end) => shown.day(end));
    return last === undefined
      ? html`<span class="together">${first}${comma}</span> `
      : html`<span class="together">${first}</span> – <span class="together">${last}${comma}</span> `;
  });
