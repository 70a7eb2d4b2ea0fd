/**
 * What a step of a history may never do: be green wrongly, lose entries of the platform, publish what is not stored.
 */
import { dayWindow, daysFromTo } from '../../src/ledger/business-day.ts';
import type { RunReport } from '../../src/run/report.ts';
import type { RunRequest } from '../../src/run/active-run.ts';
import type { HistoryPlatform } from './history-platform.ts';
import { covers, entryText, type State } from './history-state.ts';
import { rowsOf, statementId, type Published } from './published.ts';
import { openings } from './published-laws.ts';

const SETTLE_MS = 300_000;

export interface StepOutcome {
  readonly platform: HistoryPlatform;
  readonly nowMs: number;
  readonly request: RunRequest;
  readonly report: RunReport;
  readonly before: State;
  readonly after: State;
  readonly published: Published;
  /** Ranges asked for so far in every currency, including this step's. */
  readonly asked: readonly { readonly from: string; readonly to: string }[];
  /** The platform once said that it holds nothing. Then no one can miss what was never read before. */
  readonly lied: boolean;
}

/** Entries marked vanished that the platform has shown at their place all the time, readable or not. */
export function wronglyVanished({ platform, nowMs, before, after }: Omit<StepOutcome, 'report'>): string[] {
  const shown = new Map(
    [...platform.entries(nowMs), ...platform.wrecks(nowMs)].map((entry) => [entry.batchNo, entry]),
  );
  return [...after.entries.values()].flatMap((stored) => {
    const held = shown.get(stored.batchNo);
    const wasThere = before.entries.get(stored.batchNo)?.vanished === false;
    return wasThere &&
      stored.vanished &&
      held?.bookedMs === stored.bookedMs &&
      held.currency === stored.currency
      ? [`an entry the platform holds is marked vanished: ${stored.batchNo}`]
      : [];
  });
}

/** Statements of this step that differ from what is stored of their day, or whose day is not reconciled. */
export function wronglyPublished({ platform, report, after, published }: StepOutcome): string[] {
  return (report.publish?.published ?? []).flatMap(({ account: { currency }, day }) => {
    const statement = published.statements.get(statementId(currency, day));
    const stored = [...after.entries.values()]
      .filter(
        (entry) => !entry.vanished && entry.currency === currency && platform.dayOf(entry.bookedMs) === day,
      )
      .map(entryText)
      .sort();
    const rows = rowsOf(statement?.text ?? '').map((row) => row.join());
    const unreconciled = after.changed.find((changed) => changed.currency === currency && changed.day <= day);
    return [
      ...(rows.sort().join('\n') === stored.join('\n')
        ? []
        : [`a statement was published with other rows than are stored: ${statementId(currency, day)}`]),
      ...(unreconciled === undefined
        ? []
        : [
            `a statement was published on days not reconciled: ${statementId(currency, day)}, not ${unreconciled.day}`,
          ]),
    ];
  });
}

/** Why this step may not end with 0. */
export function notGreen(outcome: StepOutcome): string[] {
  const { platform, nowMs, request, report, before, after, published, asked, lied } = outcome;
  const { command, currencies } = request;
  const isAsked = ({ currency }: { currency: string }) => currencies?.includes(currency) ?? true;
  const over = (day: string) => dayWindow(day, platform.zone).endMs <= nowMs - SETTLE_MS;
  const inRange = (day: string) => day >= report.from && day <= report.to;
  const reads = command === 'run' || command === 'sync';
  const publishes = command === 'run' || command === 'publish';
  const everyDay = daysFromTo(platform.firstDay, platform.lastDay).filter(over);
  const held = (day: string) =>
    [...platform.entries(nowMs).map((entry) => [entry, entryText(entry)] as const)]
      .concat(platform.wrecks(nowMs).map((entry) => [entry, `unreadable ${entry.batchNo}`] as const))
      .filter(([entry]) => isAsked(entry) && platform.dayOf(entry.bookedMs) === day)
      .map(([, text]) => text)
      .sort()
      .join('\n');
  const stored = (day: string) =>
    [...after.entries.values()]
      .filter((entry) => !entry.vanished && isAsked(entry) && platform.dayOf(entry.bookedMs) === day)
      .map(entryText)
      .sort()
      .join('\n');
  const stated = (day: string) =>
    [...published.statements.values()]
      .filter((statement) => statement.day === day && isAsked(statement))
      .flatMap(({ text }) => rowsOf(text ?? ''))
      .map((row) => row.join())
      .sort()
      .join('\n');
  const changed = [...after.entries.values()].filter((entry) => {
    const was = before.entries.get(entry.batchNo);
    return was !== undefined && (was.version !== entry.version || (entry.vanished && !was.vanished));
  });
  const findings: string[] = [];
  const say = (days: readonly string[], what: string) => {
    if (days.length > 0) findings.push(`${what}: ${days.join(' ')}`);
  };
  say(
    after.openBreaks.filter(isAsked).map(({ currency, day }) => statementId(currency, day)),
    'breaks are open',
  );
  say(
    [...published.statements.values()]
      .filter((statement) => publishes && isAsked(statement) && statement.verdict === 'broken')
      .map(({ currency, day }) => statementId(currency, day)),
    'broken days are published',
  );
  if (currencies === null && after.quarantined > 0)
    findings.push(`entries are quarantined: ${after.quarantined}`);
  say(reads ? changed.map(({ batchNo }) => batchNo) : [], 'entries were amended or vanished in this run');
  say(
    reads && !lied ? everyDay.filter((day) => inRange(day) && held(day) !== stored(day)) : [],
    'days are not stored as the platform holds them',
  );
  const publishedDays = command === 'publish' && request.range !== null ? everyDay.filter(inRange) : everyDay;
  say(
    publishes ? publishedDays.filter((day) => stored(day) !== stated(day)) : [],
    'days are not published as they are stored',
  );
  const unread = asked
    .flatMap(({ from, to }) => daysFromTo(from, to))
    .filter((day) => over(day) && !covers(after.certified, dayWindow(day, platform.zone)));
  say(
    reads && currencies === null && request.range === null ? [...new Set(unread)].sort() : [],
    'days asked for are not certified',
  );
  const touched = new Set(
    report.publish?.published.map(({ account: { currency }, day }) => statementId(currency, day)),
  );
  const { derived } = openings(published);
  say(
    derived.filter(({ ids }) => ids.some((id) => touched.has(id))).map(({ what }) => what),
    'an opening that was just published does not follow',
  );
  return findings.map((finding) => `exit 0, but ${finding}`);
}
