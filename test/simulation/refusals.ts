/**
 * Plays histories of a platform that refuses, night after night with a twin that is never refused: nothing vanishes, no
 * statement changes, no night is green that did not get what it needs, and afterwards all is as the twin has it.
 */
import { addDays, dayWindow } from '../../src/ledger/business-day.ts';
import type { Window } from '../../src/ledger/entry.ts';
import type { DayRange } from '../../src/run/range.ts';
import { notChainedByLaw } from '../support/chain-law.ts';
import { PLAIN_ZONE } from '../support/plain-platform.ts';
import { DAYS_BEFORE, FIRST_DAY } from './books.ts';
import { differences, endingOf, type Ending } from './history-end.ts';
import { covers } from './history-state.ts';
import type { Oracle } from './oracle.ts';
import { endOf, lawOf, openPlayer, type Played, type Player } from './player.ts';
import { readPublished } from './published.ts';
import { refusalCases, type RefusalCase } from './refusal-cases.ts';
import { startRefusingPlatform, type Answered, type RefusingPlatform } from './refusing-platform.ts';
import { MERCHANT, openRig, type Rig } from './rig.ts';

const NIGHT_MS = 90 * 60_000;
const BETWEEN_RUNS_MS = 130 * 60_000;
/** Nights after the last refusal: what was open is read in the first of them. */
const NIGHTS_AFTER = 2;
const PAGE_SIZE = 100;
const LOOKBACK_DAYS = 3;

const queryOf = ({ body }: Answered['call']): string => JSON.stringify({ ...body, pageNum: undefined });

/** The windows of which every page came, for all currencies. */
function deliveredIn(answered: readonly Answered[]): Window[] {
  const byQuery = Map.groupBy(
    answered.filter(({ call: { code } }) => code === 'sp2404'),
    ({ call }) => queryOf(call),
  );
  return [...byQuery.values()].flatMap((calls) => {
    const { call, total } = calls[0]!;
    const { beginDate, endDate, currency, batchNo } = call.body;
    if (currency !== undefined || batchNo !== undefined) return [];
    const came = new Set(
      calls.flatMap((one) => (one.isRefused ? [] : Number(one.call.body['pageNum'] ?? 1))),
    );
    const pages = Math.max(1, Math.ceil(total / PAGE_SIZE));
    return came.size >= pages ? [{ beginMs: Number(beginDate), endMs: Number(endDate) }] : [];
  });
}

/** Green without what it needs: a part of the night's days, or a list, that was refused to the end. */
function wronglyGreen({ exitCode, range }: Played, answered: readonly Answered[]): string[] {
  if (exitCode !== 0) return [];
  if (range === null) {
    const byList = Map.groupBy(answered, ({ call }) => queryOf(call));
    const refused = [...byList].filter(([, calls]) => calls.every(({ isRefused }) => isRefused));
    return refused.map(([query]) => `exit 0, though a list was refused to the end: ${query}`);
  }
  const needed = {
    beginMs: dayWindow(range.from, PLAIN_ZONE).beginMs,
    endMs: dayWindow(range.to, PLAIN_ZONE).endMs,
  };
  return covers(deliveredIn(answered), needed)
    ? []
    : [`exit 0, though days were refused to the end: of ${range.from} to ${range.to}`];
}

/** While a day before is unread, a statement says that its opening is derived from its own entries; it is the same balance. */
const figures = (text: string | undefined) => text?.replace(/ (?:derived|follows)\n/, '\n');

/** What a refusal must never lead to, in any night. `honest` is what the twin has published. */
async function wrongNow({ rig: { db }, folder }: Player, honest: Ending): Promise<string[]> {
  const vanished = await db
    .selectFrom('ledger_entry')
    .select('batch_no')
    .where('vanished_at', 'is not', null)
    .execute();
  const absent = await db.selectFrom('absent_entry').select('batch_no').execute();
  const gone = await db
    .selectFrom('reference_item')
    .select('code')
    .where('last_seen_at', 'is not', null)
    .execute();
  const published = await readPublished(folder, MERCHANT.merchantNo);
  const { files } = await endingOf(db, published);
  const named = (law: string, list: readonly string[]) =>
    list.length === 0 ? [] : [`${law}: ${list.join()}`];
  return [
    ...named(
      'entries vanished',
      vanished.map(({ batch_no }) => batch_no),
    ),
    ...named(
      'entries are held or wait',
      absent.map(({ batch_no }) => batch_no),
    ),
    ...named(
      'codes are no longer listed',
      gone.map(({ code }) => code),
    ),
    // The one revision there may be says that the opening is now taken up from the day before: of the same bytes.
    ...named(
      'statements were revised',
      [...published.statements]
        .filter(([, one]) => one.superseded.some(({ sha256 }) => sha256 !== one.sha256))
        .map(([id]) => id),
    ),
    ...named(
      'statements differ from those of the twin',
      [...files].flatMap(([id, text]) => (figures(text) === figures(honest.files.get(id)) ? [] : id)),
    ),
    ...published.damages,
  ];
}

interface Table {
  readonly drawn: RefusalCase;
  readonly platform: RefusingPlatform;
  readonly refused: Player;
  readonly twin: Player;
}

/** One run of both, and what is wrong after it. */
async function playBoth(
  { platform, refused, twin }: Table,
  nowMs: number,
  range: DayRange | null,
  isRefusing: boolean,
) {
  platform.set(nowMs, false);
  const calm = await twin.play(nowMs, range);
  const honest = await endOf(twin);
  platform.set(nowMs, isRefusing);
  const played = await refused.play(nowMs, range);
  const green = played.exitCode === 0 ? differences(await endOf(refused), honest, 'the twin') : [];
  return {
    played,
    findings: [
      ...(calm.exitCode === 0 ? [] : [`the twin's night is not green: ${calm.said}`]),
      ...wronglyGreen(played, platform.answered()),
      ...green.map((one) => `exit 0, though ${one}`),
      ...(await wrongNow(refused, honest)),
      ...(await notChainedByLaw(lawOf(refused))),
    ],
  };
}

async function playLists({ drawn, platform, refused }: Table, nowMs: number, isRefusing: boolean) {
  if (!drawn.hasLists) return [];
  platform.set(nowMs, isRefusing);
  const played = await refused.playLists(nowMs);
  if (isRefusing) return wronglyGreen(played, platform.answered());
  return played.exitCode === 0 ? [] : [`lists that were not refused are not green: ${played.said}`];
}

async function playNights(table: Table): Promise<string[]> {
  const { first, nights, runsANight } = table.drawn;
  const broken: string[] = [];
  const firstRange = { from: FIRST_DAY, to: addDays(FIRST_DAY, DAYS_BEFORE - 1) };
  let last: Played | null = null;
  for (let night = 0; night < first + nights + NIGHTS_AFTER; night += 1) {
    const isRefusing = night >= first && night < first + nights;
    const beginMs = dayWindow(addDays(FIRST_DAY, DAYS_BEFORE + night), PLAIN_ZONE).beginMs + NIGHT_MS;
    for (let run = 0; run < runsANight; run += 1) {
      const nowMs = beginMs + run * BETWEEN_RUNS_MS;
      const { played, findings } = await playBoth(
        table,
        nowMs,
        night === 0 && run === 0 ? firstRange : null,
        isRefusing,
      );
      const lists = await playLists(table, nowMs, isRefusing);
      broken.push(
        ...[...findings, ...lists].map((one) => `step ${night} (${isRefusing ? 'refused' : 'calm'}): ${one}`),
      );
      last = played;
      if (broken.length > 0) return broken;
    }
  }
  if (last?.exitCode !== 0) broken.push(`the last night is not green: ${last?.said}`);
  const { refused, twin } = table;
  return [...broken, ...differences(await endOf(refused), await endOf(twin), 'the twin')];
}

async function check(
  rigs: readonly [Rig, Rig],
  platform: RefusingPlatform,
  drawn: RefusalCase,
): Promise<string[]> {
  platform.begin(drawn);
  const [refused, twin] = await Promise.all(
    rigs.map((rig) => openPlayer(rig, platform.url, { ...drawn, lookbackDays: LOOKBACK_DAYS })),
  );
  try {
    return await playNights({ drawn, platform, refused: refused!, twin: twin! });
  } finally {
    await refused!.close();
    await twin!.close();
  }
}

/** Needs a PostgreSQL server with the migrated template. */
export async function refusalOracle(serverUrl: string): Promise<Oracle<RefusalCase>> {
  const rigs = [await openRig(serverUrl), await openRig(serverUrl)] as const;
  const platform = await startRefusingPlatform();
  return {
    kind: 'refusals',
    cases: refusalCases,
    check: (drawn) => check(rigs, platform, drawn),
    close: async () => {
      await platform.close();
      for (const rig of rigs) await rig.close();
    },
  };
}
