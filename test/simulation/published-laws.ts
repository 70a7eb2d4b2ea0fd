/** The laws of published files. Each function returns a sentence for everything that breaks its law. */
import type { StatementRow } from '../../src/store/statements/statements.ts';
import { hundredths, rowsOf, statementId, type Published, type PublishedStatement } from './published.ts';

const HEADER = 'batch_no,booked_at,currency,transaction_type,credit,debit,balance';

/** What the database has recorded of a statement. */
export type StatementRecord = StatementRow;

/** By how many seconds clocks are put forward or back. In text this resembles a jump in time. */
const CLOCK_LEAPS_S = [0, 1_800, 3_600];

/** The time at which an entry of an account is, or once was, booked. */
export interface Booked {
  readonly currency: string;
  readonly bookedAt: string;
}

/**
 * Whether entries of a statement may have traded places with entries of another day. Then its rows need not chain,
 * and only their sums lead from the opening to the closing.
 */
function straddles(statement: PublishedStatement, booked: readonly Booked[], toleranceS: number): boolean {
  const secondOf = (bookedAt: string) => Date.parse(`${bookedAt}Z`) / 1_000;
  const own = rowsOf(statement.text ?? '').map(([, bookedAt]) => secondOf(bookedAt!));
  return booked
    .filter(
      ({ currency, bookedAt }) => currency === statement.currency && !bookedAt.startsWith(statement.day),
    )
    .some(({ bookedAt }) =>
      own.some((second) =>
        CLOCK_LEAPS_S.some((leap) => Math.abs(Math.abs(second - secondOf(bookedAt)) - leap) <= toleranceS),
      ),
    );
}

/**
 * Each statement's rows lead from its opening to its closing, with exactly the breaks and sums that it names.
 * `booked` is everything that was ever stored of the accounts.
 */
export const wrongStatements = (
  published: Published,
  booked: readonly Booked[],
  toleranceS: number,
): string[] =>
  [...published.statements.values()].flatMap((statement) =>
    wrongRows(statement, toleranceS > 0 && straddles(statement, booked, toleranceS)),
  );

function wrongRows(statement: PublishedStatement, isPiecemeal: boolean): string[] {
  const { day, currency, text, verdict } = statement;
  const id = `${statementId(currency, day)} r${statement.revision}`;
  if (text === null) return [];
  if (!text.startsWith(`${HEADER}\r\n`) || !text.endsWith('\r\n'))
    return [`a statement is no statement file: ${id}`];
  const rows = rowsOf(text);
  let balance = hundredths(statement.opening);
  let [credits, debits] = [0n, 0n];
  let [breaks, creditCount] = [0, 0];
  let inTimeOrder = true;
  for (const [at, [, bookedAt, , , credit, debit, after]] of rows.entries()) {
    const [came, went] = [hundredths(credit === '' ? '0' : credit!), hundredths(debit === '' ? '0' : debit!)];
    if (hundredths(after!) - came + went !== balance) breaks += 1;
    if (credit !== '') creditCount += 1;
    credits += came;
    debits += went;
    balance = hundredths(after!);
    if (at > 0 && rows[at - 1]![1]! > bookedAt!) inTimeOrder = false;
  }
  if (isPiecemeal) {
    breaks = statement.breaks - (statement.breaksAfter ?? 0);
    balance = hundredths(statement.closing);
    const footed = hundredths(statement.opening) + credits - debits;
    if (breaks === 0 && footed !== balance) return [`a statement's sums do not lead to its closing: ${id}`];
  }
  const foreign = rows.filter(([, bookedAt, of]) => of !== currency || !bookedAt!.startsWith(day)).length;
  const stated = [
    statement.rows,
    statement.breaks - (statement.breaksAfter ?? 0),
    statement.creditCount,
    statement.debitCount,
  ];
  const counted = [rows.length, breaks, creditCount, rows.length - creditCount];
  return [
    stated.join() === counted.join()
      ? null
      : `a statement's counts are not its rows': says rows, breaks, credits, debits ${stated.join()}, has ${counted.join()}`,
    hundredths(statement.creditTotal) === credits
      ? null
      : `a statement's sums are not its rows': says credits of ${statement.creditTotal}`,
    hundredths(statement.debitTotal) === debits
      ? null
      : `a statement's sums are not its rows': says debits of ${statement.debitTotal}`,
    hundredths(statement.closing) === balance
      ? null
      : `a statement's rows do not end at its closing: says ${statement.closing}`,
    (verdict === 'broken') === (statement.breaks !== 0)
      ? null
      : `a statement's verdict is not its breaks': called ${verdict} with ${statement.breaks} breaks`,
    verdict !== 'continuous' || inTimeOrder || mayRepeatAnHour(rows)
      ? null
      : `a statement's verdict is not its rows': called continuous out of time order`,
    foreign === 0 ? null : `a statement holds rows of another day or currency: ${foreign} of them`,
  ]
    .filter((finding) => finding !== null)
    .map((finding) => `${finding} (${id})`);
}

/** Whether text may go back in time because a clock was put back, by up to an hour. */
const mayRepeatAnHour = (rows: readonly (readonly string[])[]): boolean =>
  rows.every(([, bookedAt], at) => {
    if (at === 0) return true;
    const backMs = Date.parse(`${rows[at - 1]![1]!}Z`) - Date.parse(`${bookedAt!}Z`);
    return backMs <= 3_600_000;
  }) && rows.length > 1;

/** Every current manifest says the same as the database. */
export function notAsRecorded(published: Published, records: readonly StatementRecord[]): string[] {
  const current = new Map<string, StatementRecord>();
  for (const record of records) {
    const id = statementId(record.currency, record.day);
    if ((current.get(id)?.revision ?? 0) < record.revision) current.set(id, record);
  }
  const findings: string[] = [];
  for (const [id, statement] of published.statements) {
    const record = current.get(id);
    current.delete(id);
    const stored = [
      statement.revision,
      statement.sha256,
      statement.opening,
      statement.closing,
      statement.verdict,
      statement.breaks,
      statement.openingDerived,
    ];
    const recorded =
      record === undefined
        ? []
        : [
            record.revision,
            record.sha256,
            record.opening,
            record.closing,
            record.verdict,
            record.break_count,
            // If a day continues from one that is not published in its current form, its manifest says so with a
            // reason.
            record.restarted || statement.openingReason !== undefined,
          ];
    if (stored.join() !== recorded.join())
      findings.push(
        `a manifest is not what the database says: ${id} ${stored.join(' ')}, recorded ${recorded.join(' ')}`,
      );
  }
  for (const id of current.keys()) findings.push(`a recorded statement is in no manifest: ${id}`);
  return findings;
}

/** A revision that an earlier run had begun is published whatever it holds. */
const BEGUN = /^an interrupted run had begun this revision/;

/** Revisions with the file of the one before that state nothing else either. */
export function needlessRevisions(recorded: readonly StatementRecord[]): string[] {
  const fileAndStated = (row: StatementRecord): string =>
    [
      ...[row.sha256, row.opening, row.credit_total, row.credit_count, row.debit_total, row.debit_count],
      ...[row.closing, row.verdict, row.break_count, row.breaks_after, row.restarted, row.other_closings],
      row.columns,
    ].join();
  const byRevision = new Map(recorded.map((row) => [`${row.currency} ${row.day} ${row.revision}`, row]));
  return recorded.flatMap((row) => {
    const before = byRevision.get(`${row.currency} ${row.day} ${row.revision - 1}`);
    return before === undefined ||
      BEGUN.test(row.reason ?? '') ||
      fileAndStated(row) !== fileAndStated(before)
      ? []
      : [
          `a revision states what the one before does: ${statementId(row.currency, row.day)} r${row.revision}`,
        ];
  });
}

export interface OpeningFindings {
  /** Days that do not open with the published closing of the day before and do not say so. */
  readonly wrong: string[];
  /** Days that open with another balance and say so; the ids are those of the day and the day before. */
  readonly derived: { readonly what: string; readonly ids: readonly string[] }[];
}

/** Each day opens with the closing of the account's published day before, or its manifest says why not. */
export function openings(published: Published): OpeningFindings {
  const wrong: string[] = [];
  const derived: OpeningFindings['derived'] = [];
  const byAccount = Map.groupBy(published.statements.values(), ({ currency }) => currency);
  for (const statements of byAccount.values()) {
    const inOrder = statements.sort((a, b) => (a.day < b.day ? -1 : 1));
    inOrder.forEach((statement, at) => {
      const before = inOrder[at - 1];
      const id = statementId(statement.currency, statement.day);
      const named = [statement.previousDay, statement.previousSha256].join(' ');
      if (named !== [before?.day ?? null, before?.sha256 ?? null].join(' '))
        wrong.push(
          `a manifest names another statement before: ${id} names ${statement.previousDay}, it is ${before?.day}`,
        );
      if (before === undefined || before.closing === statement.opening) return;
      const what = `${id} opens ${statement.opening}; ${before.day} closes ${before.closing}`;
      if (statement.openingDerived)
        derived.push({ what, ids: [id, statementId(before.currency, before.day)] });
      else wrong.push(`an opening does not follow, and the manifest does not say so: ${what}`);
    });
  }
  return { wrong, derived };
}
