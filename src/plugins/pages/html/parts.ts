/** Parts that many pages have: tables, links, and the way to other pages of a list. */
import type { Account, BusinessDay, LedgerEntry } from '../../../ledger/entry.ts';
import { STATEMENT_FORMATS } from '../../../statements/formats/all.ts';
import { CSV } from '../../../statements/formats/csv.ts';
import { breakAddress, dayAddress } from './addresses.ts';
import { html, type Html, type Part } from './html.ts';
import type { Texts } from './texts/en.ts';
import type { View } from './view.ts';

/** The class of a column's cells, by what it holds. What begins with `name` names the row. */
const CLASSES = {
  text: '',
  number: 'n',
  /** Never broken into lines. */
  line: 't',
  /** Sentences. */
  wide: 'w',
  state: 'state',
  listed: 'listed',
  name: '',
  nameNumber: 'n',
  nameLine: 't',
  /** The number of an entry, which may be long. */
  nameId: 'id',
} as const;
type CellKind = keyof typeof CLASSES;

/** The head, null for none, and what is shown of a row. Default: text. */
export type Column<Row> = readonly [head: Part, cell: (row: Row) => Part, kind?: CellKind];

/** A table is named by the element with the id `by`, or by `label`. */
type TableName = { readonly by: string } | { readonly label: string };

interface RowOptions<Row> {
  /** A row of its own above. */
  readonly above?: (row: Row) => Part;
  readonly rowClass?: (row: Row) => string | null;
  /** Of the table. By default a row stands on a phone as a list, with the head of each column before its cell. */
  readonly tableClass?: string;
}

export function table<Row>(
  name: TableName,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { above, rowClass, tableClass }: RowOptions<Row> = {},
): Html {
  const className = tableClass ?? 'stacked';
  const rowOf = (row: Row): Html => {
    const cells = columns.map((column) => html`${cellOf(column, row, className === 'stacked')} `);
    return rowClass === undefined
      ? html`${above?.(row)}
          <tr>
            ${cells}
          </tr> `
      : html`<tr class="${rowClass(row)}">
          ${cells}
        </tr> `;
  };
  return scrolling(
    name,
    html`<table class="${className}">
      <thead>
        <tr>
          ${columns.map(headOf)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(rowOf)}
      </tbody>
    </table>`,
  );
}

function cellOf<Row>([head, cell, kind = 'text']: Column<Row>, row: Row, isStacked: boolean): Html {
  const className = CLASSES[kind];
  const label = isStacked && typeof head === 'string' ? head : null;
  const content = cell(row);
  if (kind.startsWith('name'))
    return label === null
      ? html`<th scope="row" class="${className}">${content}</th>`
      : html`<th scope="row" class="${className}" data-head="${label}">${content}</th>`;
  if (label !== null) return html`<td class="${className}" data-head="${label}">${content}</td>`;
  return className === '' ? html`<td>${content}</td>` : html`<td class="${className}">${content}</td>`;
}

function headOf([head, , kind]: Column<never>): Html {
  if (head === null) return html`<td></td>`;
  const isNumber = kind === 'number' || kind === 'nameNumber';
  return isNumber ? html`<th scope="col" class="n">${head}</th>` : html`<th scope="col">${head}</th>`;
}

/** A table that scrolls sideways by itself where the window is narrow, by keyboard too. */
export const scrolling = (name: TableName, content: Part): Html =>
  'by' in name
    ? html`<div class="scroll" role="region" tabindex="0" aria-labelledby="${name.by}">${content}</div>`
    : html`<div class="scroll" role="region" tabindex="0" aria-label="${name.label}">${content}</div>`;

/** The columns of an entry's amounts. */
export const amountColumns = <Row>(
  { texts: { day }, format }: View,
  entryOf: (row: Row) => Pick<LedgerEntry, 'credit' | 'debit' | 'balance'>,
): Column<Row>[] =>
  (['credit', 'debit', 'balance'] as const).map((name) => [
    day[name],
    (row) => amountOrNothing(format, entryOf(row)[name]),
    'number',
  ]);

export const amountOrNothing = ({ amount }: View['format'], exact: string | null | undefined): Part =>
  exact === null || exact === undefined ? null : amount(exact);

export const link = (href: string, content: Part): Html => html`<a href="${href}">${content}</a>`;

export const dayTime = ({ format }: View, day: BusinessDay): Html =>
  html`<time datetime="${day}">${format.shown.day(day)}</time>`;

export const dayLink = (view: View, account: Account, day: BusinessDay): Html =>
  link(dayAddress(account, day), dayTime(view, day));

type Way = readonly [address: string, name: Part] | null;

/** To what lies before and after: a day, a month. Null where there is nothing. */
export const arrows = ({ texts }: View, before: Way, after: Way): Html =>
  html`<nav class="arrows paging" aria-label="${texts.adjacent}">
    ${before && html`<a class="button" rel="prev" href="${before[0]}">← ${before[1]}</a>`}
    ${after && html`<a class="button" rel="next" href="${after[0]}">${after[1]} →</a>`}
  </nav>`;

interface Tab {
  readonly address: string;
  readonly name: Part;
  readonly isChosen: boolean;
}

export const tabs = (label: string, all: readonly Tab[]): Html =>
  html`<nav class="tabs paging" aria-label="${label}">
    <ul>
      ${all.map(({ address, name, isChosen }) => html`<li><a href="${address}" ${isChosen ? html` aria-current="page"` : null}>${name}</a></li>`)}
    </ul>
  </nav>`;

/** Links that fold out under a button. */
export const menu = (title: string, links: readonly (readonly [address: string, name: Part])[]): Html =>
  html`<details class="menu">
    <summary class="button">${title}</summary>
    <ul>
      ${links.map(([address, name]) => html`<li>${link(address, name)}</li>`)}
    </ul>
  </details>`;

export const breakLink = ({ texts }: View, id: number): Html =>
  link(breakAddress(id), texts.day.chartBreak(id));

/** Links to other pages of a list, of which those that lead nowhere are false; null where none is left. */
export function pagingLinks(
  { texts }: View,
  links: readonly (readonly [address: string, name: string] | false)[],
): Part {
  const shown = links.filter((one) => one !== false);
  if (shown.length === 0) return null;
  return html`<nav class="paging" aria-label="${texts.paging}">
    <ul class="links">
      ${shown.map(([address, name]) => html`<li>${link(address, name)}</li>`)}
    </ul>
  </nav>`;
}

/** The formats next to the CSV, and how people call them. */
export const otherFormats = ({ formats }: Texts): (readonly [format: string, name: string])[] =>
  STATEMENT_FORMATS.filter(({ name }) => name !== CSV.name).map(({ name }) => [
    name,
    new Map(Object.entries(formats)).get(name) ?? name,
  ]);
