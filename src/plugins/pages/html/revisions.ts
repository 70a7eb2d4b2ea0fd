/** The revisions of a day's statement, and two of them side by side with each changed row and its cause. */
import type { Account } from '../../../ledger/entry.ts';
import { compareAmounts } from '../../../ledger/money.ts';
import { changeOf, type ChangeCounts } from '../../../statements/differing-rows.ts';
import { causeText, type CausedRow } from '../../../statements/reason.ts';
import type { StatementRow } from '../../../store/statements/statements.ts';
import { addressWith, dayDownloadAddress, entryAddress } from './addresses.ts';
import { filled } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import { link, table } from './parts.ts';
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
  const { texts, format, address } = view;
  const { day, month } = texts;
  if (revisions.length === 0)
    return html`<h2>${day.revisions}</h2>
      <p>${day.nothingPublished}</p>`;
  const newest = Math.max(...revisions.map(({ revision }) => revision));
  return html`<h2 id="revisions">${day.revisions}</h2>
    ${table({ by: 'revisions' }, revisions, [
      [
        day.revision,
        (row) => link(dayDownloadAddress(account, row.day, row.revision), month.revision(row.revision)),
        'name',
      ],
      [day.publishedAt, (row) => format.shown.published(row.published_at), 'line'],
      [day.why, (row) => row.reason ?? day.firstRevision, 'wide'],
      [
        day.file,
        (row) =>
          html`<details>
            <summary>SHA-256</summary>
            <code>${row.sha256}</code>
          </details>`,
      ],
      [day.size, (row) => format.count(row.byte_count), 'number'],
      [
        day.compare,
        ({ revision, supersedes, day: of }) => [
          supersedes === null
            ? null
            : link(
                `${addressWith(address, { revision, against: supersedes })}#compared`,
                day.compareWith(supersedes, revision),
              ),
          ' ',
          revision === newest
            ? null
            : link(
                addressWith(dayDownloadAddress(account, of, newest), { since: revision }),
                day.changesSince(revision),
              ),
        ],
        'line',
      ],
    ])}
    ${when(comparison !== null, () => comparisonPart(view, account, comparison!))}`;
}

function comparisonPart(view: View, account: Account, { before, after, rows }: ComparisonShown): Html {
  const { texts } = view;
  return html`<h3 id="compared">${texts.day.compared(before.revision, after.revision)}</h3>
    ${when(after.supersedes === before.revision && after.reason !== null, () => html`<p class="said">${after.reason}</p>`)}
    ${figuresTable(view, before, after)}
    ${'problem' in rows ? html`<p class="said wrong">${rows.problem}</p>` : 'tooLarge' in rows ? html`<p class="said">${texts.day.tooLarge(view.format.count(rows.tooLarge))}</p>` : rowsPart(view, account, rows)}`;
}

interface FigureCompared {
  readonly name: string;
  readonly was: string;
  readonly is: string;
  readonly isSame: boolean;
}

function figuresTable({ texts, format }: View, before: StatementRow, after: StatementRow): Html {
  const { day, month } = texts;
  type Amount = 'opening' | 'credit_total' | 'debit_total' | 'closing';
  const amount = (name: string, column: Amount): FigureCompared => ({
    name,
    was: format.amount(before[column]),
    is: format.amount(after[column]),
    isSame: compareAmounts(before[column], after[column]) === 0,
  });
  const other = (name: string, was: string, is: string): FigureCompared => ({
    name,
    was,
    is,
    isSame: was === is,
  });
  const count = (name: string, column: 'credit_count' | 'debit_count' | 'break_count'): FigureCompared =>
    other(name, format.count(before[column]), format.count(after[column]));
  const figures = [
    amount(day.opening, 'opening'),
    amount(day.credits, 'credit_total'),
    count(day.creditCount, 'credit_count'),
    amount(day.debits, 'debit_total'),
    count(day.debitCount, 'debit_count'),
    amount(day.closing, 'closing'),
    other(day.verdict, before.verdict, after.verdict),
    count(day.breaks, 'break_count'),
  ];
  return table(
    { by: 'compared' },
    figures,
    [
      [null, ({ name }) => name, 'name'],
      [
        month.revision(before.revision),
        ({ was, isSame }) => (isSame ? was : html`<del>${was}</del>`),
        'number',
      ],
      [month.revision(after.revision), ({ is, isSame }) => (isSame ? is : html`<ins>${is}</ins>`), 'number'],
    ],
    { tableClass: 'compared', rowClass: ({ isSame }) => (isSame ? null : 'changed') },
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
    ${differingTable(view, account, said, shown)}
    ${when(all > shown.length, () => html`<p>${texts.day.rowsMore(format.count(all - shown.length))}</p>`)}`;
}

function differingTable(view: View, account: Account, said: string, rows: readonly CausedRow[]): Html {
  const { format } = view;
  const { day } = view.texts;
  const column =
    (name: string, shown = (text: string): string => text) =>
    ({ before, after }: CausedRow): Part => {
      const [was, is] = [before, after].map((cells) => shown(cells?.[name] ?? '')) as [string, string];
      if (before === null) return is;
      if (after === null || before[name] === after[name]) return was;
      return html`<del>${was}</del> <ins>${is}</ins>`;
    };
  const amount = (text: string): string => (text === '' ? '' : format.amount(text));
  const entryLink = ({ batchNo }: CausedRow): Html =>
    link(entryAddress(account.merchantNo, batchNo), batchNo);
  return table<CausedRow>(
    { label: said },
    rows,
    [
      [day.what, (row) => day.change[changeOf(row)]],
      [day.batchNo, entryLink, 'nameId'],
      [day.time, column('booked_at', (text) => text.slice(11)), 'line'],
      [day.type, column('transaction_type')],
      [day.credit, column('credit', amount), 'number'],
      [day.debit, column('debit', amount), 'number'],
      [day.balance, column('balance', amount), 'number'],
      [day.cause, (row) => causePart(view, account, row), 'wide'],
    ],
    { tableClass: 'compared', rowClass: changeOf },
  );
}

/** Why the row changed; the instants in it name their language. */
function causePart({ format }: View, account: Account, row: CausedRow): Part[] {
  const instants: Part[] = [];
  causeText(row, account, (at) => String(instants.push(format.shown.instant(at))));
  return filled((place) => causeText(row, account, () => place), ...instants);
}
