/** Words the report of a run for a person: why it is not green, what was read, each account day, the files. */
import { explain, jumpText, storiesOf, type KnownBreak } from '../../ledger/hints/stories.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import { wallSecond } from '../../ledger/wall-time.ts';
import { checkedText } from '../../run/active-run.ts';
import { extendedLookbackText, requestedText } from '../../run/status-text.ts';
import type { Proven } from '../../run/proven.ts';
import type { RunReport, MerchantSync } from '../../run/report.ts';
import { endText } from '../../run/run-state.ts';
import { sumOfSync } from '../../sync/sync-report.ts';
import type { AccountDayRow } from '../../store/account-days.ts';
import { EXIT, type Reason } from '../../run/verdict/exit-codes.ts';
import { daysName } from '../../run/verdict/judge.ts';
import type { RepairReport, UnrepairedFile } from '../../statements/repair-files.ts';
import type { Handling } from '../../store/breaks/break-cases.ts';
import { knownBreak, type BreakRow } from '../../store/breaks/breaks.ts';
import type { KnownNotice } from '../../store/notices.ts';
import { counted, line, lines, listTable } from './text.ts';

/** Most account days shown on a terminal; statements have them all. */
const DAYS_SHOWN_MAX = 120;
const SHOWN_MAX = 20;

/** Most breaks of one cause that are shown one by one. */
const BREAKS_OF_ONE_CAUSE_SHOWN_MAX = 4;

const headOf = (
  { id, account: { merchantNo, currency }, day, span }: KnownBreak,
  zone: string,
  assigned: string | null = null,
): string =>
  `break ${id}${assigned === null ? '' : `, ${assigned}`}: ${merchantNo} ${currency} ${day}, between ${wallSecond(span.beginMs, zone)} and ` +
  wallSecond(span.endMs, zone);

/** To whom an open break is assigned and until when; null for no one. */
export const assignedText = (
  { takenBy, dueOn }: Pick<Handling, 'takenBy' | 'dueOn'>,
  today: BusinessDay,
): string | null =>
  takenBy === null
    ? null
    : line`assigned to ${takenBy}` +
      (dueOn === null ? '' : `, due ${dueOn}${dueOn < today ? ' (overdue)' : ''}`);

/** One stored break with its explanation. */
export function breakText(row: BreakRow, zone: string): string {
  const known = knownBreak(row);
  return `${headOf(known, zone)}\n  ${explain(known)}`;
}

/**
 * Stored breaks with their explanations. Breaks of one cause are put together, and the cause is given once. `assigned`
 * says of a break's id to whom it is assigned.
 */
export const breakTexts = (
  rows: readonly BreakRow[],
  zone: string,
  assigned: ReadonlyMap<number, string | null> = new Map(),
): string[] =>
  storiesOf(rows.map(knownBreak)).map(({ breaks, cause }) => {
    const more = breaks.length - BREAKS_OF_ONE_CAUSE_SHOWN_MAX;
    return lines(
      ...breaks
        .slice(0, BREAKS_OF_ONE_CAUSE_SHOWN_MAX)
        .map((one) => `${headOf(one, zone, assigned.get(one.id))}\n  ${jumpText(one)}`),
      more > 0 && `and ${counted(more, 'more break')} of the same cause`,
      `  ${cause}`,
    );
  });

export const accountDaysTable = (days: readonly AccountDayRow[]): string =>
  listTable(days, {
    merchant: (row) => row.merchant_no,
    day: (row) => row.day,
    account: (row) => row.currency,
    '?>opening': (row) => row.opening,
    '?>credits': (row) => row.credit_total,
    '?>debits': (row) => row.debit_total,
    '>closing': (row) => row.closing,
    '?>entries': (row) => row.credit_count + row.debit_count,
    verdict: (row) => row.verdict,
    statement: (row) => (row.revision === null ? 'not published' : `r${row.revision}`),
  });

const shown = <Item>(
  title: string,
  items: readonly Item[],
  wording: (item: Item) => string,
  max = SHOWN_MAX,
) =>
  items.length === 0
    ? null
    : lines(
        '',
        `${title}:`,
        ...items.slice(0, max).map((item) => `  ${wording(item)}`),
        items.length > max && `  and ${items.length - max} more`,
      );

/** What to do comes below what is wrong. */
export const reasonText = ({ what, todo }: Pick<Reason, 'what' | 'todo'>): string =>
  lines(`  ${what}`, todo !== null && `    -> ${todo}`);

function readingText({ sync }: RunReport): string | null {
  if (sync.length === 0) return null;
  const read = sumOfSync(sync);
  const stored = [
    ['new', read.inserted],
    ['unchanged', read.unchanged],
    ['amended', read.amended],
    ['vanished', read.vanished],
    ['returned', read.returned],
    ['quarantined', read.quarantined],
  ] as const;
  return (
    `read ${counted(sync.length, 'merchant')} in ${counted(read.requests, 'call')}: ` +
    stored
      .filter(([what, count]) => count > 0 || what === 'new')
      .map(([what, count]) => `${count.toLocaleString('en')} ${what}`)
      .join(', ')
  );
}

/** `2026-03-02 to 2026-03-05`, or that nothing is proven yet. */
const provenText = ({ provenFrom, provenThrough }: Pick<Proven, 'provenFrom' | 'provenThrough'>): string =>
  provenFrom === null || provenThrough === null ? 'nothing yet' : `${provenFrom} to ${provenThrough}`;

interface RunTextContext {
  /** The account days that the run changed in some way. */
  readonly days: readonly AccountDayRow[];
  /** Where statements are published. */
  readonly location: string;
  readonly zone: string;
}

/** The text of a run. If it is not green, the reasons come first. */
export function runText(report: RunReport, { days, location, zone }: RunTextContext): string {
  const { reconcile, publish, exitCode, standing } = report;
  const isGreen = exitCode === EXIT.done;
  const hasTimes =
    standing.requested.length + (reconcile?.opened.length ?? 0) + (reconcile?.healed.length ?? 0) > 0;
  const backlogDays = report.sync.flatMap(({ merchantNo, backlogDays: ranges }) =>
    ranges.length === 0 ? [] : [`${merchantNo} ${daysName(ranges)}`],
  );
  return lines(
    `${report.command} of ${report.from} to ${report.to}, ${(report.elapsedMs / 1_000).toFixed(1)} s` +
      (isGreen ? '' : `, exit ${endText(exitCode)}`),
    ...(isGreen ? [] : [...report.reasons.map(reasonText), '']),
    readingText(report),
    report.checked.length > 0 && `checked beyond the days read: ${checkedText(report.checked)}`,
    extendedLookbackText(report.sync),
    backlogDays.length > 0 && `also read, from earlier requests: ${backlogDays.join('; ')}`,
    reconcile &&
      `chained ${counted(reconcile.daysChained, 'account day')}: ${counted(reconcile.opened.length, 'break')} found, ` +
        `${reconcile.healed.length} healed; open after it: ${standing.newBreaks} new, ${standing.knownBreaks} known before`,
    publish &&
      `published ${counted(publish.published.length, 'statement')}, ${publish.unchanged} unchanged, ` +
        `${publish.withheld.length} withheld` +
        (publish.repaired.length > 0 ? `, ${counted(publish.repaired.length, 'file')} repaired` : '') +
        unrepairedText(publish.unrepaired),
    report.command === 'publish' && publish !== null && comparedText(publish, 'written again'),
    ...standing.proven
      .slice(0, SHOWN_MAX)
      .map((one) => `proven without a gap, ${one.merchantNo}: ${provenText(one)}`),
    standing.proven.length > SHOWN_MAX &&
      `and of ${standing.proven.length - SHOWN_MAX} more merchants: see \`daybook status\``,
    days.length > 0 && days.length <= DAYS_SHOWN_MAX && `\n${accountDaysTable(days)}`,
    days.length > DAYS_SHOWN_MAX &&
      `${days.length} account days: see \`daybook statements list\` for their figures`,
    shown('requested, and not read completely yet', standing.requested, (range) =>
      requestedText(range, zone),
    ),
    shown('found', breakTexts(reconcile?.opened ?? [], zone), (text) => text.replaceAll('\n', '\n  ')),
    shown('healed', reconcile?.healed ?? [], (row) => breakText(row, zone)),
    shown(
      `statements in ${location}`,
      publish?.published ?? [],
      ({ key, reason }) => key + (reason === null ? '' : `  (${reason})`),
    ),
    shown(
      'notices',
      Object.entries(sumOfSync(report.sync).notices),
      ([notice, count]) => `${notice}${count > 1 ? ` (${count} times)` : ''}`,
    ),
    isGreen && shown('to know', report.reasons, ({ what }) => what),
    hasTimes && `\nTimes are in ${zone}.`,
  );
}

/** How many published files were compared with the store, of which days, and what came of it; false if there were none. */
export function comparedText({ compared, repaired, unrepaired }: RepairReport, done: string): string | false {
  if (compared.length === 0) return false;
  const files = compared.reduce((sum, one) => sum + one.files, 0);
  const from = compared.map((one) => one.from).sort()[0]!;
  const to = compared
    .map((one) => one.to)
    .sort()
    .at(-1)!;
  const found =
    repaired.length + unrepaired.length === 0
      ? 'all as published'
      : `${repaired.length + unrepaired.length} missing or altered` +
        (repaired.length > 0 ? `, ${repaired.length} ${done}` : '') +
        unrepairedText(unrepaired);
  return `compared ${counted(files, 'file')}, ${from} to ${to}: ${found}`;
}

function unrepairedText(files: readonly UnrepairedFile[]): string {
  const ahead = files.filter((one) => one.ahead !== undefined).length;
  const lost = files.length - ahead;
  return (
    (lost > 0 ? `, ${counted(lost, 'file')} beyond repair` : '') +
    (ahead > 0
      ? `, ${counted(ahead, 'file')} of another or newer database ${ahead === 1 ? 'needs' : 'need'} a decision`
      : '')
  );
}

export const syncDocument = ({ report, ...merchant }: MerchantSync) => ({
  ...merchant,
  report: {
    ...report,
    failure: report.failure && { name: report.failure.name, message: report.failure.message },
  },
});

/** A notice about every account of a merchant has the currency ''. */
export const noticeDocument = (notice: KnownNotice) => ({ ...notice, currency: notice.currency ?? '' });

export const runDocument = (report: RunReport) => ({
  ...report,
  sync: report.sync.map(syncDocument),
  standing: { ...report.standing, notices: report.standing.notices.map(noticeDocument) },
});
