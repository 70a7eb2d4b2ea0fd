/** The part of a month's page about closing it: who closed it and when, what changed since, and the form to close it. */
import type { BusinessDay } from '../../../ledger/entry.ts';
import { fileOf } from '../../../statements/keys.ts';
import { stretches } from '../../../statements/month.ts';
import { openGroups, todoOf, type OpenDay } from '../../../statements/open-days.ts';
import { REASON_CHARACTERS_MAX, type Adjustment, type MonthClose } from '../../../statements/closes.ts';
import { addressWith, dayAddress, monthAddress } from './addresses.ts';
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

function openTable({ texts, format }: View, merchantNo: string, openDays: readonly OpenDay[]): Html {
  const { close } = texts;
  const said = close.daysOpen(openDays.length, new Set(openDays.map(({ currency }) => currency)).size);
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
        ([first]) => html`<strong>${close.causes[first!.cause]}</strong>: ${withCommands(first!.why)}`,
        'wide',
      ],
      [close.todo, (group) => withCommands(todoOf(group)), 'wide'],
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

/** What stands between backticks is a command. */
export const withCommands = (text: string): Part =>
  text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part));
