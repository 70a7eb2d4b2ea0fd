/** A merchant's month as PDF: what each account adds up to, what is open, the close with what it froze, and every day's hash. */
import { closesWithFiles } from '../../months/files.ts';
import type { Kysely, Transaction } from 'kysely';
import type { Chosen } from '../../ledger/account-filter.ts';
import { dayWindow } from '../../ledger/business-day.ts';
import { quarantinedIn } from '../../ledger/hints/evidence.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import type { MerchantNames } from '../../ledger/names.ts';
import { namesOfMerchant } from '../../store/names.ts';
import { readQuarantined } from '../../platform/ledger-entry.ts';
import type { DB } from '../../store/engine/schema.ts';
import { unreadableWithin } from '../../store/quarantine.ts';
import type { StatementRow } from '../../store/statements/statements.ts';
import { manifestOfDay } from '../../store/statements/stored-files.ts';
import { countDays } from '../../verify/close-file.ts';
import { type Adjustment, type Action, type MonthClose } from '../../months/closes.ts';
import type { MonthAsked } from '../../statements/formats/format.ts';
import {
  accountMonths,
  type AccountMonth,
  type Month,
  monthFigures,
  monthOf,
  stretches,
} from '../../months/month.ts';
import { explainedOfEach } from '../../statements/summary.ts';
import { zoneIn } from '../../statements/recorded-manifest.ts';
import { openDaysOf, type OpenDay, openGroups, unpublishedText } from '../../months/open-days.ts';
import { entriesIn } from '../../ledger/chain/figures.ts';
import { grouped, moneyText } from '../../ledger/money.ts';
import { counted } from '../../ledger/text.ts';
import { instantText } from '../../ledger/wall-time.ts';
import { figuresOf } from '../../store/account-days.ts';
import { accountFact, merchantFacts } from './names.ts';
import { BAD, countText, GOOD, longMonth } from './pdf.ts';
import { STYLE, createSheet, type Sheet, type Column, type Row } from './pdf-sheet.ts';
import { fileOf } from '../../verify/names.ts';
import { missingNetOf } from '../../ledger/month-figures.ts';

export interface MonthOverview {
  readonly merchantNo: string;
  readonly names?: MerchantNames | undefined;
  readonly month: Month;
  readonly zone: string | null;
  readonly at: Date;
  readonly currencies: Chosen;
  readonly accounts: readonly AccountMonth[];
  /** How many breaks of a day a person has resolved, by `accountDayName`; left out where none is. */
  readonly explained: ReadonlyMap<string, number>;
  /** Days, by `accountDayName`, of which entries came that cannot be read, whether or not a person has acknowledged them. */
  readonly unreadable: ReadonlySet<string>;
  readonly openDays: readonly Pick<OpenDay, 'currency' | 'day' | 'cause' | 'why' | 'amount'>[];
  /** In order; the last one counts. */
  readonly closes: readonly MonthClose[];
  /** What changed since the last close. */
  readonly adjustments: readonly Adjustment[];
}

const accountDayName = ({ currency, day }: Pick<StatementRow, 'currency' | 'day'>): string =>
  `${currency} ${day}`;

export async function monthAsPdf(
  db: Kysely<DB>,
  asked: MonthAsked,
): Promise<AsyncIterable<Uint8Array> | null> {
  const overview = await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute((trx) => overviewIn(trx, asked));
  return overview && monthPdf(overview);
}

async function overviewIn(trx: Transaction<DB>, asked: MonthAsked): Promise<MonthOverview | null> {
  const { merchantNo, currencies, now } = asked;
  const month = monthOf(asked.month)!;
  const at = now();
  const { accounts } = await accountMonths(trx, merchantNo, month, currencies);
  const statements = accounts.flatMap((account) => account.statements);
  const last = statements.at(-1);
  if (last === undefined) return null;
  const recorded = await manifestOfDay(trx, merchantNo, last.day);
  const zone = recorded === undefined ? null : zoneIn(recorded);
  const closed = await closesWithFiles(trx, merchantNo, month.name);
  const isAsked = ({ currency }: Adjustment): boolean => accounts.some((one) => one.currency === currency);
  const explained = zone === null ? [] : await explainedOfEach(trx, merchantNo, zone, statements);
  return {
    ...{ merchantNo, month, zone, at, currencies, accounts, closes: closed.closes },
    names: await namesOfMerchant(trx, merchantNo),
    explained: new Map([...explained].map(([row, breaks]) => [accountDayName(row), breaks.length])),
    unreadable:
      zone === null ? new Set() : await unreadableDays(trx, { merchantNo, month }, statements, zone),
    openDays:
      zone === null
        ? accounts.flatMap(unpublishedOf)
        : await openDaysOf(trx, month, accounts, { zone, now: at }),
    adjustments: closed.adjustments.filter(isAsked),
  };
}

/** Most unreadable entries of a merchant that are checked. */
const UNREADABLE_MAX = 10_000;

async function unreadableDays(
  trx: Transaction<DB>,
  { merchantNo, month: { from, to } }: Pick<MonthOverview, 'merchantNo' | 'month'>,
  statements: readonly StatementRow[],
  zone: string,
): Promise<ReadonlySet<string>> {
  const window = { beginMs: dayWindow(from, zone).beginMs, endMs: dayWindow(to, zone).endMs };
  const within = { read: readQuarantined, limit: UNREADABLE_MAX };
  const found = await unreadableWithin(trx, merchantNo, window, within);
  const isUnreadable = ({ currency, day }: StatementRow): boolean =>
    quarantinedIn({ currency, span: dayWindow(day, zone) }, found).length > 0;
  return new Set(statements.filter(isUnreadable).map(accountDayName));
}

const unpublishedOf = ({ currency, unpublished, statements }: AccountMonth): MonthOverview['openDays'] =>
  unpublished.map((day) => ({
    ...{ currency, day, cause: 'not-published' },
    why: unpublishedText(statements.some((row) => row.day === day)),
  }));

/** The same overview gives the same bytes. */
export async function* monthPdf(overview: MonthOverview): AsyncGenerator<Uint8Array> {
  const { merchantNo, month, at, accounts, zone, names } = overview;
  const title = `Month statement ${merchantNo} · ${month.name}`;
  const sheet = await createSheet({ title, foot: `${title} · as of ${instantText(at, zone)}`, at });
  sheet.title('Month statement', longMonth(month.name));
  sheet.facts([
    ['Merchant', merchantNo],
    ...merchantFacts(names),
    ['Business days', `${month.from} to ${month.to}${overview.zone === null ? '' : ` of ${overview.zone}`}`],
    [
      'Accounts',
      accounts.map(({ currency }) => currency).join(', ') +
        (overview.currencies === null ? '' : ', as asked for; there may be others'),
    ],
    ...accounts.flatMap(({ currency }) => accountFact(names, currency, `Account ${currency}`)),
    ['As of', instantText(at, zone)],
  ]);
  await accountsSection(sheet, overview);
  verdictSection(sheet, overview);
  await closeSection(sheet, overview);
  sheet.signOff();
  await openSection(sheet, overview);
  await adjustmentsSection(sheet, overview);
  for (const account of accounts) await daysSection(sheet, account, overview);
  yield* sheet.end();
}

const ACCOUNT_COLUMNS: readonly Column[] = [
  { head: 'Account', width: 44 },
  ...['Opening', 'Credits', 'Debits', 'Closing'].map((head) => ({ head, width: 92, isAmount: true })),
  { head: 'Days', width: 87.28, isAmount: true },
];

async function accountsSection(sheet: Sheet, overview: MonthOverview): Promise<void> {
  sheet.heading('Accounts');
  await sheet.table(
    ACCOUNT_COLUMNS,
    overview.accounts.map((account): Row => {
      const { opening, creditTotal, creditCount, debitTotal, debitCount, closing } = monthFigures(account);
      const sum = (total: string, count: number) => [
        { text: grouped(total), style: STYLE.cell },
        { text: `${countText(count)} ${count === 1 ? 'entry' : 'entries'}`, style: STYLE.soft },
      ];
      const days = [
        `${account.statements.length} published`,
        ...some(account.statements.filter(({ verdict }) => verdict === 'broken').length, 'broken'),
        ...some(countDays(overview.openDays.filter(({ currency }) => currency === account.currency)), 'open'),
      ];
      return {
        cells: [
          account.currency,
          grouped(opening ?? ''),
          sum(creditTotal, creditCount),
          sum(debitTotal, debitCount),
          [{ text: grouped(closing ?? ''), style: STYLE.strong }],
          days.map((text) => ({ text, style: STYLE.cell })),
        ],
      };
    }),
  );
}

const some = (count: number, what: string): string[] => (count === 0 ? [] : [`${count} ${what}`]);

function verdictSection(sheet: Sheet, { accounts, openDays, explained, unreadable }: MonthOverview): void {
  sheet.heading('Verdict');
  const statements = accounts.flatMap((account) => account.statements);
  const lacking = statements.filter((row) => unreadable.has(accountDayName(row)));
  const broken = statements.filter(({ verdict }) => verdict === 'broken');
  if (openDays.length > 0)
    sheet.paragraph(`Not complete: ${openDaysText(openDays)} still open, listed below.`, BAD);
  else if (broken.length > 0) {
    const left = broken.filter((row) => (explained.get(accountDayName(row)) ?? 0) < row.break_count);
    const said =
      left.length === 0
        ? 'a person has explained each of their breaks. An explained break does not keep the month open.'
        : `a person has not explained every break: ${daysOf(left)}.`;
    sheet.paragraph(`Complete, with ${counted(broken.length, 'broken day')}: ${said}`, BAD);
  } else if (lacking.length > 0)
    sheet.paragraph(
      'Complete: every day is published, and a person has acknowledged each entry that could not be read.',
      BAD,
    );
  else sheet.paragraph('Proven: every day is published, and every balance carries forward.', GOOD);
  if (lacking.length > 0)
    sheet.paragraph(
      `Entries that may be of ${counted(lacking.length, 'account day')} could not be read, and the figures do not include them: ${daysOf(lacking)}.`,
      BAD,
    );
  const derived = statements.filter(({ restarted }) => restarted);
  if (derived.length > 0)
    sheet.paragraph(
      `For ${counted(derived.length, 'statement')} the opening is derived from the first entry, because no earlier entry of the account is known, or the time since the last one was not read completely: ${daysOf(derived)}.`,
    );
  for (const account of accounts) {
    const off = missingNetOf(monthFigures(account)) ?? '';
    if (/[1-9]/.test(off)) sheet.paragraph(differenceText(account.currency, off));
  }
}

/** `off` is above zero where the closing is higher than it should be. */
function differenceText(currency: string, off: string): string {
  const size = moneyText(off.replace(/^-/, ''), currency);
  return (
    `${currency}: balance difference of ${moneyText(off, currency)}: the closing is ${size} ` +
    `${off.startsWith('-') ? 'lower' : 'higher'} than opening plus credits minus debits.`
  );
}

/** `5 account days (2 accounts)` */
function openDaysText(openDays: MonthOverview['openDays']): string {
  const accounts = new Set(openDays.map(({ currency }) => currency)).size;
  return `${counted(countDays(openDays), 'account day')} (${counted(accounts, 'account')})`;
}

/** `USD 2026-03-05, 2026-03-08 to 2026-03-31; EUR 2026-03-07` */
const daysOf = (rows: readonly StatementRow[]): string =>
  [...Map.groupBy(rows, ({ currency }) => currency)]
    .map(([currency, own]) => `${currency} ${stretchTexts(own).join(', ')}`)
    .join('; ');

const stretchTexts = (days: readonly { readonly day: BusinessDay }[]): string[] =>
  stretches(days.map(({ day }) => day)).map((one) => one.replace('/', ' to '));

const CLOSES_COLUMNS: readonly Column[] = [
  { head: 'Close', width: 36 },
  { head: 'Closed', width: 118 },
  { head: 'By', width: 48 },
  { head: 'SHA-256 of its file', width: 297.28 },
];

async function closeSection(sheet: Sheet, { closes, adjustments, zone }: MonthOverview): Promise<void> {
  sheet.heading('Close');
  const last = closes.at(-1);
  if (last === undefined) {
    sheet.paragraph(
      'This month is not closed: its statements can still change without showing as an adjustment.',
    );
    return;
  }
  const said = (label: string, text: string | null): (readonly [string, string])[] =>
    text === null ? [] : [[label, text]];
  const despite =
    last.despite === null ? null : `${counted(last.openDays, 'account day')} then open: ${last.despite}`;
  sheet.facts([
    ['Close', `number ${last.number}, which froze ${counted(last.statements, 'statement')}`],
    ...said('Prepared', last.prepared && actionText(last.prepared, zone)),
    [last.prepared === null ? 'Closed' : 'Approved', `${instantText(last.closedAt, zone)} by ${last.by}`],
    ...said('Reopened', last.reopened && actionText(last.reopened, zone)),
    ...said('Note', last.note),
    ...said('Despite open days', despite),
    ['Adjustments since', adjustments.length === 0 ? 'none' : `${adjustments.length}, listed below`],
    ['File of the close', fileOf(last.objectKey), STYLE.mono],
    ['Its SHA-256', last.sha256, STYLE.mono],
  ]);
  if (closes.length === 1) return;
  sheet.paragraph('Closes before it:', STYLE.soft);
  const rows = closes.slice(0, -1).map(({ number, closedAt, by, sha256 }): Row => ({
    cells: [String(number), instantText(closedAt, zone), by, [{ text: sha256, style: STYLE.mono }]],
  }));
  await sheet.table(CLOSES_COLUMNS, rows);
}

const actionText = ({ at, by, note }: Action, zone: string | null): string =>
  `${instantText(at, zone)} by ${by}${note === null ? '' : `: ${note}`}`;

const OPEN_COLUMNS: readonly Column[] = [
  { head: 'Account', width: 44 },
  { head: 'Days', width: 130 },
  { head: 'Why they are open', width: 325.28 },
];

async function openSection(sheet: Sheet, { openDays }: MonthOverview): Promise<void> {
  if (openDays.length === 0) return;
  sheet.heading('Days still open');
  await sheet.table(
    OPEN_COLUMNS,
    openGroups(openDays).map((group) => {
      const { currency, why } = group[0]!;
      const days = stretchTexts(group).map((text) => ({ text, style: STYLE.cell }));
      const more = group.some((one) => one.why !== why) ? ' (the first of these days)' : '';
      return { cells: [currency, days, `${withoutTicks(why)}${more}`] };
    }),
  );
}

const withoutTicks = (text: string): string => text.replaceAll('`', '');

const ADJUSTMENT_COLUMNS: readonly Column[] = [
  { head: 'Account', width: 44 },
  { head: 'Day', width: 60 },
  { head: 'Revisions', width: 76 },
  { head: 'Published', width: 118 },
  { head: 'Why', width: 201.28 },
];

async function adjustmentsSection(sheet: Sheet, { closes, adjustments, zone }: MonthOverview): Promise<void> {
  if (adjustments.length === 0) return;
  sheet.heading(`Adjustments since close ${closes.at(-1)!.number}`);
  await sheet.table(
    ADJUSTMENT_COLUMNS,
    adjustments.map(({ currency, day, frozenRevision, revision, publishedAt, reason, sha256 }): Row => ({
      cells: [
        ...[currency, day, `${frozenRevision ?? 'none'}, now ${revision}`],
        ...[instantText(publishedAt, zone), reason ?? 'first statement'],
      ],
      after: hash(sha256),
    })),
  );
}

const hash = (sha256: string) => ({ text: `SHA-256 ${sha256}`, style: STYLE.mono });

const DAY_COLUMNS: readonly Column[] = [
  { head: 'Day', width: 56 },
  { head: 'Revision', width: 44 },
  { head: 'Verdict', width: 104.28 },
  { head: 'Entries', width: 52, isAmount: true },
  ...['Credits', 'Debits', 'Closing'].map((head) => ({ head, width: 81, isAmount: true })),
];

async function daysSection(sheet: Sheet, account: AccountMonth, overview: MonthOverview): Promise<void> {
  if (account.statements.length === 0) return;
  sheet.heading(`Days of ${account.currency}`);
  await sheet.table(
    DAY_COLUMNS,
    account.statements.map((row): Row => ({
      cells: [
        ...[row.day, String(row.revision), verdictText(row, overview)],
        countText(entriesIn(figuresOf(row))),
        ...[row.credit_total, row.debit_total, row.closing].map(grouped),
      ],
      after: hash(row.sha256),
    })),
  );
}

function verdictText(row: StatementRow, { explained, unreadable }: MonthOverview): string {
  const { verdict, breakCount, restarted } = figuresOf(row);
  const name = accountDayName(row);
  const lacks = unreadable.has(name);
  const reported = explained.get(name) ?? 0;
  return [
    ...(verdict === 'broken' ? [`broken: ${counted(breakCount, 'break')}`] : []),
    ...(reported === 0 ? [] : [reported === breakCount ? 'explained' : `${reported} explained`]),
    ...(lacks ? ['not all readable'] : []),
    ...(verdict === 'continuous' && !lacks ? ['proven'] : []),
    ...(verdict === 'reordered' ? [verdict] : []),
    ...(restarted ? ['opening derived'] : []),
  ].join(', ');
}
