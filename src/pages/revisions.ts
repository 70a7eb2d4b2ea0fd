/** The revisions of a day's statement, and two of them side by side with each changed row and its cause. */
import type { Account } from '../ledger/entry.ts';
import { compareAmounts } from '../ledger/money.ts';
import { changeOf, type ChangeCounts } from '../statements/differing-rows.ts';
import type { Cells } from '../statements/formats/format.ts';
import { causeText, type CausedRow } from '../statements/reason.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { addressWith, dayDownloadAddress, entryAddress } from './addresses.ts';
import { filled } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import { amountHeads, scrolling } from './tables.ts';
import type { View } from './view.ts';

export interface ComparisonShown {
  readonly before: StatementRow;
  readonly after: StatementRow;
  readonly rows:
    | { readonly shown: readonly CausedRow[]; readonly counts: ChangeCounts }
    /** A sentence that says why the files could not be compared. */
    | { readonly problem: string }
    /** Too many rows to compare within a request. */
    | { readonly tooLarge: number };
}

export function revisionsSection(
  view: View,
  account: Account,
  revisions: readonly StatementRow[],
  comparison: ComparisonShown | null,
): Html {
  const { day } = view.texts;
  if (revisions.length === 0)
    return html`<h2>${day.revisions}</h2>
      <p>${day.nothingPublished}</p>`;
  return html`<h2 id="revisions">${day.revisions}</h2>
    ${scrolling(
      { by: 'revisions' },
      html`<table>
        <thead>
          <tr>
            <th scope="col">${day.revision}</th>
            <th scope="col">${day.publishedAt}</th>
            <th scope="col">${day.why}</th>
            <th scope="col">${day.file}</th>
            <th scope="col" class="n">${day.size}</th>
            <th scope="col">${day.compare}</th>
          </tr>
        </thead>
        <tbody>
          ${revisions.map((row) => revisionRow(view, account, row))}
        </tbody>
      </table>`,
    )}
    ${when(comparison !== null, () => comparisonPart(view, account, comparison!))}`;
}

function revisionRow(view: View, account: Account, row: StatementRow): Html {
  const { texts, format, address } = view;
  const { revision, supersedes } = row;
  return html`<tr>
    <th scope="row">
      <a href="${dayDownloadAddress(account, row.day, revision)}">${texts.month.revision(revision)}</a>
    </th>
    <td class="t">${format.shown.instant(row.published_at)}</td>
    <td class="w">${row.reason ?? texts.day.firstRevision}</td>
    <td><code title="SHA-256">${row.sha256}</code></td>
    <td class="n">${format.count(row.byte_count)}</td>
    <td class="t">
      ${when(supersedes !== null, () => html`<a href="${addressWith(address, { revision, against: supersedes })}#compared">${texts.day.compareWith(supersedes!, revision)}</a>`)}
    </td>
  </tr> `;
}

function comparisonPart(view: View, account: Account, { before, after, rows }: ComparisonShown): Html {
  const { texts } = view;
  return html`<h3 id="compared">${texts.day.compared(before.revision, after.revision)}</h3>
    ${when(after.supersedes === before.revision && after.reason !== null, () => html`<p class="said">${after.reason}</p>`)}
    ${figuresTable(view, before, after)}
    ${'problem' in rows ? html`<p class="said wrong">${rows.problem}</p>` : 'tooLarge' in rows ? html`<p class="said">${texts.day.tooLarge(view.format.count(rows.tooLarge))}</p>` : rowsPart(view, account, rows)}`;
}

function figuresTable({ texts, format }: View, before: StatementRow, after: StatementRow): Html {
  const { day } = texts;
  const row = (name: string, was: string, is: string, isSame: boolean): Html =>
    html`<tr class="${isSame ? null : 'changed'}">
      <th scope="row">${name}</th>
      <td class="n">${isSame ? was : html`<del>${was}</del>`}</td>
      <td class="n">${isSame ? is : html`<ins>${is}</ins>`}</td>
    </tr> `;
  const amount = (name: string, column: 'opening' | 'credit_total' | 'debit_total' | 'closing'): Html =>
    row(
      name,
      format.amount(before[column]),
      format.amount(after[column]),
      compareAmounts(before[column], after[column]) === 0,
    );
  const count = (name: string, column: 'credit_count' | 'debit_count' | 'break_count'): Html =>
    row(name, format.count(before[column]), format.count(after[column]), before[column] === after[column]);
  return scrolling(
    { by: 'compared' },
    html`<table>
      <thead>
        <tr>
          <td></td>
          <th scope="col" class="n">${texts.month.revision(before.revision)}</th>
          <th scope="col" class="n">${texts.month.revision(after.revision)}</th>
        </tr>
      </thead>
      <tbody>
        ${amount(day.opening, 'opening')}${amount(day.credits, 'credit_total')}${count(day.creditCount, 'credit_count')}${amount(day.debits, 'debit_total')}${count(day.debitCount, 'debit_count')}${amount(day.closing, 'closing')}${row(day.verdict, before.verdict, after.verdict, before.verdict === after.verdict)}${count(day.breaks, 'break_count')}
      </tbody>
    </table>`,
  );
}

function rowsPart(
  view: View,
  account: Account,
  { shown, counts }: { readonly shown: readonly CausedRow[]; readonly counts: ChangeCounts },
): Html {
  const { texts, format } = view;
  const all = counts.came + counts.went + counts.changed;
  if (all === 0) return html`<p>${texts.day.rowsSame}</p>`;
  const said = texts.day.changedRows(
    format.count(counts.came),
    format.count(counts.went),
    format.count(counts.changed),
  );
  return html`<p>${said}</p>
    ${scrolling(
      { label: said },
      html`<table>
        <thead>
          <tr>
            <th scope="col">${texts.day.what}</th>
            <th scope="col">${texts.day.batchNo}</th>
            <th scope="col">${texts.day.time}</th>
            <th scope="col">${texts.day.type}</th>
            ${amountHeads(view)}
            <th scope="col">${texts.day.cause}</th>
          </tr>
        </thead>
        <tbody>
          ${shown.map((row) => differingRow(view, account, row))}
        </tbody>
      </table>`,
    )}
    ${when(all > shown.length, () => html`<p>${texts.day.rowsMore(format.count(all - shown.length))}</p>`)}`;
}

function differingRow(view: View, account: Account, row: CausedRow): Html {
  const { texts, format } = view;
  const change = changeOf(row);
  const cell = (column: string, shown: (text: string) => string): Part => {
    const [was, is] = [textIn(row.before, column), textIn(row.after, column)];
    if (row.before === null) return shown(is);
    if (row.after === null || was === is) return shown(was);
    return html`<del>${shown(was)}</del> <ins>${shown(is)}</ins>`;
  };
  const amount = (text: string): string => (text === '' ? '' : format.amount(text));
  return html`<tr class="${change}">
    <td>${texts.day.change[change]}</td>
    <th scope="row" class="id">
      <a href="${entryAddress(account.merchantNo, row.batchNo)}">${row.batchNo}</a>
    </th>
    <td class="t">${cell('booked_at', (text) => text.slice(11))}</td>
    <td>${cell('transaction_type', (text) => text)}</td>
    <td class="n">${cell('credit', amount)}</td>
    <td class="n">${cell('debit', amount)}</td>
    <td class="n">${cell('balance', amount)}</td>
    <td class="w">${causePart(view, account, row)}</td>
  </tr> `;
}

/** Why the row changed; the instants in it name their language. */
function causePart({ format }: View, account: Account, row: CausedRow): Part[] {
  const instants: Part[] = [];
  causeText(row, account, (at) => String(instants.push(format.shown.instant(at))));
  return filled((place) => causeText(row, account, () => place), ...instants);
}

const textIn = (cells: Cells | null, column: string): string => cells?.[column] ?? '';
