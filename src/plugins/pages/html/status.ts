/** The status page: what `daybook status` prints, the overview and then each merchant. */
import { ageName, type StatusList } from '../../../run/status-text.ts';
import type { Health } from '../../../run/health.ts';
import { reasonOf, runEndText, type KnownRun } from '../../../run/run-state.ts';
import type { MerchantStatus } from '../../../run/status.ts';
import { addressWith } from './addresses.ts';
import { cured, curedParagraph, curedPart } from './cures.ts';
import { filled } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import { merchantLines } from './names.ts';
import { link, table } from './parts.ts';
import { page, type View } from './view.ts';

export interface StatusShown {
  /** Null for a person limited to some merchants. */
  readonly health: Health | null;
  readonly merchants: readonly MerchantStatus[];
  /** Remarks on these merchants in addition to their figures. */
  readonly lists: readonly StatusList[];
  /** From which age on a merchant's last good run counts as too old. */
  readonly maxAgeMs: number;
  /** What the last good runs of these merchants checked beyond the days they read. */
  readonly checked: readonly string[];
  readonly remarks: readonly string[];
  /** Null where the zone is proven. */
  readonly zoneRemark: string | null;
  /** Whether there is a page of own books. */
  readonly hasBooks: boolean;
  /** The number of the last merchant shown, where there are more. */
  readonly next: string | null;
}

export const statusPage = (view: View, shown: StatusShown | null): string =>
  page(view, {
    title: view.texts.status.title,
    section: 'status',
    content: html`<h1>${view.texts.status.title}</h1>
      ${
        shown === null
          ? html`<p>${view.texts.status.noPlatform}</p>`
          : html`${when(shown.health !== null, () => overviewPart(view, shown.health!))}
            ${shown.remarks.map((text) => curedParagraph(view.texts, text))} ${merchantsPart(view, shown)}
            ${shown.lists.map((list) => listPart(view, list))}
            ${when(shown.hasBooks, () => html`<p>${link('/books', view.texts.books.title)}</p>`)}`
      }`,
  });

function overviewPart(view: View, health: Health): Html {
  const { texts, format } = view;
  const { status } = texts;
  const { runs, nextRun, lastGoodNight } = health;
  const count = (value: number): string => format.count(value);
  const row = (name: string, value: Part): Html =>
    html`<tr>
      <th scope="row">${name}</th>
      <td>${value}</td>
    </tr> `;
  const others = [...runs.notMadeUpFor, ...runs.failedJobs].filter(({ id }) => id !== runs.last?.id);
  return html`<h2 id="overview">${status.overview}</h2>
    <table aria-labelledby="overview">
      <tbody>
        ${row(status.lastRun, runs.last === null ? status.noRun : runPart(view, runs.last))}
        ${others.map((run) => row(status.notMadeUpFor, runPart(view, run)))}
        ${when(nextRun !== null, () => row(status.nextRun, html`${jobPart(view, nextRun!.job)}, ${format.shown.instant(nextRun!.at)}`))}
        ${row(status.lastGoodNight, lastGoodNight === null ? status.never : format.shown.instant(lastGoodNight.at))}
        ${row(status.proven, spanText(view, health.provenFrom, health.provenThrough))}
        ${row(status.unproven, count(health.unproven))} ${row(status.daysMissing, count(health.daysMissing))}
        ${row(status.openBreaks, link('/breaks', count(health.newBreaks + health.knownBreaks)))}
        ${row(status.unreadable, link('/unreadable', count(health.quarantined)))}
      </tbody>
    </table>`;
}

function runPart({ texts, format }: View, run: KnownRun): Html {
  const reason = reasonOf(run);
  const at = format.shown.instant(run.finishedAt ?? run.startedAt);
  return html`${texts.status.run(run.id, run.command)}, ${at},
  ${runEndText(run)}${when(reason !== null, () => html`:<br />${curedPart(texts, reason!)}`)}`;
}

function jobPart({ texts }: View, job: string): Part {
  const names: Readonly<Record<string, string>> = texts.status.job;
  return names[job] ?? job;
}

const spanText = ({ texts, format }: View, from: string | null, to: string | null): Part =>
  from === null || to === null
    ? texts.status.never
    : filled(texts.status.from, format.shown.day(from), format.shown.day(to));

function merchantsPart(view: View, shown: StatusShown): Html {
  const { merchants, next, maxAgeMs, checked } = shown;
  const { status, paging, next: more } = view.texts;
  if (merchants.length === 0)
    return html`<p>${view.address.includes('after=') ? status.nothingBehind : status.nothing}</p>`;
  return html`<h2 id="merchants">${status.merchants}</h2>
    ${merchantsTable(view, shown)}
    <p class="soft">${status.ages(ageName(maxAgeMs))}</p>
    <p class="soft">${status.daysCounted}</p>
    ${[...checked, shown.zoneRemark ?? []].flat().map((text) => html`<p class="soft">${text}</p>`)}
    ${when(next !== null, () => html`<nav class="paging" aria-label="${paging}">${link(addressWith(view.address, { after: next }), more)}</nav>`)}`;
}

const merchantsTable = (view: View, { merchants, maxAgeMs }: StatusShown): Html => {
  const { count, shown } = view.format;
  const { status } = view.texts;
  return table({ by: 'merchants' }, merchants, [
    [
      status.merchant,
      ({ merchantNo }) => merchantLines(view, merchantNo, `/?q=${encodeURIComponent(merchantNo)}`),
      'name',
    ],
    [
      status.lastGood,
      ({ lastGoodRunAt, tooOld }) => [
        lastGoodRunAt === null ? status.never : shown.instant(lastGoodRunAt),
        when(tooOld, () => html`<br /><span class="s broken">${status.tooOld(ageName(maxAgeMs))}</span>`),
      ],
      'line',
    ],
    [status.provenSpan, (one) => spanText(view, one.provenFrom, one.provenThrough), 'line'],
    [status.missing, ({ daysMissing }) => count(daysMissing), 'number'],
    [status.breaks, ({ openBreaks }) => count(openBreaks), 'number'],
    [
      status.quarantined,
      ({ merchantNo, quarantined }) =>
        quarantined === 0
          ? count(0)
          : link(addressWith('/unreadable', { merchant: merchantNo }), count(quarantined)),
      'number',
    ],
  ]);
};

/** In the words of `daybook status`. Text between backticks is a command. */
function listPart({ texts, format }: View, { heading, items, more }: StatusList): Html {
  const { text: title, commands } = cured(texts, heading);
  return html`<h2>${title}</h2>
    ${commands}
    <ul>
      ${items.map((text) => html`<li>${curedPart(texts, text)}</li> `)}
      ${when(more > 0, () => html`<li>${texts.status.more(format.count(more))}</li>`)}
    </ul>`;
}
