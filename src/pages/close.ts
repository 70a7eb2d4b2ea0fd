/** The part of a month's page about closing it: who closed it and when, what changed since, and the form to close it. */
import type { BusinessDay } from '../ledger/entry.ts';
import { REASON_CHARACTERS_MAX } from '../statements/close.ts';
import { fileOf } from '../statements/keys.ts';
import { stretches } from '../statements/month.ts';
import { openGroups, todoOf, type OpenDay } from '../statements/open-days.ts';
import type { Adjustment, MonthClose } from '../store/month-close.ts';
import { addressWith, dayAddress, monthAddress } from './addresses.ts';
import { filled, type Format } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import { scrolling } from './tables.ts';
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
  /** The form to close it; null unless it is asked for. */
  readonly form: CloseForm | null;
}

export interface CloseForm {
  readonly openDays: readonly OpenDay[];
  /** What was typed, where it was refused. */
  readonly note: string;
  readonly despite: string;
}

export function closeSection(view: View, shown: CloseShown): Html {
  const { close } = view.texts;
  const { closes, adjustments, form } = shown;
  return html`<h2 id="close">${close.title}</h2>
    ${closes.length === 0 ? html`<p>${close.notClosed}</p>` : closesTable(view, closes)}
    ${when(
      closes.length > 0,
      () =>
        html`<h3 id="adjustments">${close.adjustments}</h3>
          ${adjustments.length === 0 ? html`<p>${close.noAdjustments}</p>` : adjustmentsTable(view, adjustments)}`,
    )}
    ${form === null ? way(view, shown) : closeForm(view, shown, form)}`;
}

function closesTable(view: View, closes: readonly MonthClose[]): Html {
  const { close } = view.texts;
  return scrolling(
    { by: 'close' },
    html`<table>
      <thead>
        <tr>
          <th scope="col" class="n">${close.number}</th>
          <th scope="col">${close.at}</th>
          <th scope="col">${close.by}</th>
          <th scope="col" class="n">${close.statements}</th>
          <th scope="col">${close.note}</th>
          <th scope="col">${close.file}</th>
        </tr>
      </thead>
      <tbody>
        ${closes.map((one) => closeRow(view, one))}
      </tbody>
    </table>`,
  );
}

function closeRow({ texts, format }: View, one: MonthClose): Html {
  const { close } = texts;
  return html`<tr>
    <th scope="row" class="n">${format.count(one.number)}</th>
    <td class="t">${format.shown.instant(one.closedAt)}</td>
    <td>${one.by}</td>
    <td class="n">${format.count(one.statements)}</td>
    <td class="w">
      ${when(one.note !== null, () => html`<q>${one.note}</q><br />`)}${when(one.openDays > 0, () => html`${close.despiteDays(one.openDays)}: <q>${one.despite}</q>`)}
    </td>
    <td class="w">${fileOf(one.objectKey)}<br /><code title="SHA-256">${one.sha256}</code></td>
  </tr> `;
}

function adjustmentsTable(view: View, adjustments: readonly Adjustment[]): Html {
  const { close, day } = view.texts;
  return html`<p class="said">${close.adjusted(adjustments.length)}</p>
    ${scrolling(
      { by: 'adjustments' },
      html`<table>
        <thead>
          <tr>
            <th scope="col">${close.day}</th>
            <th scope="col">${close.account}</th>
            <th scope="col">${close.revisions}</th>
            <th scope="col">${day.publishedAt}</th>
            <th scope="col">${day.why}</th>
          </tr>
        </thead>
        <tbody>
          ${adjustments.map((one) => adjustmentRow(view, one))}
        </tbody>
      </table>`,
    )}`;
}

function adjustmentRow(view: View, one: Adjustment): Html {
  const { format, texts } = view;
  return html`<tr>
    <th scope="row" class="t"><time datetime="${one.day}">${format.shown.day(one.day)}</time></th>
    <td>${one.currency}</td>
    <td class="t">${adjustmentLink(view, one)}</td>
    <td class="t">${format.shown.instant(one.publishedAt)}</td>
    <td class="w">${one.reason ?? texts.close.firstPublished}</td>
  </tr> `;
}

/** Leads to the day, with the frozen revision and the current one side by side. */
export function adjustmentLink({ texts }: View, one: Adjustment): Html {
  const { frozenRevision, revision } = one;
  const address = dayAddress(one, one.day);
  return frozenRevision === null
    ? html`<a href="${address}">${texts.close.cameLater(revision)}</a>`
    : html`<a href="${addressWith(address, { revision, against: frozenRevision })}#compared"
        >${texts.changes.compare(frozenRevision, revision)}</a
      >`;
}

/** How to close it, where there is something to freeze. */
function way({ texts, person }: View, shown: CloseShown): Part {
  const { closes, adjustments, hasStatements } = shown;
  if (!hasStatements || (closes.length > 0 && adjustments.length === 0)) return null;
  if (person?.role !== 'operator') return html`<p class="soft">${texts.close.viewer}</p>`;
  const href = `${monthAddress(shown.merchantNo, shown.month)}?close=yes#to-close`;
  return html`<p class="paging">
    <a class="button" href="${href}">${closes.length === 0 ? texts.close.begin : texts.close.beginNext}</a>
  </p>`;
}

function closeForm(view: View, shown: CloseShown, { openDays, note, despite }: CloseForm): Html {
  const { texts, formToken, format } = view;
  const { close } = texts;
  const isOpen = openDays.length > 0;
  return html`<h3 id="to-close">${filled(close.form, format.shown.month(shown.month))}</h3>
    <p>${close.meaning}</p>
    ${isOpen ? openTable(view, shown.merchantNo, openDays) : html`<p>${close.noOpenDays}</p>`}
    <form method="post" action="${monthAddress(shown.merchantNo, shown.month)}">
      <input type="hidden" name="form_token" value="${formToken}" />
      ${when(isOpen, () => area('despite', close.despite, despite, true))}${area('note', close.noteField, note, false)}
      <p><button class="main">${isOpen ? close.submitDespite : close.submit}</button></p>
    </form>`;
}

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

function openTable(view: View, merchantNo: string, openDays: readonly OpenDay[]): Html {
  const { close } = view.texts;
  const said = close.daysOpen(openDays.length, new Set(openDays.map(({ currency }) => currency)).size);
  return html`<p class="said">${said}</p>
    ${scrolling(
      { label: said },
      html`<table>
        <thead>
          <tr>
            <th scope="col">${close.account}</th>
            <th scope="col">${close.days}</th>
            <th scope="col">${close.cause}</th>
            <th scope="col">${close.todo}</th>
          </tr>
        </thead>
        <tbody>
          ${openGroups(openDays).map((group) => openRow(view, merchantNo, group))}
        </tbody>
      </table>`,
    )}`;
}

function openRow({ texts, format }: View, merchantNo: string, group: readonly OpenDay[]): Html {
  const { currency, day, cause, why } = group[0]!;
  return html`<tr>
    <td>${currency}</td>
    <th scope="row" class="t">
      ${
        group.length === 1
          ? html`<a href="${dayAddress({ merchantNo, currency }, day)}">${format.shown.day(day)}</a>`
          : daysText(
              format,
              group.map((one) => one.day),
            )
      }
    </th>
    <td class="w"><strong>${texts.close.causes[cause]}</strong>: ${withCommands(why)}</td>
    <td class="w">${withCommands(todoOf(group))}</td>
  </tr> `;
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

/** What stands between backticks is a command. */
export const withCommands = (text: string): Part =>
  text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part));
