/** What is reported of how it stands next to the figures, in the same words by `status` and by its page. Pure. */
import { countedInText as counted, showableText } from '../ledger/text.ts';
import { wallSecond } from '../ledger/wall-time.ts';
import type { QueueGlance } from '../queue/job-table.ts';
import type { Undelivered } from '../alerts/outbox.ts';
import type { BackfillStatus } from './backfill/progress.ts';
import { checkedText } from './checked.ts';
import { clockNews } from './clock-text.ts';
import type { Overview } from './health.ts';
import type { LastRuns } from './last-runs.ts';
import { TIME_ZONE_ON_TRUST } from './report.ts';
import { First } from './status-lists.ts';
import type { MerchantStatus } from './status.ts';
import { howToReadOrDisable, notReadText } from './verdict/finding-reasons.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MERCHANTS_NAMED_MAX = 20;

/** The queue, the backfills, the platform's clock and the alerts: a line for each thing that there is to say. */
export const remarksOf = (
  { queue, backfills, runs }: Pick<Overview, 'queue' | 'backfills' | 'runs'>,
  unreported: Undelivered | null,
  zone: string,
): string[] =>
  [
    ...(queue === undefined ? [] : queueLines(queue)),
    ...backfills.flatMap((one) => [backfillText(one), ...failureTexts(one, zone)]),
    clockText(runs),
    unreported && undeliveredText(unreported),
  ].filter((text) => text !== null);

/** A line for each of the first merchants whose token is nowhere, with what to do. */
export const notReadLines = (notRead: readonly string[]): string[] => [
  ...notRead.slice(0, MERCHANTS_NAMED_MAX).map((one) => `${notReadText(one)}: ${howToReadOrDisable(one)}`),
  ...(notRead.length > MERCHANTS_NAMED_MAX
    ? [`and ${counted(notRead.length - MERCHANTS_NAMED_MAX, 'more merchant')} that are not read`]
    : []),
];

/** Said where the zone of the business days is not proven; null where it is. */
export const zoneRemark = (proof: string): string | null => (proof === 'trusted' ? TIME_ZONE_ON_TRUST : null);

/** The queue for workers. */
function queueLines(glance: QueueGlance | null): string[] {
  if (glance === null) return ['queue: its tables are missing; run `daybook migrate`'];
  const lanes = glance.lanes.map(
    ({ lane, waiting, active }) => `${lane} ${waiting.toLocaleString('en')} waiting, ${active} at work`,
  );
  const more = glance.givenUpCount - glance.givenUp.length;
  const givenUp =
    `${counted(glance.givenUpCount, 'job was', 'jobs were')} given up: ` +
    glance.givenUp.map(({ merchantNo, runId }) => `${merchantNo} of run ${runId}`).join(', ') +
    `${more > 0 ? ` and ${more} more` : ''}; \`daybook jobs list\` says why, \`daybook jobs redrive\` sends them back`;
  return [`queue: ${lanes.join('; ')}`, ...(glance.givenUpCount > 0 ? [givenUp] : [])];
}

/** `about 40 min`, `about 7 h`, `about 3 days`; `not known yet` for null. */
export function leftName(leftMs: number | null): string {
  if (leftMs === null) return 'not known yet';
  if (leftMs < 60_000) return 'under a minute';
  if (leftMs < 1.5 * HOUR_MS) return `about ${Math.round(leftMs / 60_000)} min`;
  return leftMs < 2 * DAY_MS
    ? `about ${Math.round(leftMs / HOUR_MS)} h`
    : `about ${Math.round(leftMs / DAY_MS)} days`;
}

/** `backfill 3, 2025-01-01 to 2025-12-31 of 12 merchants: 1,200 days done, 3,180 days left, time left: about 7 h`. */
export const backfillText = ({
  id,
  from,
  to,
  merchants,
  daysDone,
  daysLeft,
  leftMs,
}: BackfillStatus): string =>
  `backfill ${id}, ${from} to ${to} of ${counted(merchants, 'merchant')}: ${counted(daysDone, 'day')} done, ` +
  `${counted(daysLeft, 'day')} left, time left: ${leftName(leftMs)}`;

/** What the next slices said that have failed, a line for each merchant. */
export const failureTexts = ({ id, failing, failures }: BackfillStatus, zone: string): string[] => [
  ...failures.map(
    ({ merchantNo, nextDay, tries, problem, tryAt }) =>
      `backfill ${id}, ${merchantNo} from ${nextDay}: failed ${counted(tries, 'time')}, tried again at ${wallSecond(tryAt.getTime(), zone)}: ${showableText(problem)}`,
  ),
  ...(failing > failures.length
    ? [`backfill ${id}: and ${counted(failing - failures.length, 'more merchant')}`]
    : []),
];

/** What the last run found about the platform's clock, if it is off. */
function clockText({ last }: LastRuns): string | null {
  const [platformBehindMs, platformAheadMs] = ['platformBehindMs', 'platformAheadMs'].map((figure) =>
    Number(last?.figures[figure] ?? 0),
  );
  const news = clockNews({ platformBehindMs: platformBehindMs!, platformAheadMs: platformAheadMs! });
  return news === null ? null : `seen by run ${last!.id}: ${news}`;
}

function undeliveredText({ failing, givenUp }: Undelivered): string | null {
  if (failing + givenUp === 0) return null;
  const reported = [
    ...(failing > 0 ? [`${failing} not delivered yet`] : []),
    ...(givenUp > 0 ? [`${givenUp} given up in the last week`] : []),
  ];
  return `alerts: ${reported.join(', ')}: see \`daybook alerts list\`, and try \`daybook alerts test\``;
}

/** Collects what the last good run of each merchant checked beyond the days it read. */
export class CheckedBeyond {
  readonly #byChecks = new Map<string, First<string>>();

  add({ merchantNo, lastGoodRunAt, checked }: MerchantStatus): void {
    if (lastGoodRunAt === null) return;
    const text = checkedText(checked);
    const own = this.#byChecks.get(text) ?? new First<string>(MERCHANTS_NAMED_MAX);
    this.#byChecks.set(text, own);
    own.add(merchantNo);
  }

  /** One line if it is the same for all merchants, as it mostly is. */
  lines(): string[] {
    return [...this.#byChecks].map(([text, own]) => {
      const more = own.count - own.items.length;
      const named = `${own.items.join(', ')}${more === 0 ? '' : ` and ${more.toLocaleString('en')} more`}`;
      const of = this.#byChecks.size === 1 ? '' : ` of ${named}`;
      return `checked${of} beyond the days read, by the last good run: ${text}`;
    });
  }
}
