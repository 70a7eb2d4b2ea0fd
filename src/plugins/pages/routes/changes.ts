/** `/changes?since=`: what changed. */
import { addDays, dayWindow } from '../../../ledger/business-day.ts';
import { changesPage, type RevisedShown } from '../html/changes.ts';
import { revisedDays, revisedSince, type RevisedAt, type RevisedRow } from '../../../store/downloaded.ts';
import type { StatementRow } from '../../../store/statements/statements.ts';
import { type PagesContext, type MakePage, PageRefusal, withNames, YEARS } from './context.ts';
import { dayIn } from './day.ts';

const DAYS_BACK = 7;
const REVISIONS_A_PAGE = 100;

export const showChanges: MakePage = async (context, { view, person, query, today }) => {
  const given = query('since');
  const since = given === null ? addDays(today, -DAYS_BACK) : dayIn(given, 400);
  const after = placeIn(query('after'));
  const found = await revisedSince(context.db, {
    since: new Date(dayWindow(since, context.zone).beginMs),
    merchants: person.merchants,
    after,
    limit: REVISIONS_A_PAGE + 1,
  });
  const rows = found.slice(0, REVISIONS_A_PAGE);
  const named = await withNames(
    context,
    view,
    rows.map((row) => row.merchant_no),
  );
  return changesPage(named, {
    ...{ since, isFirst: after === null },
    revised: await withDownloads(context, rows, person.name),
    next: found.length > rows.length ? placeText(rows.at(-1)!) : null,
  });
};

async function withDownloads(
  { db, zone }: PagesContext,
  rows: readonly RevisedRow[],
  name: string,
): Promise<RevisedShown[]> {
  const days = rows.map(({ day }) => day).sort();
  if (days.length === 0) return [];
  const byAccount = Map.groupBy(rows, accountText);
  const accounts = [...byAccount.values()].map(([row]) => ({
    merchantNo: row!.merchant_no,
    currency: row!.currency,
  }));
  const revised = await revisedDays(db, accounts, { from: days[0]!, to: days.at(-1)!, by: { name, zone } });
  const daysOf = new Map([...byAccount.keys()].map((account, at) => [account, revised[at]!]));
  return rows.map((row) => ({ row, isRevised: daysOf.get(accountText(row))!.has(row.day) }));
}

const accountText = ({ merchant_no, currency }: StatementRow): string => `${merchant_no} ${currency}`;

const placeText = (row: StatementRow): string =>
  [row.published_at.toISOString(), accountText(row), row.day, row.revision].join(' ');

/** A merchant's number may have blanks in it. */
const PLACE = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (.+) (\S+) (\S+) ([1-9]\d{0,8})$/;

/** Where a further page begins, as `placeText` wrote it. Throws `PageRefusal` for anything else. */
function placeIn(text: string | null): RevisedAt | null {
  if (text === null) return null;
  const [, at = '', merchantNo, currency, day, revision] = PLACE.exec(text) ?? [];
  const publishedAt = new Date(at);
  if (!YEARS.test(at) || Number.isNaN(publishedAt.getTime())) throw new PageRefusal(400);
  return {
    publishedAt,
    merchantNo: merchantNo!,
    currency: currency!,
    day: dayIn(day!, 400),
    revision: Number(revision),
  };
}
