/** How a run's report reads for a person: what was read, each account day, what needs looking at, the files. */
import type { Window } from '../ledger/entry.ts';
import { explain } from '../ledger/hints.ts';
import { syncTotal, type RunReport } from '../run/report.ts';
import type { SyncReport } from '../sync/sync.ts';
import { wallSecond } from '../run/wall-time.ts';
import type { AccountDayRow } from '../store/account-days.ts';
import type { BreakRow } from '../store/breaks.ts';
import { counted, lines, table } from './text.ts';

/** More account days than this are a matter for the statements, not for a terminal. */
const DAYS_SHOWN_MAX = 120;
const SHOWN_MAX = 20;

export const spanText = ({ beginMs, endMs }: Window, zone: string): string =>
  `${wallSecond(beginMs, zone)} to ${wallSecond(endMs, zone)}`;

/** A stored break, explained. */
export function breakText(row: BreakRow, zone: string): string {
  const found = {
    afterBatchNo: row.after_batch_no,
    beforeBatchNo: row.before_batch_no,
    expectedBalance: row.expected_balance,
    foundBalance: row.found_balance,
    missingNet: row.missing_net,
    hint: row.hint as 'unexplained',
    hintBatchNo: row.hint_batch_no,
    span: { beginMs: row.begin_ms, endMs: row.end_ms },
    day: row.day,
  };
  return (
    `break ${row.id}: ${row.merchant_no} ${row.currency} ${row.day}, between ${wallSecond(row.begin_ms, zone)} and ` +
    `${wallSecond(row.end_ms, zone)}\n` +
    `  ${explain(found, row.currency)}`
  );
}

export const accountDaysTable = (days: readonly AccountDayRow[]): string =>
  table(
    [
      'merchant',
      'day',
      'account',
      '>opening',
      '>credits',
      '>debits',
      '>closing',
      '>entries',
      'verdict',
      'statement',
    ],
    days.map((row) => [
      row.merchant_no,
      row.day,
      row.currency,
      row.opening,
      row.credit_total,
      row.debit_total,
      row.closing,
      row.credit_count + row.debit_count,
      row.verdict,
      row.revision === null ? 'not published' : `r${row.revision}`,
    ]),
  );

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

function readingText(report: RunReport): string | null {
  if (report.sync.length === 0) return null;
  const sum = (figure: (sync: SyncReport) => number) => syncTotal(report.sync, figure);
  const stored = [
    ['new', sum((r) => r.inserted)],
    ['unchanged', sum((r) => r.unchanged)],
    ['amended', sum((r) => r.amended)],
    ['vanished', sum((r) => r.vanished)],
    ['returned', sum((r) => r.returned)],
    ['quarantined', sum((r) => r.quarantined)],
  ] as const;
  return (
    `read ${counted(report.sync.length, 'merchant')} in ${counted(
      sum((r) => r.requests),
      'call',
    )}: ` +
    stored
      .filter(([what, count]) => count > 0 || what === 'new')
      .map(([what, count]) => `${count.toLocaleString('en')} ${what}`)
      .join(', ')
  );
}

export interface RunTextContext {
  readonly days: readonly AccountDayRow[];
  /** Where statements go. */
  readonly location: string;
  readonly zone: string;
}

export function runText(report: RunReport, { days, location, zone }: RunTextContext): string {
  const { reconcile, publish } = report;
  const notices = new Map<string, number>();
  for (const { report: sync } of report.sync) {
    for (const [notice, count] of Object.entries(sync.notices))
      notices.set(notice, (notices.get(notice) ?? 0) + count);
  }
  return lines(
    `${report.command} of ${report.from} to ${report.to}, ${(report.elapsedMs / 1_000).toFixed(1)} s`,
    readingText(report),
    reconcile &&
      `chained ${counted(reconcile.daysChained, 'account day')}: ${counted(reconcile.opened.length, 'break')} found, ` +
        `${reconcile.healed.length} healed`,
    publish &&
      `published ${counted(publish.published.length, 'statement')}, ${publish.unchanged} unchanged, ` +
        `${publish.withheld.length} withheld` +
        (publish.repaired.length > 0 ? `, ${counted(publish.repaired.length, 'file')} repaired` : '') +
        (publish.unrepaired.length > 0
          ? `, ${counted(publish.unrepaired.length, 'file')} beyond repair`
          : ''),
    days.length > 0 && days.length <= DAYS_SHOWN_MAX && `\n${accountDaysTable(days)}`,
    days.length > DAYS_SHOWN_MAX &&
      `${days.length} account days: see \`daybook statements list\` for their figures`,
    shown('found', reconcile?.opened ?? [], (row) => breakText(row, zone)),
    shown('healed', reconcile?.healed ?? [], (row) => breakText(row, zone)),
    shown(
      `statements in ${location}`,
      publish?.published ?? [],
      ({ key, reason }) => key + (reason === null ? '' : `  (${reason})`),
    ),
    shown('notices', [...notices], ([notice, count]) => `${notice}${count > 1 ? ` (${count} times)` : ''}`),
    shown('to look at', report.notes, (note) => note),
  );
}
