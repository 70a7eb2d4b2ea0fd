/** Draws the running balance of a day as SVG, with the breaks marked. The table next to it has the same values. */
import type { BusinessDay, Window } from '../../../ledger/entry.ts';
import { compareAmounts } from '../../../ledger/money.ts';
import { wallTime } from '../../../ledger/wall-time.ts';
import type { BreakRow } from '../../../store/breaks/breaks.ts';
import type { BalancePoint } from '../stored.ts';
import { linear, stepArea, stepLine, ticksIn, widenedToTicks } from './chart-lines.ts';
import { unmarked } from './format.ts';
import { html, when, type Html } from './html.ts';
import { breakLink } from './parts.ts';
import type { View } from './view.ts';

export interface BalanceDrawn {
  readonly currency: string;
  readonly day: BusinessDay;
  readonly window: Window;
  readonly opening: string;
  /** In order of time. */
  readonly points: readonly BalancePoint[];
  /**
   * Which entries the points are: all of them; of stretches of time the lowest, the highest and the last; or one at the
   * end of each stretch, between which the balance may have been lower or higher.
   */
  readonly drawnFrom: 'all' | 'extremes' | 'ends';
  /** By time; of all, the first ones. */
  readonly breaks: readonly BreakRow[];
  readonly breaksInAll: number;
}

/** How large a drawing is, in units of its texts' size: a narrow screen gets one of its own, as texts would shrink with the other. */
interface Size {
  readonly className: 'wide' | 'narrow';
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly hoursBetweenTicks: number;
}
const WIDE: Size = { className: 'wide', width: 960, height: 280, left: 72, hoursBetweenTicks: 3 };
const NARROW: Size = { className: 'narrow', width: 360, height: 240, left: 48, hoursBetweenTicks: 6 };
const EDGE = { top: 26, right: 20, bottom: 26 };
const HOUR_MS = 3_600_000;
const TICKS_UP = 5;
/** How far apart marks are that both get their names. */
const NAME_WIDTH = 64;

export function chart(view: View, drawn: BalanceDrawn): Html {
  const { texts, format } = view;
  const { points, breaks, currency, day } = drawn;
  const balances = [drawn.opening, ...points.map(({ balance }) => balance)];
  const lowest = balances.reduce((a, b) => (compareAmounts(a, b) <= 0 ? a : b));
  const highest = balances.reduce((a, b) => (compareAmounts(a, b) >= 0 ? a : b));
  const said = texts.day.chartText(
    `${format.amount(lowest)} ${currency}`,
    `${format.amount(highest)} ${currency}`,
    texts.day.chartBreaks(drawn.breaksInAll, breaks.length),
  );
  return html`<figure aria-labelledby="chart-title">
      <svg
        class="chart wide"
        viewBox="0 0 ${WIDE.width} ${WIDE.height}"
        role="img"
        aria-labelledby="chart-title chart-text"
      >
        <title id="chart-title">${texts.day.chartTitle(currency, format.plain.day(day))}</title>
        <desc id="chart-text">${said}</desc>
        ${drawing(view, drawn, WIDE)}
      </svg>
      <svg
        class="chart narrow"
        viewBox="0 0 ${NARROW.width} ${NARROW.height}"
        role="img"
        aria-labelledby="chart-title chart-text"
      >
        ${drawing(view, drawn, NARROW)}
      </svg>
      <figcaption class="soft">
        ${said}${when(drawn.drawnFrom !== 'all', () => html` ${texts.day.chartPart[drawn.drawnFrom as 'extremes' | 'ends'](format.count(points.length))}`)}
      </figcaption>
    </figure>
    ${balanceTable(view, drawn)}`;
}

/** The lines, from a balance of zero. A number of JavaScript's is exact enough for a place on the screen, and used for nothing else. */
function drawing(view: View, { window, opening, points, breaks, currency }: BalanceDrawn, size: Size): Html {
  const { format, texts, zone } = view;
  const { width, height, left } = size;
  const places = [{ bookedMs: window.beginMs, balance: opening }, ...points].map(({ bookedMs, balance }) => ({
    x: bookedMs,
    y: Number(balance),
  }));
  const values = places.map(({ y }) => y);
  const x = linear([window.beginMs, window.endMs + 1], [left, width - EDGE.right]);
  const heights = widenedToTicks([Math.min(0, ...values), Math.max(0, ...values)], TICKS_UP);
  const y = linear(heights, [height - EDGE.bottom, EDGE.top]);
  const until = [...places, { x: window.endMs + 1, y: values.at(-1)! }];
  const at = (value: number): string => value.toFixed(1);
  const steps = until.map((one): [number, number] => [x(one.x), y(one.y)]);
  const stroke = stepLine(steps);
  const filledArea = stepArea(steps, y(0));
  const ticks = ticksIn(heights, TICKS_UP);
  const labels = axisLabels(ticks, format.locale);
  const lang = format.isOfPage ? null : html` lang="${format.locale}"`;
  const marks = breaks.map((row) => ({
    row,
    place: x(Math.min(Math.max(row.end_ms, window.beginMs), window.endMs)),
  }));
  return html`<text x="${left - 8}" y="${EDGE.top - 12}" text-anchor="end">${currency}</text>
    ${ticks.map((tick, nth) => html`<line class="axis${tick === 0 ? ' zero' : null}" x1="${left}" x2="${width - EDGE.right}" y1="${at(y(tick))}" y2="${at(y(tick))}" /><text x="${left - 8}" y="${at(y(tick) + 4)}" text-anchor="end" ${lang}>${labels[nth]}</text>`)}
    ${hours(window, size).map((ms) => html`<text x="${at(x(ms))}" y="${height - 8}" text-anchor="middle">${wallTime(ms, zone).slice(11, 16)}</text>`)}
    <path class="area" d="${filledArea}" /><path class="line" d="${stroke}" />
    ${marks.map(({ row, place }) => html`<line class="mark${row.status === 'resolved' ? ' explained' : null}" x1="${at(place)}" x2="${at(place)}" y1="${EDGE.top - 8}" y2="${height - EDGE.bottom}" />`)}
    ${namedMarks(marks).map(({ row, place }) => html`<text class="marked" x="${at(place)}" y="${EDGE.top - 12}" text-anchor="${anchorOf(place, size)}">${texts.day.chartBreak(row.id)}</text>`)}`;
}

/** Marks whose names do not run into each other, from the left. */
function namedMarks<Mark extends { readonly place: number }>(marks: readonly Mark[]): Mark[] {
  const named: Mark[] = [];
  for (const mark of marks)
    if (mark.place - (named.at(-1)?.place ?? -Infinity) >= NAME_WIDTH) named.push(mark);
  return named;
}

/** A name at an edge goes inwards, so that nothing of it is cut off. */
const anchorOf = (place: number, { left, width }: Size): string =>
  place < left + NAME_WIDTH / 2 ? 'start' : place > width - NAME_WIDTH / 2 ? 'end' : 'middle';

function hours({ beginMs, endMs }: Window, { hoursBetweenTicks }: Size): number[] {
  const step = hoursBetweenTicks * HOUR_MS;
  return Array.from({ length: Math.floor((endMs - beginMs) / step) + 1 }, (_, nth) => beginMs + nth * step);
}

const SPARK = { width: 96, height: 24, edge: 2 };

/** A line without axes, down to a balance of zero, small enough for a row of a table. `said`: what it shows, in words. */
export function sparkline(values: readonly number[], said: string): Html {
  const { width, height, edge } = SPARK;
  const x = linear([0, values.length - 1], [edge, width - edge]);
  const y = linear([Math.min(0, ...values), Math.max(0, ...values)], [height - edge, edge]);
  const path = stepLine(values.map((value, nth): [number, number] => [x(nth), y(value)]));
  return html`<svg class="spark" viewBox="0 0 ${width} ${height}" role="img" aria-label="${said}">
    <path class="line" d="${path}" />
  </svg>`;
}

/** The balance at the end of each hour that had an entry, and the breaks. */
function balanceTable(view: View, { points, breaks, currency, window: { beginMs } }: BalanceDrawn): Html {
  const { texts, format, zone } = view;
  const ofHour = new Map(points.map((point) => [Math.floor((point.bookedMs - beginMs) / HOUR_MS), point]));
  return html`<details>
    <summary>${texts.day.chartTable}</summary>
    <table>
      <thead>
        <tr>
          <th scope="col">${texts.day.time}</th>
          <th scope="col" class="n">${texts.day.balance} (${currency})</th>
        </tr>
      </thead>
      <tbody>
        ${[...ofHour.values()].map(
          ({ bookedMs, balance }) =>
            html`<tr>
              <td>${wallTime(bookedMs, zone).slice(11)}</td>
              <td class="n">${format.amount(balance)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    ${when(
      breaks.length > 0,
      () =>
        html`<ul>
          ${breaks.map((row) => html`<li>${breakLink(view, row.id)} ${wallTime(row.end_ms, zone).slice(11)} <span class="n">${format.amount(row.missing_net)} ${currency}</span></li>`)}
        </ul>`,
    )}
  </details>`;
}

const DIGITS_MAX = 21;

/** Ticks in order, all the same step apart, in the reader's language. */
export function axisLabels(ticks: readonly number[], locale: string): string[] {
  if (ticks.length === 0) return [];
  const largest = Math.max(...ticks.map(Math.abs));
  const step = ticks.length > 1 ? Math.abs(ticks[1]! - ticks[0]!) : largest;
  const digits = step === 0 ? 1 : placeOf(largest) - placeOf(step) + 1;
  const format = new Intl.NumberFormat(`${locale}-u-nu-latn`, {
    notation: 'compact',
    maximumSignificantDigits: Math.min(Math.max(digits, 1), DIGITS_MAX),
  });
  return ticks.map((tick) => unmarked(format.format(tick)));
}

/** The place of a number's first digit, counted from the units. */
const placeOf = (value: number): number => Number(value.toExponential(6).split('e')[1]);
