/**
 * Plays histories in which entries disappear from the platform's books, a few or all of a day, and come back or do not. Of
 * what is gone all at the same time nothing is believed by repetition alone: a person decides.
 */
import fc from 'fast-check';
import { addDays, dayWindow } from '../../src/ledger/business-day.ts';
import { notChainedByLaw } from '../support/chain-law.ts';
import { acceptAllHeld } from '../support/held.ts';
import {
  PLAIN_ZONE,
  startPlainPlatform,
  type PlainPlatform,
  type WireEntry,
} from '../support/plain-platform.ts';
import { booksOf, DAYS_BEFORE, FIRST_DAY, type Books } from './books.ts';
import { differences } from './history-end.ts';
import type { Oracle } from './oracle.ts';
import { endOf, lawOf, openPlayer, type Played, type Player } from './player.ts';
import { readPublished } from './published.ts';
import { MERCHANT, openRig, type Rig } from './rig.ts';

const NIGHT_MS = 90 * 60_000;
const BETWEEN_RUNS_MS = 130 * 60_000;
/** Every night reads all days, so what is gone is found in the same night. */
const LOOKBACK_DAYS = 20;
/** Runs until all that is accepted or back is marked and published. */
const CLOSING_RUNS = 3;
/** So many gone entries are few enough to be believed, of however many. */
const FEW = 2;

/** What disappears, or comes back, before a night. */
interface Turn {
  readonly night: number;
  /** The days from this one on, counted from the first. */
  readonly day: number;
  readonly days: number;
  /** In hundredths of each day's entries; those of one currency alone where one is named. */
  readonly share: number;
  readonly currency: string | null;
  readonly isBack: boolean;
}

interface AbsenceCase extends Books {
  readonly turns: readonly Turn[];
  readonly nights: number;
  readonly runsANight: number;
  readonly end: 'back' | 'accepted';
}

const cases: fc.Arbitrary<AbsenceCase> = fc.record({
  counts: fc.array(fc.constantFrom(0, 1, 2, 3, 4, 6, 10, 25), { minLength: 1, maxLength: 6 }),
  salt: fc.nat(1_000_000),
  turns: fc.array(
    fc.record({
      night: fc.integer({ min: 1, max: 4 }),
      day: fc.nat(5),
      days: fc.constantFrom(1, 1, 2, 3, 9),
      share: fc.constantFrom(100, 100, 100, 20, 50, 70, 90),
      currency: fc.constantFrom(null, null, 'USD', 'EUR'),
      isBack: fc.constantFrom(false, false, false, true),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  nights: fc.integer({ min: 2, max: 6 }),
  runsANight: fc.constantFrom(1, 2),
  end: fc.constantFrom('back', 'accepted'),
});

interface Stored {
  readonly batchNo: string;
  readonly account: string;
  readonly day: string;
  readonly isVanished: boolean;
}

async function storedIn({ rig: { db } }: Player): Promise<Stored[]> {
  const rows = await db
    .selectFrom('ledger_entry')
    .select(['batch_no', 'currency', 'booked_at', 'vanished_at'])
    .execute();
  return rows.map((row) => ({
    batchNo: row.batch_no,
    account: row.currency,
    day: row.booked_at.slice(0, 10),
    isVanished: row.vanished_at !== null,
  }));
}

/** What must not be believed of a run without a person, from what was stored before and after it and what was shown. */
function believedTooMuch(
  before: readonly Stored[],
  after: readonly Stored[],
  shown: ReadonlySet<string>,
): string[] {
  const known = before.filter(({ isVanished }) => !isVanished);
  const vanished = new Set(after.filter(({ isVanished }) => isVanished).map(({ batchNo }) => batchNo));
  const findings: string[] = [];
  for (const [account, own] of Map.groupBy(known, (one) => one.account)) {
    const days = [...Map.groupBy(own, ({ day }) => day)].map(([day, entries]) => ({
      day,
      stored: entries.length,
      marked: entries.filter(({ batchNo }) => vanished.has(batchNo)).length,
      isShown: entries.some(({ batchNo }) => shown.has(batchNo)),
    }));
    for (const { day, marked, isShown } of days)
      if (marked > 0 && !isShown) findings.push(`all of a day vanished by itself: ${account} ${day}`);
    const hit = days.filter(({ marked }) => marked > 0);
    const sum = (figure: 'stored' | 'marked') => hit.reduce((total, one) => total + one[figure], 0);
    if (hit.length > 1 && sum('marked') > FEW && sum('marked') * 2 > sum('stored'))
      findings.push(`most of several days vanished at once: ${account} ${hit.map(({ day }) => day).join()}`);
  }
  return findings;
}

/** A day of which the platform shows nothing keeps its entries, and then the run says so with 4. */
function silentlyHeld({ exitCode }: Played, after: readonly Stored[], shown: ReadonlySet<string>): string[] {
  const kept = after.filter(({ isVanished }) => !isVanished);
  const days = Map.groupBy(kept, ({ account, day }) => `${account} ${day}`);
  const empty = [...days].filter(([, entries]) => !entries.some(({ batchNo }) => shown.has(batchNo)));
  return empty.length === 0 || exitCode === 4
    ? []
    : [`exit ${exitCode}, though days are gone: ${empty.map(([day]) => day).join()}`];
}

interface Table {
  readonly drawn: AbsenceCase;
  readonly platform: PlainPlatform;
  readonly player: Player;
  readonly twin: Player;
  readonly books: readonly WireEntry[];
  readonly hidden: Set<string>;
}

/** Whether the turn is about the nth entry of its day. */
const isHit = ({ day, days, share, currency }: Turn, entry: WireEntry): boolean => {
  const first = addDays(FIRST_DAY, day);
  const own = entry.busiDate.slice(0, 10);
  const nth = Number(entry.batchNo.split('-')[1]);
  if (own < first || own > addDays(first, days - 1) || (currency ?? entry.currency) !== entry.currency)
    return false;
  return share === 100 || (nth * 37) % 100 < share;
};

function turnTo(night: number, nowMs: number, { drawn, books, hidden }: Table): void {
  for (const turn of drawn.turns.filter((one) => one.night === night))
    for (const entry of books.filter((one) => one.atMs <= nowMs && isHit(turn, one)))
      if (turn.isBack) hidden.delete(entry.batchNo);
      else hidden.add(entry.batchNo);
}

/** One run of both, and what is wrong after it. */
async function playBoth(
  table: Table,
  nowMs: number,
  isFirst: boolean,
): Promise<{ played: Played; findings: string[] }> {
  const { platform, player, twin, books, hidden } = table;
  const range = isFirst ? { from: FIRST_DAY, to: addDays(FIRST_DAY, DAYS_BEFORE - 1) } : null;
  const booked = books.filter(({ atMs }) => atMs <= nowMs);
  const shown = booked.filter(({ batchNo }) => !hidden.has(batchNo));
  platform.entriesOf = () => booked;
  await twin.play(nowMs, range);
  const before = await storedIn(player);
  platform.entriesOf = () => shown;
  const played = await player.play(nowMs, range);
  const after = await storedIn(player);
  const visible = new Set(shown.map(({ batchNo }) => batchNo));
  const { statements, damages } = await readPublished(player.folder, MERCHANT.merchantNo);
  // What was hidden before it was ever read leaves a break when the next entry comes, and that is a revision.
  const kept = new Set(after.flatMap(({ batchNo, isVanished }) => (isVanished ? [] : batchNo)));
  const isUntouched = booked.every(({ batchNo }) => kept.has(batchNo));
  const revised = [...statements].filter(([, { revision }]) => revision > 1).map(([id]) => id);
  return {
    played,
    findings: [
      ...believedTooMuch(before, after, visible),
      ...silentlyHeld(played, after, visible),
      ...(isUntouched && table.drawn.turns.every(({ isBack }) => !isBack) && revised.length > 0
        ? [`statements were revised, though nothing vanished: ${revised.join()}; ${played.said}`]
        : []),
      ...(await notChainedByLaw(lawOf(player))),
      ...damages,
    ],
  };
}

/** All that is gone is back, or a person accepted it: what must be so after some runs. */
async function close(table: Table, beginMs: number): Promise<string[]> {
  const { drawn, player, twin, books, hidden } = table;
  if (drawn.end === 'back') hidden.clear();
  let nowMs = beginMs;
  let last: Played | null = null;
  for (let run = 0; run < CLOSING_RUNS; run += 1) {
    nowMs += BETWEEN_RUNS_MS;
    if (drawn.end === 'accepted') await acceptAllHeld(player.rig.db, new Date(nowMs));
    ({ played: last } = await playBoth(table, nowMs, false));
  }
  const stored = await storedIn(player);
  const wrong = stored.filter(({ batchNo, isVanished }) => isVanished !== hidden.has(batchNo));
  const { statements } = await readPublished(player.folder, MERCHANT.merchantNo);
  const published = [...statements.values()].reduce((sum, { rows }) => sum + rows, 0);
  const shown = books.filter(({ atMs, batchNo }) => atMs <= nowMs && !hidden.has(batchNo)).length;
  const ends = drawn.end === 'back' || hidden.size === 0 ? [0] : [0, 3];
  return [
    ...wrong.slice(0, 3).map(({ batchNo }) => `an entry is not marked as the books are: ${batchNo}`),
    ...(published <= shown ? [] : [`statements hold what is gone: ${published} rows, ${shown} in the books`]),
    ...(ends.includes(last!.exitCode)
      ? []
      : [`the last night is not at rest: ${last!.exitCode}, ${last!.said}`]),
    ...(drawn.end === 'back' ? differences(await endOf(player), await endOf(twin), 'the twin') : []),
  ];
}

async function playNights(table: Table): Promise<string[]> {
  const { nights, runsANight } = table.drawn;
  let nowMs = 0;
  for (let night = 0; night <= nights; night += 1) {
    nowMs = dayWindow(addDays(FIRST_DAY, DAYS_BEFORE + night), PLAIN_ZONE).beginMs + NIGHT_MS;
    turnTo(night, nowMs, table);
    for (let run = 0; run < runsANight; run += 1) {
      nowMs += run * BETWEEN_RUNS_MS;
      const { findings } = await playBoth(table, nowMs, night === 0 && run === 0);
      if (findings.length > 0) return findings.map((one) => `step ${night} (night): ${one}`);
    }
  }
  return (await close(table, nowMs)).map((one) => `at the end: ${one}`);
}

async function check([rig, other]: readonly [Rig, Rig], platform: PlainPlatform, drawn: AbsenceCase) {
  const settings = { retriesMax: 0, lookbackDays: LOOKBACK_DAYS };
  const player = await openPlayer(rig, platform.url, settings);
  const twin = await openPlayer(other, platform.url, settings);
  try {
    return await playNights({ drawn, platform, player, twin, books: booksOf(drawn), hidden: new Set() });
  } finally {
    await player.close();
    await twin.close();
  }
}

/** Needs a PostgreSQL server with the migrated template. */
export async function absenceOracle(serverUrl: string): Promise<Oracle<AbsenceCase>> {
  const rigs = [await openRig(serverUrl), await openRig(serverUrl)] as const;
  const platform = await startPlainPlatform();
  return {
    kind: 'absences',
    cases,
    check: (drawn) => check(rigs, platform, drawn),
    close: async () => {
      await platform.close();
      for (const rig of rigs) await rig.close();
    },
  };
}
