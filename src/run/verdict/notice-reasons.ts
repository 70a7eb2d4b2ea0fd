/** Words notices as reasons: what is odd, and what to do. Pure. */
import { grouped, moneyText } from '../../ledger/money.ts';
import { counted, firstNamed } from '../../ledger/text.ts';
import type {
  EmptyNotice,
  FirstNotice,
  Notice,
  OddNotice,
  ReusedNotice,
  SharedNotice,
} from '../../store/notices.ts';
import { EXIT, needsPerson, type Reason } from './exit-codes.ts';

/**
 * If no more merchants than this have no entries on a day, each gets a sentence. If there are more, it is most likely
 * a holiday.
 */
const MERCHANTS_NAMED_MAX = 3;
const SHOWN_MAX = 3;

export const HOW_TO_PART_LEDGERS =
  "check PLATFORM_HEADERS (does each call say whose it is?) and both merchants' tokens, then read those days again " +
  "with --from and --to: what is not the merchant's own vanishes, or is held until `daybook amendments accept --note TEXT`";

/** Entries of two merchants, each pair once: of all reasons these come first. */
export const reasonsOfShared = (notices: readonly Notice[]): Reason[] => {
  const shared = notices.filter((notice) => notice.kind === 'shared');
  return [...Map.groupBy(shared, pairOf).values()].map(reasonOfShared);
};

/** The other notices need a person, once. */
export function reasonsOfNotices(notices: readonly Notice[]): Reason[] {
  const empty = notices.filter((notice) => notice.kind === 'empty');
  return [
    ...[...Map.groupBy(empty, ({ day }) => day).values()].flatMap(reasonsOfEmpty),
    ...notices.filter((notice) => notice.kind === 'first').map(reasonOfFirst),
    ...notices.filter((notice) => notice.kind === 'reused').map(reasonOfReused),
    ...notices.flatMap((notice) =>
      notice.kind === 'untyped' || notice.kind === 'finer' ? [reasonOfOdd(notice)] : [],
    ),
  ];
}

const accountDay = ({ currency, day }: Pick<Notice, 'currency' | 'day'>): string =>
  currency === null ? day : `${currency} ${day}`;

const usually = ({ figures: { fewest, most } }: EmptyNotice): string =>
  fewest === most ? `${fewest}` : `${fewest} to ${most}`;

const ASK_FOR_ENTRIES =
  'where it was no holiday, ask the platform, whose reply for it counted 0; while the day is in the lookback ' +
  '(DAYBOOK_RESWEEP_DAYS), entries that appear are taken and published; this is reported once';

function reasonsOfEmpty(sameDay: readonly EmptyNotice[]): Reason[] {
  if (sameDay.length <= MERCHANTS_NAMED_MAX) {
    return sameDay.map((notice) =>
      needsPerson(
        `${notice.merchantNo} ${accountDay(notice)} has no entries, and the same weekday had ${usually(notice)} in each ` +
          'of the last 4 weeks: it was a holiday, or its entries are missing',
        ASK_FOR_ENTRIES,
      ),
    );
  }
  const names = sameDay.map(({ merchantNo, currency }) =>
    currency === null ? merchantNo : `${merchantNo} ${currency}`,
  );
  return [
    needsPerson(
      `${sameDay[0]!.day} has no entries for ${firstNamed(names, SHOWN_MAX)}, which had some on the same weekday in each of the last 4 ` +
        'weeks: it was a holiday, or their entries are missing',
      ASK_FOR_ENTRIES,
    ),
  ];
}

function reasonOfFirst(notice: FirstNotice): Reason {
  const { opening, others } = notice.figures;
  const own = `${notice.merchantNo} ${accountDay(notice)}`;
  const balance = moneyText(opening, notice.currency);
  return others === undefined
    ? needsPerson(
        `${own} is the account's first day and opens on ${balance}, and ` +
          'the platform has no entry before it: the balance was carried over from elsewhere, or its first entry is missing',
        'ask the platform what made the balance; this is reported once',
      )
    : needsPerson(
        `${own} opens on ${balance} or on ${firstNamed(others.map(grouped), SHOWN_MAX)}: its entries ` +
          'cancel and fit each of them, and no other entry decides; it is published with the first',
        `read earlier days with \`daybook run --from DAY --to DAY\`, or wait for the next entry; what it decides is then published as a ` +
          'revision; this is reported once',
      );
}

function reasonOfOdd(notice: OddNotice): Reason {
  const { kind, merchantNo, currency, figures } = notice;
  const what = kind === 'untyped' ? 'no transaction type' : `more decimals than ${currency} has`;
  const entries = counted(figures.count, 'entry has', 'entries have');
  return needsPerson(
    `${merchantNo} ${accountDay(notice)}: ${entries} ${what}: ${firstNamed(figures.batchNos, SHOWN_MAX, figures.count)}`,
    'ask the platform whether it books so on purpose; the entries are kept as they came, and this is reported once a month',
  );
}

function reasonOfReused({ merchantNo, currency, day, figures }: ReusedNotice): Reason {
  const [kept, other] = figures.contents;
  const more = figures.count > 1 ? `; so ${counted(figures.count - 1, 'more is', 'more are')}` : '';
  return needsPerson(
    `${merchantNo} ${accountDay({ currency, day })}: batchNo ${figures.batchNos[0]!} is used for two entries: ${kept} and ` +
      `${other}${more}`,
    'ask the platform which numbers these entries have; the first stays in the statement, the other is kept in ' +
      '`daybook entries find NUMBER`; this is reported once',
  );
}

const pairOf = ({ merchantNo, otherMerchantNo }: SharedNotice): string =>
  JSON.stringify([merchantNo, otherMerchantNo]);

function reasonOfShared(ofPair: readonly SharedNotice[]): Reason {
  const { merchantNo, otherMerchantNo } = ofPair[0]!;
  const count = ofPair.reduce((sum, { figures }) => sum + figures.count, 0);
  const batchNos = ofPair.flatMap(({ figures }) => figures.batchNos);
  const published = ofPair.flatMap(({ currency, day, figures }) =>
    (figures.published ?? []).map((one) => `${one} ${currency} ${day}`),
  );
  return {
    exitCode: EXIT.incomplete,
    what:
      `${counted(count, 'entry is', 'entries are')} stored under two merchants, ${merchantNo} and ${otherMerchantNo}: ` +
      `${firstNamed(batchNos, SHOWN_MAX, count)}, of ${firstNamed(ofPair.map(accountDay), SHOWN_MAX)}; the platform answered one of them by entries ` +
      `of the other${published.length > 0 ? `; published already: ${firstNamed(published, SHOWN_MAX)}` : ''}`,
    todo: `do not pass these statements on; ${HOW_TO_PART_LEDGERS}`,
    merchantNo,
    awaitsPerson: true,
  };
}
