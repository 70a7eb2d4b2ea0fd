/** What a pass over an account works from: the account's days so far, and which spans of its time are proven. */
import type { Kysely } from 'kysely';
import { dayWindow, addDays } from '../ledger/business-day.ts';
import type { Account, BusinessDay, Window } from '../ledger/entry.ts';
import {
  type DayFigures,
  accountDaysAround,
  dayBefore,
  FIRST_DAY,
  LAST_DAY,
  type DaysAround,
} from '../store/account-days.ts';
import type { ChainEntry } from '../ledger/chain/chain-link.ts';
import type { AccountToChain } from '../store/chaining.ts';
import { readAccountToChain } from '../store/entries.ts';
import type { DB } from '../store/engine/schema.ts';
import { covers } from '../ledger/window.ts';
import { certifiedWindows } from '../store/certificates.ts';

export interface ReadAlready extends Pick<AccountToChain, 'entries' | 'statements'> {
  /** Null once an earlier pass has written days. */
  readonly around: AccountToChain['around'] | null;
}

export interface AccountInZone {
  readonly db: Kysely<DB>;
  readonly account: Account;
  readonly zone: string;
  readonly isCertified: CertifiedCheck;
  readonly read?: ReadAlready;
}

export const readDay = (
  day: BusinessDay,
  { db, account, zone, read }: AccountInZone,
  batch: { readonly batchSize?: number } = {},
): AsyncIterable<readonly ChainEntry[]> =>
  readAccountToChain(db, account, dayWindow(day, zone), { ...batch, first: read?.entries.get(day) });

/** Whether the time from a day's last entry to an instant is under certificate: no entry can be missing in it then. */
export const isProvenUpTo = async (
  before: DayFigures,
  firstMs: number,
  { isCertified }: AccountInZone,
): Promise<boolean> =>
  before.lastBookedMs !== null &&
  (firstMs <= before.lastBookedMs || (await isCertified({ beginMs: before.lastBookedMs, endMs: firstMs })));

export async function isProvenUpToDay(
  before: DayFigures,
  day: BusinessDay,
  options: AccountInZone,
): Promise<boolean> {
  if (before.lastBookedMs === null) return false;
  const firstMs = await firstBookedMs(day, options);
  return firstMs === undefined || isProvenUpTo(before, firstMs, options);
}

export async function firstBookedMs(day: BusinessDay, options: AccountInZone): Promise<number | undefined> {
  for await (const [first] of readDay(day, options, { batchSize: 1 })) return first?.bookedMs;
  return undefined;
}

/** An account's days during a pass: as the pass has made them, or else (`stored`) as they are in the database. */
export type KnownDays = ReturnType<typeof knownDaysOf>;

export function knownDaysOf({ db, account, read }: AccountInZone) {
  const made: DayFigures[] = [];
  let ahead: DaysAround | null = read?.around ?? null;

  const readFrom = async (from: BusinessDay) => (ahead = await accountDaysAround(db, account, from));
  const around = async (day: BusinessDay) =>
    ahead !== null && ahead.from <= day && day <= ahead.to ? ahead : readFrom(day);

  const stored = async (day: BusinessDay) => (await around(day)).days.find((one) => one.day === day);

  const storedAfter = async (day: BusinessDay) => {
    const found = (await around(day)).days.find((one) => one.day > day);
    if (found !== undefined || ahead!.to === LAST_DAY) return found;
    const next = addDays(ahead!.to, 1);
    return (await readFrom(next)).days.find((one) => one.day >= next);
  };

  const storedBefore = async (day: BusinessDay) => {
    const found = (await around(day)).days.findLast((one) => one.day < day);
    return found !== undefined || ahead!.from === FIRST_DAY ? found : dayBefore(db, account, ahead!.from);
  };

  const before = async (day: BusinessDay) => {
    const fromStore = await storedBefore(day);
    const fromPass = made.findLast((one) => one.day < day);
    if (fromStore === undefined || fromPass === undefined) return fromPass ?? fromStore;
    return fromPass.day >= fromStore.day ? fromPass : fromStore;
  };

  const after = async (day: BusinessDay) => {
    const fromStore = await storedAfter(day);
    const fromPass = made.find((one) => one.day > day);
    if (fromStore === undefined || fromPass === undefined) return fromPass ?? fromStore;
    return fromPass.day <= fromStore.day ? fromPass : fromStore;
  };

  const put = (figures: DayFigures): void => {
    const at = made.findLastIndex((one) => one.day <= figures.day);
    const isMade = made[at]?.day === figures.day;
    made.splice(isMade ? at : at + 1, isMade ? 1 : 0, figures);
  };

  return { stored, storedBefore, storedAfter, before, after, put };
}

/** Certificates are read this far beyond both ends of the span: the next question is mostly about the adjacent days. */
const READ_AROUND_MS = 31 * 24 * 3_600_000;

export const readAround = ({ beginMs, endMs }: Window): Window => ({
  beginMs: beginMs - READ_AROUND_MS,
  endMs: endMs + READ_AROUND_MS,
});

type CertifiedCheck = (span: Window) => Promise<boolean>;

export function createCertifiedCheck(
  db: Kysely<DB>,
  { merchantNo, currency }: Account,
  read: Readonly<{ within: Window; certified: readonly Window[] }>,
): CertifiedCheck {
  let known = read;
  return async (span) => {
    if (span.beginMs < known.within.beginMs || span.endMs > known.within.endMs) {
      const within = readAround(span);
      known = { within, certified: await certifiedWindows(db, merchantNo, within, currency) };
    }
    return covers(known.certified, span);
  };
}
