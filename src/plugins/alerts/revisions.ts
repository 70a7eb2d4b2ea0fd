/** Published days that were revised, reported once each; apart from them those that somebody had downloaded. */
import { sql, type Kysely, type Transaction } from 'kysely';
import { counted } from '../../ledger/text.ts';
import { wallTime } from '../../ledger/wall-time.ts';
import { firstSentences, type AlertContent } from '../../run/alerts.ts';
import { merchantWord } from '../../store/downloaded.ts';
import { arrayLiteral } from '../../store/engine/database.ts';
import type { DB } from '../../store/engine/schema.ts';
import { recordEvents, type FoundBy } from '../../store/events.ts';
import type { RevisedDay } from '../../store/statements/record-published.ts';
import { sameContent } from '../../store/statements/statements.ts';
import { foundBy, nextUnreported, type EventAlert, type Telling } from './event-alert.ts';

type RevisedEvent = Pick<
  RevisedDay,
  'merchantNo' | 'currency' | 'day' | 'oldRevision' | 'revision' | 'reason'
>;

const KIND = 'amendment';

export const revisions: EventAlert = {
  kind: KIND,
  note: (trx, ends, found) => {
    const revised = ends
      .flatMap(({ standing }) => standing.revised)
      .filter(({ readsTheSame, wasOpenAtClose }) => !readsTheSame && wasOpenAtClose !== true);
    return noteRevised(trx, revised, found);
  },
  orderOf: ({ merchantNo, subject }) => `${merchantNo} ${subject}`,
  ask: unreportedDownloads,
  say: (events, telling) => reportOfRevised(events as readonly RevisedEvent[], telling),
};

const noteRevised = (trx: Transaction<DB>, revised: readonly RevisedEvent[], found: FoundBy): Promise<void> =>
  recordEvents(
    trx,
    revised.map(({ merchantNo, currency, day, oldRevision, revision, reason }) => ({
      kind: KIND,
      merchantNo,
      subject: `${currency} ${day} r${revision}`,
      data: { merchantNo, currency, day, oldRevision, revision, reason },
    })),
    found,
  );

/** What is reported of revised days. One that another run noted in the last moment was not queried. */
function reportOfRevised(
  revised: readonly RevisedEvent[],
  { runId, zone, answer = NOT_QUERIED }: Telling,
): AlertContent[] {
  const { asked, downloads } = answer as RevisedDownloads;
  const wereDownloaded = new Set(downloads.map(nameOf));
  const wereAsked = new Set(asked.map(revisionOf));
  const {
    downloaded = [],
    known = [],
    unknown = [],
  } = Object.groupBy(revised, (one) =>
    wereDownloaded.has(nameOf(one)) ? 'downloaded' : wereAsked.has(revisionOf(one)) ? 'known' : 'unknown',
  );
  return [
    ...(downloaded.length > 0 ? [revisedDownloads(downloaded, downloads, { runId, zone })] : []),
    ...(known.length > 0 ? [amendments(known, { runId, isDownloadKnown: true })] : []),
    ...(unknown.length > 0 ? [amendments(unknown, { runId, isDownloadKnown: false })] : []),
  ];
}

const revisionOf = (one: RevisedEvent): string => `${nameOf(one)} r${one.revision}`;

const revisedText = ({ merchantNo, currency, day, oldRevision, revision, reason }: RevisedEvent): string =>
  `${merchantNo} ${currency} ${day} ${oldRevision === null ? 'is' : `went from r${oldRevision} to`} r${revision}` +
  (reason === null ? '' : ` (${reason})`);

/** Published days that were revised, and that no one had downloaded, as far as that is known. */
const amendments = (
  revised: readonly RevisedEvent[],
  { runId, isDownloadKnown }: { readonly runId: number; readonly isDownloadKnown: boolean },
): AlertContent => ({
  kind: 'amendment',
  title: `${counted(revised.length, 'published day was', 'published days were')} revised`,
  sentences: [
    ...firstSentences(
      revised.map((one) => `${revisedText(one)}.`),
      '`daybook statements list --all`',
    ),
    ...(isDownloadKnown
      ? []
      : [
          'Whether somebody had downloaded them could not be found out now: `daybook audit` lists downloads.',
        ]),
  ],
  todo: '`daybook statements diff DAY` shows each row that changed; ask the platform about entries it changed after booking',
  ...foundBy(runId, revised),
});

/** Published days that were revised after somebody had downloaded them. */
function revisedDownloads(
  revised: readonly RevisedEvent[],
  downloads: readonly Downloaded[],
  { runId, zone }: { readonly runId: number; readonly zone: string },
): AlertContent {
  const times = new Map(downloads.map((one) => [nameOf(one), one]));
  return {
    kind: 'revised-download',
    title: `${counted(revised.length, 'day')} that somebody had downloaded ${revised.length === 1 ? 'was' : 'were'} revised`,
    sentences: firstSentences(
      revised.map((one) => {
        const { times: count, lastAt } = times.get(nameOf(one))!;
        return `${revisedText(one)}; downloaded ${counted(count, 'time')}, last ${wallTime(lastAt.getTime(), zone)} (${zone}).`;
      }),
      '`daybook statements list --all`',
    ),
    todo: '`daybook audit` says who downloaded them: these figures are out of date, download the days again',
    ...foundBy(runId, revised),
  };
}

/** An account day as one text, to tell which revised days were downloaded. */
const nameOf = ({ merchantNo, currency, day }: Omit<Downloaded, 'times' | 'lastAt'>): string =>
  `${merchantNo} ${currency} ${day}`;

interface Downloaded {
  readonly merchantNo: string;
  readonly currency: string;
  readonly day: string;
  readonly times: number;
  readonly lastAt: Date;
}

/** The part of a download's subject that audit_entry_download has. */
const BEGINNING = sql`left(download.subject, 200) COLLATE "C"`;

interface RevisedDownloads {
  readonly asked: readonly RevisedEvent[];
  readonly downloads: readonly Downloaded[];
}

const NOT_QUERIED: RevisedDownloads = { asked: [], downloads: [] };

const DOWNLOADS_MS_MAX = 5_000;

/**
 * The downloads of the revised days that are reported next. Call it outside of the transaction that reports them. Throws what
 * the database throws, also if it takes too long.
 */
export async function unreportedDownloads(db: Kysely<DB>): Promise<RevisedDownloads> {
  const asked = (await nextUnreported(db, [KIND])).map(({ shown }) => shown as RevisedEvent);
  if (asked.length === 0) return { asked, downloads: [] };
  const downloads = await db.transaction().execute(async (trx) => {
    await sql`SET LOCAL statement_timeout = ${sql.lit(DOWNLOADS_MS_MAX)}`.execute(trx);
    return downloadsOf(trx, asked);
  });
  return { asked, downloads };
}

/**
 * Which of the days somebody had downloaded, by itself or with its month, in a revision that is out of date now. The
 * record of downloads names the file, or the month with the merchants and currencies that were chosen. Both are found by
 * audit_entry_download, by the beginning of the subject: the subjects of a month are the texts from the month on that a
 * space or nothing follows.
 */
async function downloadsOf(trx: Transaction<DB>, revised: readonly RevisedEvent[]): Promise<Downloaded[]> {
  const column = (value: (one: RevisedEvent) => string | number) => arrayLiteral(revised.map(value));
  const { rows } = await sql<Downloaded>`
    WITH outdated AS MATERIALIZED (
      SELECT own.merchant_no, own.currency, own.day, to_char(own.day, 'YYYY-MM') AS month, old.object_key,
        old.published_at AS since, newest.published_at AS until
      FROM unnest(
        ${column(({ merchantNo }) => merchantNo)}::text[], ${column(({ currency }) => currency)}::text[],
        ${column(({ day }) => day)}::date[], ${column(({ revision }) => revision)}::integer[]
      ) AS own (merchant_no, currency, day, revision)
      JOIN statement AS newest USING (merchant_no, currency, day, revision)
      JOIN statement AS old ON (old.merchant_no, old.currency, old.day) = (own.merchant_no, own.currency, own.day)
        AND old.revision < own.revision AND NOT (${sameContent('old', 'newest')})
    ), by_month AS MATERIALIZED (
      SELECT asked.month, download.id, download.at, (string_to_array(download.subject, ' '))[2:] AS words
      FROM (SELECT month, min(since) AS since FROM outdated GROUP BY month) AS asked
      JOIN audit_event AS download ON download.command = 'statements get' AND download.at >= asked.since
        AND ${BEGINNING} >= asked.month AND ${BEGINNING} < asked.month || '!'
    ), found AS (
      SELECT merchant_no, currency, day, download.id, download.at
      FROM outdated JOIN audit_event AS download ON download.command = 'statements get'
        AND ${BEGINNING} = left(outdated.object_key, 200) AND download.subject = outdated.object_key
      UNION
      SELECT merchant_no, currency, day, download.id, download.at
      FROM outdated JOIN by_month AS download USING (month)
      WHERE download.at >= since AND download.at <= until
        AND (${merchantWord(sql`merchant_no`)} = ANY (words)
          OR NOT EXISTS (SELECT FROM unnest(words) AS word WHERE word !~ '^[A-Z]{3}$'))
        AND (currency = ANY (words)
          OR NOT EXISTS (SELECT FROM unnest(words) AS word WHERE word ~ '^[A-Z]{3}$'))
    )
    SELECT merchant_no AS "merchantNo", currency, day::text, count(*) AS times, max(at) AS "lastAt"
    FROM found
    GROUP BY merchant_no, currency, day
    ORDER BY merchant_no, found.day, currency`.execute(trx);
  return rows;
}
