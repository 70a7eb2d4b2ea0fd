/** The page of an account's day: figures, balance, entries, breaks, revisions and certificates. */
import { explain } from '../../../ledger/hints/stories.ts';
import { sameStated } from '../../../ledger/chain/figures.ts';
import type { Account, BusinessDay } from '../../../ledger/entry.ts';
import { type AccountDayRow, figuresOf } from '../../../store/account-days.ts';
import { knownBreak } from '../../../store/breaks/breaks.ts';
import type { Adjustment } from '../../../months/closes.ts';
import type { BreaksFound } from '../stored.ts';
import type { RequestRow } from '../../../store/requests.ts';
import type { UnreadableWithin } from '../../../store/quarantine.ts';
import type { CertificateRow } from '../../../store/certificates.ts';
import type { StatementRow } from '../../../store/statements/statements.ts';
import { addressWith, dayAddress, dayDownloadAddress, monthAddress, unreadableAddress } from './addresses.ts';
import { chart, type BalanceDrawn } from './chart.ts';
import { adjustmentLink } from './close.ts';
import { rowsSection, type RowsShown } from './day-rows.ts';
import { curedPart } from './cures.ts';
import { filled } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import { stateMark, type DayMark } from './months.ts';
import { merchantPart, merchantText, namesLine } from './names.ts';
import { revisionsSection, type ComparisonShown } from './revisions.ts';
import { arrows, breakLink, link, menu, otherFormats, table } from './parts.ts';
import { sumOf } from './sum.ts';
import { page, type View } from './view.ts';
import { workForm } from './work.ts';

const UNREADABLE_SHOWN_MAX = 20;

interface DayShown {
  readonly account: Account;
  readonly day: BusinessDay;
  /** Null where the previous days were not read, or precede the account's first entry. */
  readonly before: BusinessDay | null;
  readonly after: BusinessDay;
  readonly mark: DayMark;
  /** Whether it was read completely but not reconciled yet. */
  readonly isUnreconciled: boolean;
  /** The close of its month, and how the day differs from it; null where the month is not closed. */
  readonly closed: { readonly number: number; readonly adjustment: Adjustment | null } | null;
  /** Null where no figures are known. */
  readonly figures: AccountDayRow | null;
  /** All revisions, the newest first. */
  readonly revisions: readonly StatementRow[];
  /** The one whose figures and files are shown; undefined where nothing was published. */
  readonly revision: StatementRow | undefined;
  readonly comparison: ComparisonShown | null;
  /** Null where there is nothing to draw. */
  readonly balance: BalanceDrawn | null;
  readonly rows: RowsShown;
  readonly found: BreaksFound;
  readonly unreadable: readonly UnreadableWithin[];
  /** By time; of all, the first ones. */
  readonly certificates: readonly CertificateRow[];
  /** What was last asked for again of this day. */
  readonly lastRepeat: RequestRow | undefined;
}

export function dayPage(view: View, shown: DayShown): string {
  const { texts, format } = view;
  const { account, day, before, revisions, revision, balance } = shown;
  const title = (merchant: string, shownDay: string): string =>
    texts.day.title(merchant, account.currency, shownDay);
  const month = addressWith(monthAddress(account.merchantNo, day.slice(0, 7)), {
    currency: account.currency,
  });
  const way = (to: BusinessDay): readonly [string, Part] => [dayAddress(account, to), format.shown.day(to)];
  return page(view, {
    title: title(merchantText(view, account.merchantNo), format.plain.day(day)),
    section: 'home',
    content: html`<p class="up">${link(month, format.shown.month(day.slice(0, 7)))}</p>
      <h1>${filled(title, merchantPart(view, account.merchantNo), format.shown.day(day))}</h1>
      ${namesLine(view, account.merchantNo, account.currency)}
      <p>
        ${stateMark(view, shown.mark)}
        <span class="soft"
          >${shown.isUnreconciled ? texts.day.unreconciled : texts.stateMeaning[shown.mark.state]}</span
        >
      </p>
      ${when(shown.closed !== null, () => closedPart(view, shown.closed!))}
      <div class="bar">
        ${arrows(view, before === null ? null : way(before), way(shown.after))}
        ${when(revision !== undefined, () => menu(texts.download, downloads(view, account, day, revision!.revision)))}
      </div>
      ${figuresPart(view, shown)} ${breaksSection(view, shown.found)} ${unreadableSection(view, shown)}
      ${when(
        balance !== null,
        () =>
          html`<h2>${texts.day.chart}</h2>
            ${chart(view, balance!)}`,
      )}
      ${rowsSection(view, account, shown.rows)}
      ${revisionsSection(view, account, revisions, shown.comparison)} ${certificatesSection(view, shown)}
      ${repeatSection(view, shown)}`,
  });
}

const closedPart = (view: View, { number, adjustment }: NonNullable<DayShown['closed']>): Html =>
  adjustment === null
    ? html`<p class="soft">${view.texts.close.ofDay(number)}</p>`
    : html`<p class="said">${view.texts.close.dayAdjusts(number)} ${adjustmentLink(view, adjustment)}</p>`;

/** The statement as CSV, and in each other format. */
function downloads(
  { texts }: View,
  account: Account,
  day: BusinessDay,
  revision: number,
): (readonly [string, string])[] {
  const address = (format?: string): string => dayDownloadAddress(account, day, revision, format);
  return [
    [address(), texts.day.download(revision)],
    ...otherFormats(texts).map(([format, name]) => [address(format), texts.day.downloadAs(name)] as const),
  ];
}

/** The sum as published, and what is known now where that differs. */
function figuresPart(
  view: View,
  { account, figures: known, found, mark, revisions, revision: published }: DayShown,
): Html {
  const { texts } = view;
  const { day } = texts;
  if (known === null && published === undefined)
    return html`<h2>${day.figures}</h2>
      <p>${day.noFigures}</p>`;
  const isSame = known !== null && published !== undefined && isAlike(known, published);
  const columns: readonly (readonly [Part, StatedRow])[] = [
    ...(published === undefined ? [] : [[day.published(published.revision), published] as const]),
    ...(known === null || isSame ? [] : [[day.known, known] as const]),
  ];
  const summed = columns.map(([, row]) => ({
    ...figuresOf(row),
    isExplained: row.verdict === 'broken' && mark.state === 'explained' && found.breaks.length > 0,
  }));
  const isDue =
    known !== null &&
    known.version !== known.published_version &&
    published !== undefined &&
    published === revisions[0];
  const [stated] = columns.map(([, { verdict }]) => verdict);
  return html`<h2 id="figures">${day.figures}</h2>
    ${sumOf(view, { label: day.sum(account.currency), columns: columns.map(([head]) => head) }, summed)}
    ${when(stated !== undefined && stated !== 'broken', () => html`<p class="soft">${day.verdict}: ${verdictText(view, stated!)}</p>`)}
    ${when(published === undefined, () => html`<p class="soft">${texts.month.notPublished}</p>`)}
    ${when(isDue, () => html`<p class="said">${isSame ? day.dueUnseen : day.due}</p>`)}`;
}

type StatedRow = AccountDayRow | StatementRow;

const isAlike = (known: AccountDayRow, published: StatementRow): boolean =>
  sameStated(figuresOf(known), figuresOf(published));

const verdictText = ({ texts }: View, verdict: string): string =>
  verdict === 'broken' || verdict === 'reordered' ? texts.state[verdict] : texts.day.continuous;

const breaksSection = (view: View, { breaks, inAll }: BreaksFound): Part =>
  when(
    breaks.length > 0,
    () =>
      html`<h2>${view.texts.day.breaks}</h2>
        ${when(inAll > breaks.length, () => html`<p class="soft">${view.texts.day.breaksMore(view.format.count(breaks.length), view.format.count(inAll))}</p>`)}
        <ul>
          ${breaks.map(
            (row) =>
              html`<li>
                ${breakLink(view, row.id)}
                <span class="s ${row.status}"
                  >${view.texts.caseState[row.status as 'open' | 'resolved']}</span
                >
                ${curedPart(view.texts, explain(knownBreak(row)))}${when(row.note !== null, () => html` <q>${row.note}</q>`)}
              </li> `,
          )}
        </ul>`,
  );

/** Of a day that is over. */
const repeatSection = (view: View, { account: { merchantNo }, day, mark, lastRepeat }: DayShown): Part =>
  when(
    mark.state !== 'not-over' && (view.person?.role === 'operator' || lastRepeat !== undefined),
    () =>
      html`<h2 id="work">${view.texts.work.form}</h2>
        ${workForm(view, { kinds: ['read', 'publish'], merchantNo, from: day, to: day, last: lastRepeat })}`,
  );

function certificatesSection(view: View, { certificates }: DayShown): Html {
  const { texts, format } = view;
  const { day } = texts;
  if (certificates.length === 0)
    return html`<h2>${day.certificates}</h2>
      <p>${day.noCertificate}</p>`;
  const at = (ms: number): Part => format.shown.instant(new Date(ms));
  return html`<h2 id="certificates">${day.certificates}</h2>
    <details>
      <summary>${day.certificatesCount(certificates.length)}</summary>
      <p class="soft">${day.certificatesOf}</p>
      ${table({ by: 'certificates' }, certificates, [
        [day.spanFrom, (one) => at(one.begin_ms), 'line'],
        [day.spanTo, (one) => at(one.through_ms), 'line'],
        [day.total, (one) => format.count(one.total), 'number'],
        [day.distinct, (one) => format.count(one.entries), 'number'],
        [day.quarantined, (one) => format.count(one.unreadable), 'number'],
        [day.certified, (one) => format.shown.instant(one.read_at), 'line'],
      ])}
    </details>`;
}

const unreadableSection = ({ texts, format }: View, { account, day, unreadable }: DayShown): Part =>
  when(
    unreadable.length > 0,
    () =>
      html`<h2>${texts.unreadable.title}</h2>
        <p class="soft">${texts.unreadable.meaning}</p>
        <ul>
          ${unreadable
            .slice(0, UNREADABLE_SHOWN_MAX)
            .map(
              ({ id, batchNo, reason, acknowledgedAt }) =>
                html`<li>
                  ${link(unreadableAddress(id), batchNo ?? texts.unreadable.numberless(id))}:
                  ${reason}${when(acknowledgedAt !== null, () => html` (${texts.unreadable.acknowledged})`)}
                </li> `,
            )}
        </ul>
        <p>
          ${link(addressWith('/unreadable', { merchant: account.merchantNo, day, all: 'yes' }), texts.unreadable.listed(format.count(unreadable.length)))}
        </p>`,
  );
