/** The pages of work: what was asked to be read or published again, how far it is and what changed; and the form that asks. */
import type { BusinessDay } from '../../../ledger/entry.ts';
import { REASON_CHARACTERS_MAX } from '../../../months/closes.ts';
import type { RequestAsked, RequestWhat, RequestRow } from '../../../store/requests.ts';
import { addressWith, dayAddress, workAddress } from './addresses.ts';
import { curedPart } from './cures.ts';
import { filled } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import { merchantPart } from './names.ts';
import { breakLink, dayTime, link, table } from './parts.ts';
import { page, saidPart, type Said, type View } from './view.ts';

/** How often a page of work that has not ended loads itself anew. */
const REFRESH_S = 3;

type Shown = keyof View['texts']['work']['states'];

function stateOf({ state, startedAt, isHeld, exitCode }: RequestRow): Shown {
  if (state === 'cancelled') return 'cancelled';
  if (state === 'waiting') return startedAt === null ? 'waiting' : isHeld ? 'running' : 'interrupted';
  return exitCode === 0 ? 'done' : exitCode === 3 ? 'attention' : 'failed';
}

const stateText = ({ texts }: View, row: RequestRow): string => texts.work.states[stateOf(row)];

const daysOf = (view: View, { from, to }: Pick<RequestRow, 'from' | 'to'>): Part =>
  from === to ? dayTime(view, from) : [dayTime(view, from), ' – ', dayTime(view, to)];

export function worksPage(view: View, rows: readonly RequestRow[]): string {
  const { texts, format } = view;
  const { work } = texts;
  return page(view, {
    title: work.title,
    section: 'work',
    content: html`<h1 id="list">${work.title}</h1>
      <p class="soft">${work.about}</p>
      ${
        rows.length === 0
          ? html`<p>${work.nothing}</p>`
          : table({ by: 'list' }, rows, [
              [work.number, ({ id }) => link(workAddress(id), id), 'name'],
              [work.what, ({ what }) => work.kind[what], 'line'],
              [texts.search.merchant, ({ merchantNo }) => merchantPart(view, merchantNo), 'line'],
              [work.days, (row) => daysOf(view, row), 'line'],
              [work.state, (row) => stateText(view, row), 'line'],
              [work.asked, ({ requestedAt }) => format.shown.instant(requestedAt), 'line'],
              [work.by, ({ figures }) => figures.by],
            ])
      }`,
  });
}

export interface WorkShown {
  readonly row: RequestRow;
  /** The one that is at work, where this one waits for it. */
  readonly before: number | null;
  /** Whether it waits for longer than any process would take to ask. */
  readonly isUnasked: boolean;
  /** Whether it loads itself anew; a reader may switch that off. */
  readonly refreshes: boolean;
  readonly said: Said | null;
}

export function workPage(view: View, shown: WorkShown): string {
  const { texts, format, person } = view;
  const { row, said } = shown;
  const { work } = texts;
  const isOpen = row.state === 'waiting';
  return page(view, {
    title: work.ofOne(row.id),
    section: 'work',
    refreshS: isOpen && shown.refreshes ? REFRESH_S : null,
    content: html`<p class="up">${link('/work', work.title)}</p>
      <h1>${work.kind[row.what]}: ${merchantPart(view, row.merchantNo)}, ${daysOf(view, row)}</h1>
      ${saidPart(view, said)}
      <p><strong>${stateText(view, row)}</strong> <span class="soft">${work.kindText[row.what]}</span></p>
      <p>
        ${work.asked} ${format.shown.instant(row.requestedAt)},
        ${texts.case.by(row.figures.by)}${when(row.figures.note !== null, () => html`: <q>${row.figures.note}</q>`)}
      </p>
      ${isOpen ? openPart(view, shown) : endPart(view, row)}
      ${when(isOpen && row.startedAt === null && person?.role === 'operator', () => cancelForm(view, row))}
      ${commandFold(view, row)}`,
  });
}

function openPart(view: View, { row, before, isUnasked, refreshes }: WorkShown): Html {
  const { texts, format, address } = view;
  const { work } = texts;
  const { progress } = row.figures;
  const state = stateOf(row);
  const far =
    progress === undefined
      ? work.begins
      : work.stage[progress.stage](format.count(progress.done), format.count(progress.all));
  return html`${when(state === 'running', () => html`<p role="status">${far}</p>`)}
    ${when(state === 'interrupted', () => html`<p class="said wrong" role="alert">${work.interrupted}</p>`)}
    ${when(state === 'waiting' && row.problem !== null, () => html`<div role="status">${curedPart(texts, work.busy(row.problem!))}</div>`)}
    ${when(before !== null, () => html`<p role="status">${work.after(before!)}</p>`)}
    ${when(isUnasked, () => html`<p class="said wrong" role="alert">${filled(work.unasked, format.shown.instant(row.requestedAt))}</p>`)}
    <p class="soft">
      ${refreshes ? work.refreshes : null}
      ${link(addressWith(address, { refresh: refreshes ? 'no' : null }), refreshes ? work.refreshOff : work.refreshOn)}
    </p>`;
}

function endPart(view: View, row: RequestRow): Part {
  const { texts, format } = view;
  const { work } = texts;
  const { reasons = [], published = [], publishedInAll = 0, opened = [], healed = [] } = row.figures;
  const breaks = (name: string, ids: readonly number[]): Part =>
    when(ids.length > 0, () => html`<p>${name} ${ids.map((id) => html`${breakLink(view, id)} `)}</p>`);
  const isUnchanged = publishedInAll + opened.length + healed.length === 0;
  const sayings = [
    ...(row.problem === null ? [] : [row.problem]),
    ...reasons.map(({ what, todo }) => (todo === null ? what : `${what}: ${todo}`)),
  ];
  return html`${when(row.finishedAt !== null, () => html`<p>${filled(work.endedAt, format.shown.instant(row.finishedAt!))}</p>`)}
  ${when(
    sayings.length > 0,
    () =>
      html`<h2>${work.reasons}</h2>
        <ul>
          ${sayings.map((text) => html`<li>${curedPart(texts, text)}</li>`)}
        </ul>`,
  )}
  ${when(
    row.runId !== null,
    () =>
      html`<h2>${work.changed}</h2>
        ${when(isUnchanged, () => html`<p>${work.unchanged}</p>`)}
        <ul>
          ${published.map(({ currency, day, revision }) => html`<li>${link(dayAddress({ merchantNo: row.merchantNo, currency }, day), [currency, ' ', format.shown.day(day)])} ${work.revision(revision)}</li> `)}
        </ul>
        ${when(publishedInAll > published.length, () => html`<p>${work.publishedMore(format.count(publishedInAll - published.length))}</p>`)}
        ${breaks(work.opened, opened)} ${breaks(work.healed, healed)}`,
  )}`;
}

const cancelForm = ({ texts, formToken }: View, { id }: RequestRow): Html =>
  html`<form method="post" action="${workAddress(id)}">
    <input type="hidden" name="form_token" value="${formToken}" />
    <p><button>${texts.work.cancel}</button></p>
  </form>`;

const commandFold = ({ texts }: View, { what, merchantNo, from, to }: RequestAsked): Html =>
  html`<details>
    <summary>${texts.work.command}</summary>
    <pre tabindex="0">
daybook ${what === 'read' ? 'run' : 'publish'} --from ${from} --to ${to} --merchant ${merchantNo}</pre>
  </details>`;

/** What a form asks for. */
export interface FormOfWork extends Omit<RequestAsked, 'what'> {
  readonly kinds: readonly RequestWhat[];
  /** Whether other days can be chosen. */
  readonly canChoose?: boolean;
  /** The last request for these days. */
  readonly last?: RequestRow | undefined;
}

/** A form of an operator that asks for a reading or a statement again; null for others. */
export function workForm(view: View, { kinds, merchantNo, from, to, canChoose, last }: FormOfWork): Part {
  const { texts, person, formToken } = view;
  const { work } = texts;
  const dayField = (name: 'from' | 'to', day: BusinessDay): Html =>
    canChoose === true
      ? html`<label>${work[name]} <input type="date" name="${name}" value="${day}" required /></label> `
      : html`<input type="hidden" name="${name}" value="${day}" />`;
  return html`${when(last !== undefined, () => html`<p>${work.last} ${link(workAddress(last!.id), work.kind[last!.what])}, ${stateText(view, last!)}</p>`)}
  ${when(
    person?.role === 'operator',
    () =>
      html`<form class="line" method="post" action="/work">
        <input type="hidden" name="form_token" value="${formToken}" /><input
          type="hidden"
          name="merchant"
          value="${merchantNo}"
        />
        ${dayField('from', from)}${dayField('to', to)}
        <label>${work.note} <input name="note" maxlength="${REASON_CHARACTERS_MAX}" /></label>
        ${kinds.map((kind) => html`<button name="kind" value="${kind}">${work.kind[kind]}</button> `)}
      </form>`,
  )}`;
}

/** The request that was not filed, and why; with `isClosed`, the form that confirms it. */
export function workRefusedPage(
  view: View,
  asked: RequestAsked & { readonly note: string },
  { text, isClosed }: { readonly text: string; readonly isClosed: boolean },
): string {
  const { work } = view.texts;
  const { what: kind, merchantNo, from, to, note } = asked;
  const hidden = { form_token: view.formToken, kind, merchant: merchantNo, from, to, note, despite: 'yes' };
  return page(view, {
    title: work.kind[kind],
    section: 'work',
    content: html`<h1>${work.kind[kind]}: ${merchantPart(view, merchantNo)}, ${daysOf(view, asked)}</h1>
      ${saidPart(view, { text, isWrong: true })}
      ${when(
        isClosed,
        () =>
          html`<form method="post" action="/work">
            ${Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
            <p><button class="main">${work.confirm}</button></p>
          </form>`,
      )}
      ${commandFold(view, asked)}`,
  });
}
