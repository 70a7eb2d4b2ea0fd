/** What a person reads at a terminal: aligned tables, short wordings, and times. */
import { dayOf } from '../../ledger/business-day.ts';
import { countedInText, showableText } from '../../ledger/text.ts';
import { wallSecond } from '../../ledger/wall-time.ts';
import type { SettingsWithoutPlatform } from '../../settings/settings.ts';
import { drawTable } from './draw-table.ts';
import { terminalWidth } from './width.ts';

type Cell = string | number | null;
type Row = readonly Cell[];

/** A column of sentences reads well at this width. Columns that may be left out go before it gets narrower. */
const SENTENCE_WIDTH_GOOD = 30;
/** It never gets narrower than this; then the terminal breaks the line. */
const SENTENCE_WIDTH_MIN = 16;
/** After so many rows the names of the columns come again. */
const TABLE_ROWS_MAX = 500;

/** Most items of a list that are shown to a person who did not ask for all. */
export const LIST_SHOWN_MAX = 1_000;

/**
 * Draws a table. Columns named `>like this` are aligned to the right. If the table is too wide for the terminal,
 * columns named `~like this`, which hold sentences, are broken into lines. If that is not enough, columns named
 * `?like this` are left out, the last one first, and the table says so. A column can have two marks (`?>both`).
 */
export function table(columns: readonly string[], rows: readonly Row[], width = terminalWidth()): string {
  let shown = columns.map((_, at) => at);
  for (;;) {
    const heads = shown.map((at) => columns[at]!.replace('?', ''));
    const cells = rows.map((row) => shown.map((at) => row[at]!));
    const drawn = draw(heads, cells);
    const overflow = widthOf(drawn) - width;
    const droppable = shown.findLast((at) => columns[at]!.startsWith('?'));
    const widthMin = droppable === undefined ? SENTENCE_WIDTH_MIN : SENTENCE_WIDTH_GOOD;
    const { widths, isEnough } = sentenceWidths(heads, cells, overflow, widthMin);
    if (isEnough || droppable === undefined) {
      const more = columns.length - shown.length;
      const fitting = overflow <= 0 ? drawn : draw(heads, cells, widths);
      return more === 0
        ? fitting
        : `${fitting}\n(${counted(more, 'column')} more in a wider terminal, or with --json)`;
    }
    shown = shown.filter((at) => at !== droppable);
  }
}

/** Names of columns, as `table` takes them, and what each shows of an item. */
type Columns<Item> = Readonly<Record<string, (item: Item) => Cell>>;

/** A table with a row for each item. */
export const listTable = <Item>(items: readonly Item[], columns: Columns<Item>, width?: number): string =>
  table(
    Object.keys(columns),
    items.map((item) => Object.values(columns).map((cellOf) => cellOf(item))),
    width,
  );

/** The same of very many items: tables of `TABLE_ROWS_MAX` rows, one below the other, each with the names of its columns. */
export function longTable<Item>(items: readonly Item[], columns: Columns<Item>): string {
  const tables: string[] = [];
  for (let from = 0; from < items.length; from += TABLE_ROWS_MAX)
    tables.push(listTable(items.slice(from, from + TABLE_ROWS_MAX), columns));
  return tables.join('\n');
}

const widthOf = (text: string): number => longest(text.split('\n'));

/**
 * Makes the columns of sentences narrower by `overflow`, the widest first, and returns all widths; null for every
 * other column. None gets narrower than its longest word, as that would be cut off.
 */
function sentenceWidths(heads: readonly string[], rows: readonly Row[], overflow: number, widthMin: number) {
  const columns = heads.map((head, at) => {
    if (!head.startsWith('~')) return null;
    const texts = [head.slice(1), ...rows.map((row) => showableText(String(row[at] ?? '')))];
    return {
      width: longest(texts),
      floor: Math.max(widthMin, longest(texts.flatMap((text) => text.split(/\s/)))),
    };
  });
  let left = overflow;
  for (; left > 0; left -= 1) {
    const shrinkable = columns.filter((column) => column !== null && column.width > column.floor);
    const [widest] = shrinkable.sort((a, b) => b!.width - a!.width);
    if (widest === undefined || widest === null) break;
    widest.width -= 1;
  }
  return { widths: columns.map((column) => column?.width ?? null), isEnough: left <= 0 };
}

const longest = (texts: readonly string[]): number => Math.max(...texts.map(({ length }) => length));

function draw(
  columns: readonly string[],
  rows: readonly Row[],
  widths: readonly (number | null)[] = [],
): string {
  const drawn = columns.map((column, at) => ({ isRight: column.startsWith('>'), width: widths[at] ?? null }));
  const heads = columns.map((column) => column.replace(/^[>~]/, ''));
  const cells = rows.map((row) =>
    row.map((cell) => (typeof cell === 'string' ? showableText(cell) : String(cell ?? ''))),
  );
  return drawTable(drawn, [heads, ...cells]);
}

export const counted = countedInText;

/** The line below a list that goes on behind `place`; null where that is null, as it is complete. */
export const nextLine = (shown: number, noun: string, place: string | null): string | null =>
  place === null
    ? null
    : `\n${counted(shown, noun)} shown, and there are more: add ${NEEDS_QUOTES.test(place) ? `--after '${place}'` : `--after ${place}`}`;

/** What a shell would not take as one word. */
const NEEDS_QUOTES = /[^\w.:-]/;

/** Joins the parts, one on each line. False and null are left out. */
export const lines = (...parts: readonly (string | false | null)[]): string =>
  parts.filter((part) => part !== false && part !== null).join('\n');

/** A template for one line with values from elsewhere. Whatever they contain, it stays one line and shows all of it. */
export const line = (words: TemplateStringsArray, ...values: readonly (string | number | null)[]): string =>
  String.raw({ raw: words }, ...values.map((value) => showableText(String(value))));

const ZONE_OF_NO_PLATFORM = 'UTC';

/** Times for people in the platform’s zone, the zone of business days. `--json` has them in UTC. */
export interface Times {
  /** IANA name of the zone. */
  readonly zone: string;
  /** `2026-03-31 23:59:07`; empty for null. */
  readonly at: (instant: Date | null) => string;
  /** `2026-03-31`. */
  readonly day: (instant: Date) => string;
  /** A line that names the zone, once for all times above it. */
  readonly note: string;
}

/** Uses the platform's zone. If the settings have no platform, uses UTC, and the note says so. */
export function timesOf({ platform }: Pick<SettingsWithoutPlatform, 'platform'>): Times {
  const zone = platform?.timeZone ?? ZONE_OF_NO_PLATFORM;
  return {
    zone,
    at: (instant) => (instant === null ? '' : wallSecond(instant.getTime(), zone)),
    day: (instant) => dayOf(instant.getTime(), zone),
    note:
      platform === null
        ? `Times are in ${zone}: PLATFORM_BASE_URL and PLATFORM_TIME_ZONE are not both set.`
        : `Times are in ${zone}.`,
  };
}
