/**
 * Checks for what is odd about a ledger although no balance breaks, and stores it as notices until a run has reported
 * it.
 */
import { addDays, dayOf, dayWindow, zoneDays } from '../../ledger/business-day.ts';
import { isChecked } from '../../ledger/checks.ts';
import { emptyBusyDays, USUAL_DAYS, type EntriesADay } from '../../ledger/empty-days.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import { HABIT_DAYS_TOGETHER_MIN, silenceOf, TAIL_MS_MIN, type ActiveDays } from '../../ledger/silence.ts';
import {
  endSilences,
  quietAccounts,
  storeSilent,
  type QuietAccount,
  type SilentNow,
} from '../../store/silent-accounts.ts';
import { compareAmounts } from '../../ledger/money.ts';
import { ALL_TIME, covers } from '../../ledger/window.ts';
import { busyDays, entriesADay } from '../../store/account-days.ts';
import {
  accountDaysOf,
  sharedEntries,
  type SharedDay,
  noteCompared,
  uncomparedDays,
} from '../../store/shared-entries.ts';
import { certifiedWindows, hasUnreadable } from '../../store/certificates.ts';
import { firstDaysWithBalance, pastAndBegin, storePast, type LedgerPast } from '../../store/ledger-past.ts';
import {
  keepNotices,
  sharedNoticeDays,
  type EmptyNotice,
  type FirstNotice,
  type Notice,
  oddEntries,
} from '../../store/notices.ts';
import { accountKey, type SharedFrom } from '../../statements/withheld.ts';
import { writeTransaction } from '../../store/engine/write-transaction.ts';
import { entriesBefore } from '../../sync/ledger-past.ts';
import type { MerchantWork, RunDeps } from '../active-run.ts';
import type { MerchantOutcome } from '../report.ts';
import { sql, type Kysely, type Transaction } from 'kysely';
import type { DB } from '../../store/engine/schema.ts';

/** Older days are not judged: no one asks about an entry that was missing a month ago. */
const JUDGED_DAYS_MAX = 31;

const keep = ({ deps, lease, runId }: MerchantWork, notices: readonly Notice[]): Promise<void> =>
  writeTransaction(deps.db, lease, (trx) => keepNotices(trx, notices, { runId, now: deps.now() }));

/**
 * Compares all days that this run or a killed one gave figures, and those that wait for theirs, with the days of all
 * other merchants, and stores notices of entries that two merchants both have. To be called when every merchant of the
 * run is chained, and before those are published whose days may hold such entries.
 */
export async function noticeShared(
  deps: Pick<RunDeps, 'db' | 'checks' | 'zone' | 'now'>,
  { runId, merchants }: { readonly runId: number; readonly merchants: readonly string[] },
): Promise<void> {
  const days = await uncomparedDays(deps.db, merchants);
  if (days.length === 0) return;
  const isAsked = isChecked('shared', deps.checks);
  const shared = isAsked ? await sharedEntries(deps.db, accountDaysOf(days), deps.zone) : [];
  if (shared.length === 0 && !days.some(({ chained }) => chained)) return;
  await deps.db.transaction().execute(async (trx) => {
    await keepNotices(trx, shared, { runId, now: deps.now() });
    await noteCompared(trx, days);
  });
}

/**
 * By account, the first of its days that holds entries of another merchant and may not be its own. Compared anew, so
 * that a day is published once the entries are gone from either ledger.
 */
export async function sharedDays(
  { deps, merchantNo, known }: MerchantWork,
  { isToCompare }: MerchantOutcome,
): Promise<SharedFrom> {
  const first = new Map<string, SharedDay>();
  if (!isChecked('shared', deps.checks) || !(known.isToCompare || isToCompare)) return new Map();
  const days = await sharedNoticeDays(deps.db, merchantNo);
  const own = days.map((one) => ({ merchantNo, ...one }));
  for (const shared of await sharedEntries(deps.db, own, deps.zone)) {
    const pair = JSON.stringify([shared.currency, shared.merchantNo, shared.otherMerchantNo]);
    if (shared.day <= (first.get(pair)?.day ?? shared.day)) first.set(pair, shared);
  }
  const doubted = [...first.values()].filter((one) => one.doubted.includes(merchantNo));
  return new Map(
    doubted
      .sort((a, b) => (a.day < b.day ? 1 : -1))
      .map(({ currency, day, figures: { count }, ...pair }) => {
        const otherMerchantNo = pair.merchantNo === merchantNo ? pair.otherMerchantNo : pair.merchantNo;
        return [accountKey({ merchantNo, currency }), { day, count, otherMerchantNo }];
      }),
  );
}

/** What the reading says of entries that are odd by themselves; which they are is asked of the stored ones. */
const ODD = / is empty$| decimals of |^further notices$/;

/**
 * Stores notices of entries without a transaction type, and of amounts with more decimals than their currency has. Asks
 * nothing where the reading saw none.
 */
export async function noticeOddEntries(work: MerchantWork, { sync }: MerchantOutcome): Promise<void> {
  const { deps, merchantNo, days } = work;
  if (!Object.keys(sync?.report.notices ?? {}).some((sentence) => ODD.test(sentence))) return;
  const from = [days, ...days.backlogDays].map((range) => range.from).sort()[0]!;
  const { beginMs } = dayWindow(from, deps.zone);
  const found = await oddEntries(deps.db, merchantNo, beginMs, deps);
  // Of an account the first day says it; the others would say it again.
  const first = new Map(found.toReversed().map((one) => [`${one.kind} ${one.currency}`, one]));
  if (first.size > 0) await keep(work, [...first.values()]);
}

/**
 * Stores notices that follow from the days' figures: busy days without entries, and first days that open on a balance
 * that no entry explains.
 */
export async function noticeFigures(work: MerchantWork, outcome: MerchantOutcome): Promise<void> {
  const { deps, merchantNo, request, days } = work;
  if (isChecked('empty', deps.checks)) {
    // Today's first hours may be read as well.
    const range = { from: days.from, to: addDays(days.to, 1) };
    const busy = request.currencies === null ? await busyDays(deps.db, merchantNo, range) : undefined;
    await noticeEmptyDays(work, busy);
    await noteSilentAccounts(work, outcome, busy);
  }
  if (!isChecked('first', deps.checks)) return;
  await noticeFirstOpenings(work, outcome);
  await settleUndecidedOpenings(work, outcome);
}

async function noticeEmptyDays(
  work: MerchantWork,
  busy?: readonly ReadonlySet<BusinessDay>[],
): Promise<void> {
  const { deps, merchantNo } = work;
  const days = daysToJudge(work);
  if (days.length === 0 || busy?.every((own) => days.every((day) => own.has(day))) === true) return;
  const [from, to] = [days[0]!, days.at(-1)!];
  const byCurrency = await entriesADay(deps.db, merchantNo, { from: addDays(from, -USUAL_DAYS), to });
  const found = emptyNotices(merchantNo, byCurrency, days);
  const proven = await provenOnes(deps, merchantNo, found);
  if (proven.length > 0) await keep(work, proven);
}

/** Accounts that are silent no more. To be called once the ledger is read and before days get figures. */
export async function noteEndOfSilences(work: MerchantWork): Promise<void> {
  const { deps, lease, merchantNo, known } = work;
  const through = daysToJudge(work).at(-1);
  if (!known.hasSilent || through === undefined) return;
  await writeTransaction(deps.db, lease, (trx) => endSilences(trx, merchantNo, through));
}

/**
 * Puts on record which accounts are silent for longer than ever before, so that what follows their newest entry is not proven. Asks
 * nothing where each account has newer entries than those of the last day that is over, and none was silent before.
 */
async function noteSilentAccounts(
  work: MerchantWork,
  { sync }: MerchantOutcome,
  busy?: readonly ReadonlySet<BusinessDay>[],
): Promise<void> {
  const { deps, lease, merchantNo, known } = work;
  const { zone } = deps;
  const through = daysToJudge(work).at(-1);
  if (through === undefined) return;
  if (!known.hasSilent && busy?.every((own) => [...own].some((day) => day > through)) === true) return;
  const last = dayWindow(through, zone);
  // What was not read says nothing of silence, nor do days of long ago.
  const isRead =
    sync === null ||
    (sync.report.failure === null &&
      !sync.report.uncertified.some(({ window }) => window.endMs >= last.beginMs));
  if (!isRead || dayWindow(addDays(through, 1), zone).endMs <= settledMs(work)) return;
  const accounts = await quietAccounts(deps.db, merchantNo, { ...last, through });
  const silent = silentNow(accounts, { through, endMs: last.endMs, zone });
  if (silent.size === 0 && !known.hasSilent) return;
  await writeTransaction(deps.db, lease, (trx) => storeSilent(trx, merchantNo, silent, deps.now()));
}

/**
 * The silent accounts, by currency. A frozen state freezes all accounts of a merchant: where all together are silent, or one since the day
 * of the newest entry of all, the others are not proven either from that entry on. Pure.
 */
function silentNow(
  accounts: readonly QuietAccount[],
  { through, endMs, zone }: { readonly through: BusinessDay; readonly endMs: number; readonly zone: string },
): ReadonlyMap<string, SilentNow> {
  const isQuiet = ({ newestMs }: QuietAccount): boolean => newestMs <= endMs - TAIL_MS_MIN;
  const silent = new Map<string, SilentNow>();
  for (const { currency, newestMs, days } of accounts.filter(isQuiet)) {
    const silence = silenceOf(activeDays(days, zone), through);
    if (silence !== null)
      silent.set(currency, { ...silence, newestMs, isOfAll: false, beginMs: newestMs + 1, endMs });
  }
  const mayBeFrozen = accounts.length > 0 && accounts.every((one) => isQuiet(one) && !one.isAccepted);
  if (!mayBeFrozen) return silent;
  const newestMs = Math.max(...accounts.map((one) => one.newestMs));
  const newestDay = dayOf(newestMs, zone);
  const together =
    silenceOf(daysTogether(accounts, zone), through, HABIT_DAYS_TOGETHER_MIN) ??
    [...silent.values()].find((one) => one.newestDay === newestDay);
  if (together === undefined) return silent;
  const ofAll = { ...together, newestDay, newestMs, isOfAll: true, beginMs: newestMs + 1, endMs };
  return new Map(accounts.map(({ currency }) => [currency, silent.get(currency) ?? ofAll]));
}

/** The days of all accounts as if they were one account's. */
function daysTogether(accounts: readonly QuietAccount[], zone: string): ActiveDays {
  const byDay = Map.groupBy(
    accounts.flatMap(({ days }) => days),
    ({ day }) => day,
  );
  const days = [...byDay].map(([day, own]) => {
    const times = own.map(({ lastMs }) => lastMs);
    const lastMs = times.includes(null) ? null : Math.max(...times.map(Number));
    return { day, count: own.reduce((sum, { count }) => sum + count, 0), lastMs };
  });
  return activeDays(days, zone);
}

const activeDays = (days: QuietAccount['days'], zone: string): ActiveDays =>
  new Map(
    days.map(({ day, count, lastMs }) => [
      day,
      { count, tailMs: lastMs === null ? null : dayWindow(day, zone).endMs - lastMs },
    ]),
  );

const settledMs = ({ deps }: MerchantWork): number => deps.now().getTime() - deps.settleDelayMs;

function daysToJudge(work: MerchantWork): readonly BusinessDay[] {
  const { deps, days: range } = work;
  const untilMs = settledMs(work);
  const earliest = addDays(dayOf(untilMs, deps.zone), -JUDGED_DAYS_MAX);
  const from = range.from < earliest ? earliest : range.from;
  const days = zoneDays(from, range.to, deps.zone);
  return days.filter((day) => dayWindow(day, deps.zone).endMs <= untilMs);
}

/**
 * Days without entries although such days are busy: of the merchant as a complete, and of an account on days on which
 * other accounts of the merchant had entries. Pure.
 */
export function emptyNotices(
  merchantNo: string,
  byCurrency: ReadonlyMap<string, EntriesADay>,
  days: readonly BusinessDay[],
): EmptyNotice[] {
  const all = new Map<BusinessDay, number>();
  for (const entries of byCurrency.values())
    for (const [day, count] of entries) all.set(day, (all.get(day) ?? 0) + count);
  const notices = (currency: string | null, entries: EntriesADay, among: readonly BusinessDay[]) =>
    emptyBusyDays(entries, among).map(({ day, ...figures }): EmptyNotice => ({
      kind: 'empty',
      merchantNo,
      currency,
      day,
      figures,
    }));
  const busy = days.filter((day) => all.has(day));
  return [
    ...notices(null, all, days),
    ...[...byCurrency].flatMap(([currency, entries]) => notices(currency, entries, busy)),
  ];
}

/** Only days under certificate for which no unreadable entry came; unreadable entries are reported already. */
async function provenOnes(
  { db, zone }: RunDeps,
  merchantNo: string,
  found: readonly EmptyNotice[],
): Promise<EmptyNotice[]> {
  const proven: EmptyNotice[] = [];
  for (const notice of found) {
    const window = dayWindow(notice.day, zone);
    if (!covers(await certifiedWindows(db, merchantNo, window), window)) continue;
    if (!(await hasUnreadable(db, merchantNo, window))) proven.push(notice);
  }
  return proven;
}

/**
 * Stores notices of accounts whose first day opens on a balance although nothing comes before it. To know that, the
 * platform is asked once for its total of all time before. Where it has older entries, it is asked once more for each
 * currency that begins after days that are read: those entries may be of other currencies.
 */
async function noticeFirstOpenings(work: MerchantWork, outcome: MerchantOutcome): Promise<void> {
  const { deps, merchantNo } = work;
  const first = await firstDaysWithBalance(deps.db, merchantNo);
  const openings = first.filter(({ opening }) => compareAmounts(opening, '0') !== 0);
  if (openings.length === 0) return;
  const { total, beginMs } = await pastOf(work, outcome, null);
  if (total === undefined || total === null || beginMs === null) return;
  const notices: FirstNotice[] = [];
  for (const { currency, day, opening } of openings) {
    const [proven] = await certifiedWindows(deps.db, merchantNo, ALL_TIME, currency);
    const isNothingBefore = proven !== undefined && covers([proven], dayWindow(day, deps.zone));
    if (isNothingBefore && (total === 0 || (await beginsLater(work, outcome, { currency, day, beginMs }))))
      notices.push({ kind: 'first', merchantNo, currency, day, figures: { opening } });
  }
  if (notices.length > 0) await keep(work, notices);
}

/** Whether the account begins after the first day read and the platform has no entry of its currency before that. */
async function beginsLater(
  work: MerchantWork,
  outcome: MerchantOutcome,
  { currency, day, beginMs }: Readonly<{ currency: string; day: BusinessDay; beginMs: number }>,
): Promise<boolean> {
  if (dayWindow(day, work.deps.zone).beginMs > beginMs)
    return (await pastOf(work, outcome, currency)).total === 0;
  // Its life before the first day read is no news, and need not be asked for.
  await keepPast(work, { beforeMs: beginMs, total: null, currency });
  return false;
}

/**
 * The platform's total from before the first certified instant, of a currency or of all, asked for unless it is known.
 * `total` is null if it refused to say, and undefined if it is not known.
 */
async function pastOf(
  work: MerchantWork,
  outcome: MerchantOutcome,
  currency: string | null,
): Promise<{ readonly total: number | null | undefined; readonly beginMs: number | null }> {
  const { past, beginMs } = await pastAndBegin(work.deps.db, work.merchantNo, currency);
  if (beginMs === null) return { total: undefined, beginMs };
  const isKnown = past !== null && (past.total === 0 || past.beforeMs <= beginMs);
  const known = isKnown ? past : await askPast(work, outcome, { beforeMs: beginMs, currency });
  return { total: known?.total, beginMs };
}

type PastAsked = Readonly<{ beforeMs: number; currency: string | null }>;

/** Undefined if the platform does not answer, or if this run has not read the ledger and therefore makes no calls. */
async function askPast(
  work: MerchantWork,
  outcome: MerchantOutcome,
  asked: PastAsked,
): Promise<LedgerPast | undefined> {
  const total = await askTotal(work, outcome, asked);
  if (total === undefined) return undefined;
  const past = { ...asked, total };
  await keepPast(work, past);
  return past;
}

const keepPast = ({ deps, lease, merchantNo }: MerchantWork, past: LedgerPast & PastAsked): Promise<void> =>
  writeTransaction(deps.db, lease, (trx) => storePast(trx, merchantNo, past, deps.now()));

/** As `askPast`, and stores nothing. Null if the platform refused to say. */
async function askTotal(
  { deps, merchant }: MerchantWork,
  outcome: MerchantOutcome,
  asked: PastAsked,
): Promise<number | null | undefined> {
  const read = outcome.sync;
  if (read === null || read.report.failure !== null) return undefined;
  const { total, requests } = await entriesBefore({ ...deps, ...asked, merchant });
  const { report } = read;
  outcome.sync = { ...read, report: { ...report, requests: report.requests + requests } };
  return total;
}

/**
 * To be called once the days are chained. Where the account may begin on zero, the platform is asked once whether it has
 * entries of that currency before; if not, the opening is decided. Every other one becomes a notice.
 */
async function settleUndecidedOpenings(work: MerchantWork, outcome: MerchantOutcome): Promise<void> {
  const { deps, lease, merchantNo } = work;
  const notices: FirstNotice[] = [];
  for (const undecided of await undecidedOpenings(deps.db, merchantNo)) {
    const { currency, day, opening, others } = undecided;
    const total = await entriesBeforeIt(work, outcome, undecided);
    if (total === undefined) continue;
    if (total === 0)
      await writeTransaction(deps.db, lease, (trx) => decideOpening(trx, merchantNo, undecided));
    else notices.push({ kind: 'first', merchantNo, currency, day, figures: { opening, others } });
  }
  if (notices.length > 0) await keep(work, notices);
}

/** Null if that cannot be known. Undefined if it is too early, or if another run has to ask. */
async function entriesBeforeIt(
  work: MerchantWork,
  outcome: MerchantOutcome,
  { currency, day, opening, isFirst }: UndecidedOpening,
): Promise<number | null | undefined> {
  const spans = await certifiedWindows(work.deps.db, work.merchantNo, ALL_TIME, currency);
  const own = dayWindow(day, work.deps.zone);
  // A day that is not over, or not proven, may get entries that decide.
  if (!covers(spans, own)) return undefined;
  const [proven] = spans;
  const mayBegin = isFirst && compareAmounts(opening, '0') === 0;
  if (!mayBegin || proven === undefined || !covers([proven], own)) return null;
  return askTotal(work, outcome, { beforeMs: proven.beginMs, currency });
}

interface UndecidedOpening {
  readonly currency: string;
  readonly day: BusinessDay;
  readonly opening: string;
  /** What the day may open on as well. It has no break, so that it may close on these. */
  readonly others: readonly string[];
  readonly isFirst: boolean;
}

/** Those of the merchant that no notice reports yet. Uses account_day_restarted. */
async function undecidedOpenings(db: Kysely<DB>, merchantNo: string): Promise<UndecidedOpening[]> {
  const { rows } = await sql<Omit<UndecidedOpening, 'others'> & { others: string }>`
    SELECT currency, day, opening, other_closings AS others, NOT EXISTS (
      SELECT FROM account_day earlier
      WHERE earlier.merchant_no = own.merchant_no AND earlier.currency = own.currency AND earlier.day < own.day
    ) AS "isFirst"
    FROM account_day own
    WHERE merchant_no = ${merchantNo} AND restarted AND other_closings <> '' AND verdict <> 'broken'
      AND NOT EXISTS (
        SELECT FROM event
        WHERE event.kind = 'first' AND event.merchant_no = own.merchant_no AND event.subject = own.currency || ' ' || own.day
      )
    ORDER BY currency, day`.execute(db);
  return rows.map((row) => ({ ...row, others: row.others.split(',') }));
}

/** Marks the opening as decided, and the closings that follow from it alone. */
async function decideOpening(
  trx: Transaction<DB>,
  merchantNo: string,
  { currency, day }: UndecidedOpening,
): Promise<void> {
  await sql`
    UPDATE account_day AS own SET other_closings = '', version = version + 1
    WHERE merchant_no = ${merchantNo} AND currency = ${currency} AND day >= ${day} AND other_closings <> ''
      AND NOT EXISTS (
        SELECT FROM account_day certain
        WHERE certain.merchant_no = own.merchant_no AND certain.currency = own.currency
          AND certain.day BETWEEN ${day} AND own.day AND certain.other_closings = ''
      )`.execute(trx);
}
