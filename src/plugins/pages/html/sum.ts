/** Figures as the sum that they are: opening + credits − debits makes the expected closing, and what the closing lacks of it. */
import type { Figures } from '../../../ledger/entry.ts';
import { subtractAmounts } from '../../../ledger/money.ts';
import { missingNetOf } from '../../../ledger/month-figures.ts';
import { html, when, type Html, type Part } from './html.ts';
import { scrolling } from './parts.ts';
import type { View } from './view.ts';

export interface Summed extends Pick<
  Figures,
  'opening' | 'creditTotal' | 'creditCount' | 'debitTotal' | 'debitCount' | 'closing'
> {
  /** Whether a person has explained what the closing lacks. */
  readonly isExplained: boolean;
}

interface SumName {
  readonly label: string;
  /** The head of each column; null where there is one alone. */
  readonly columns: readonly Part[];
}

/** A column for each of `figures`. The difference is shown where one has any. */
export function sumOf(view: View, { label, columns }: SumName, figures: readonly Summed[]): Html {
  const { texts, format } = view;
  const { sum } = texts;
  const difference = figures.map((one) => missingNetOf(one)!);
  const expected = figures.map(({ closing }, nth) => subtractAmounts(closing, difference[nth]!));
  const hasDifference = difference.some((amount) => /[1-9]/.test(amount));
  const isExplained = figures.every((one) => one.isExplained);
  const row = (name: Part, amounts: readonly string[], className: string | null = null): Html =>
    html`<tr class="${className}">
      <th scope="row">${name}</th>
      ${amounts.map((amount) => html`<td class="n">${format.amount(amount)}</td>`)}
    </tr> `;
  const counted = (name: string, countOf: (one: Summed) => number): Html => {
    const counts = [...new Set(figures.map(countOf))].map((count) => format.count(count)).join(' / ');
    return html`${name} <span class="soft">${sum.entries(counts)}</span>`;
  };
  return scrolling(
    { label },
    html`<table class="sum">
      <caption>
        ${label}
      </caption>
      ${when(
        columns.some((head) => head !== null),
        () =>
          html`<thead>
            <tr>
              <td></td>
              ${columns.map((head) => html`<th scope="col" class="n">${head}</th>`)}
            </tr>
          </thead>`,
      )}
      <tbody>
        ${row(
          sum.opening,
          figures.map(({ opening }) => opening),
        )}
        ${row(
          counted(sum.credits, ({ creditCount }) => creditCount),
          figures.map(({ creditTotal }) => creditTotal),
        )}
        ${row(
          counted(sum.debits, ({ debitCount }) => debitCount),
          figures.map(({ debitTotal }) => debitTotal),
        )}
        ${when(hasDifference, () => row(sum.expected, expected, 'total'))}
        ${row(
          sum.closing,
          figures.map(({ closing }) => closing),
          'total',
        )}
        ${when(hasDifference, () => row(isExplained ? sum.differenceExplained : sum.difference, difference, isExplained ? 'explained' : 'broken'))}
      </tbody>
    </table>`,
  );
}
