/** `close`: freezes a month's statements; lists what is closed, and what changed since. */
import type { Command } from 'commander';
import {
  answer,
  answerWith,
  auditEventOf,
  collect,
  platformSettings,
  problemText,
  withBy,
} from '../../cli/context.ts';
import { merchantsOf, monthFlag, textFlag, unknownMerchant } from '../../cli/flags.ts';
import { counted, lines, LIST_SHOWN_MAX, longTable, type Times } from '../../cli/output/text.ts';
import { adjustmentText } from '../../run/status-text.ts';
import { EXIT, exitCodeOf, mostSevere, UsageError, type ExitCode } from '../../run/verdict/exit-codes.ts';
import type { Settings } from '../../settings/settings.ts';
import { REASON_CHARACTERS_MAX, type CloseFilter, type MonthClose } from '../../statements/closes.ts';
import { stretches, type Month } from '../../statements/month.ts';
import { openGroups, todoOf, type OpenDay } from '../../statements/open-days.ts';
import { knownMerchants } from '../../store/merchants.ts';
import type { CloseResult } from '../option.ts';
import { closeMonth } from './close.ts';
import { adjustmentsOf, listCloses } from './stored.ts';

const HELP = `
Closing freezes the list of the month's statements, each with revision and SHA-256: in the database, and as a file in the
object store. A statement that is revised or first published later shows as an adjustment of the month. Without an
adjustment, closing again changes nothing. With one, it makes the next close, which refers to the previous close.

Ends with 3, and closes nothing of that merchant, while a day is open. The causes, as --json names them:
  not-over, uncertified (not read completely), not-reconciled (changed since its figures were calculated), not-published,
  broken (with a break that is not resolved), unexplained (the figures do not add up, or the opening is not the previous
  day's closing, and no break accounts for it; where an open break does, the day is listed as broken),
  unreadable (with an unreadable entry that is not acknowledged).
Also ends with exit code 3 if a day of a closed month has become open again, for example because a break was reopened.
Days before an account's first entry count as open, too, until a run has proven them empty.
--despite-open-days closes the month although days are open; the reason is published with the close; a day published
later shows as an adjustment.
With several merchants, each outcome is shown, also failures; the most severe one gives the exit code. If one of them is
unknown, none is closed (2).

Examples:
  daybook close 2026-03 --merchant 10001 --by Ada
  daybook close 2026-03 --merchant 10001 --despite-open-days "break 7 is at the platform, case 4711"
  daybook close --list`;

interface CloseFlags {
  readonly merchant: readonly string[];
  readonly list?: boolean;
  readonly note?: string;
  readonly despiteOpenDays?: string;
}

export function closeCommand(command: Command): void {
  withBy(command)
    .argument('[month]', 'the month, YYYY-MM')
    .option('--merchant <no>', 'of this merchant (may be repeated)', collect, [])
    .option('--note <text>', 'kept with it')
    .option(
      '--despite-open-days <reason>',
      'close the month although days are open; the reason is published with the close',
    )
    .option('--list', 'show the closes and their adjustments; close nothing')
    .addHelpText('after', HELP)
    .action((month: string | undefined, flags: CloseFlags, self: Command) =>
      flags.list === true ? list(month, flags, self) : close(month, flags, self),
    );
}

async function close(given: string | undefined, flags: CloseFlags, self: Command): Promise<void> {
  if (given === undefined) throw new UsageError('say which month: `daybook close YYYY-MM --merchant NO`.');
  const month = monthFlag(given);
  if (flags.merchant.length === 0) throw new UsageError('say whose month it is with --merchant NO.');
  const note = publishedText('--note', flags.note);
  const despite = publishedText('--despite-open-days', flags.despiteOpenDays) ?? null;
  const settings = platformSettings(self);
  const { timeZone: zone } = settings.platform;
  const merchants = [...new Set(flags.merchant)];
  const auditEvents = new Map(
    merchants.map((merchantNo) => [merchantNo, auditEventOf(self, `${merchantNo} ${month.name}`, note)]),
  );
  await answerWith(settings, self, async ({ db, objects, now }) => {
    await assertKnown(db, merchants, settings);
    const options = { db, objects, signingKey: settings.signingKey, zone, now };
    const outcomes: Outcome[] = [];
    for (const [merchantNo, auditEvent] of auditEvents) {
      try {
        const result = await closeMonth({ merchantNo, month, despite, auditEvent }, options);
        outcomes.push({ merchantNo, result });
      } catch (error) {
        if (merchants.length === 1) throw error;
        outcomes.push({ merchantNo, error });
      }
    }
    return {
      document: outcomes.map((one) => outcomeDocument(month, one)),
      text: lines(...outcomes.map((one) => outcomeText(month, one))),
      exitCode: mostSevere(outcomes.map(exitCodeOfOutcome)),
    };
  });
}

type Outcome = { readonly merchantNo: string } & (
  { readonly result: CloseResult } | { readonly error: unknown }
);

/** Throws `UsageError` for a merchant of whom nothing is known, before any month is closed. */
async function assertKnown(
  db: Parameters<typeof knownMerchants>[0],
  merchants: readonly string[],
  { platform }: Settings,
): Promise<void> {
  const known = await knownMerchants(db, merchants);
  const isKnown = (merchantNo: string): boolean =>
    known.has(merchantNo) || merchantNo === platform.merchant?.merchantNo;
  const unknown = merchants.find((merchantNo) => !isKnown(merchantNo));
  if (unknown !== undefined) throw unknownMerchant(unknown);
}

function exitCodeOfOutcome(outcome: Outcome): ExitCode {
  if ('error' in outcome) return exitCodeOf(outcome.error);
  return isDone(outcome.result) ? EXIT.done : EXIT.needsPerson;
}

const outcomeText = (month: Month, outcome: Outcome): string =>
  'error' in outcome
    ? `${month.name} of ${outcome.merchantNo} failed: ${problemText(outcome.error)}`
    : closeResultText(outcome.merchantNo, month, outcome.result);

const outcomeDocument = (month: Month, outcome: Outcome) =>
  'error' in outcome
    ? {
        ...{ merchantNo: outcome.merchantNo, month: month.name },
        ...{ result: 'failed', problem: problemText(outcome.error) },
      }
    : resultDocument(outcome.merchantNo, month, outcome.result);

const isDone = (result: CloseResult): boolean =>
  result.kind === 'closed' || (result.kind === 'already' && result.openDays.length === 0);

function resultDocument(merchantNo: string, month: Month, result: CloseResult) {
  const about = { merchantNo, month: month.name, result: result.kind };
  if (result.kind === 'open') return { ...about, openDays: result.openDays };
  if (result.kind === 'empty') return about;
  const { signature } = result.close;
  const close = { ...result.close, content: undefined, signature: undefined };
  const document = { ...about, close: { ...close, signed: signature !== null } };
  return result.kind === 'closed'
    ? { ...document, adjustments: result.adjustments }
    : { ...document, adjustments: [], openDays: result.openDays };
}

async function list(given: string | undefined, flags: CloseFlags, self: Command): Promise<void> {
  if (flags.note !== undefined || flags.despiteOpenDays !== undefined)
    throw new UsageError('--list closes nothing: leave --note and --despite-open-days out.');
  const filter: CloseFilter = {
    merchants: merchantsOf(flags),
    month: given === undefined ? undefined : monthFlag(given).name,
  };
  await answer(self, async ({ db, times }) => {
    const closes = await listCloses(db, filter);
    const adjustments = await adjustmentsOf(db, filter);
    const changes = adjustments.map((one) => `  ${adjustmentText(one)}`);
    return { document: { closes, adjustments }, text: lines(closesText(closes, times), ...changes) };
  });
}

function publishedText(flag: string, given: string | undefined): string | undefined {
  const text = textFlag(given, 'say why, or leave it out', flag);
  if (text !== undefined && text.length > REASON_CHARACTERS_MAX)
    throw new UsageError(
      `${flag} has over ${REASON_CHARACTERS_MAX} characters; it is published with the close.`,
    );
  return text;
}

const CAUSES: Readonly<Record<OpenDay['cause'], string>> = {
  'not-over': 'not over',
  uncertified: 'not read completely',
  'not-reconciled': 'changed since its figures were calculated',
  'not-published': 'not published',
  broken: 'broken',
  unexplained: 'with a difference that no break accounts for',
  unreadable: 'not all readable',
};

function closeResultText(merchantNo: string, { name }: Month, result: CloseResult): string {
  const what = `${name} of ${merchantNo}`;
  if (result.kind === 'empty') return `${what} is not closed: no statement of it is published`;
  if (result.kind === 'open') {
    return lines(
      `${what} is not closed: ${daysAreOpen(result.openDays)}`,
      ...openGroups(result.openDays).map(openText),
      'close it once they are done, or give the reason for closing anyway with `--despite-open-days REASON`',
    );
  }
  const { number, statements, by, openDays, objectKey } = result.close;
  if (result.kind === 'already') {
    const closed = `${what} was closed before (close ${number}, by ${by}), and `;
    if (result.openDays.length === 0) return `${closed}nothing changed since`;
    return lines(
      `${closed}no statement changed since, but ${daysAreOpen(result.openDays)}`,
      ...openGroups(result.openDays).map(openText),
    );
  }
  return lines(
    `${what} is closed: close ${number} freezes ${counted(statements, 'statement')}` +
      (openDays === 0 ? '' : `, despite ${counted(openDays, 'open account day')}`),
    objectKey,
    ...result.adjustments.map((one) => `  ${adjustmentText(one)}`),
  );
}

const daysAreOpen = (openDays: readonly OpenDay[]): string => {
  const accounts = new Set(openDays.map(({ currency }) => currency)).size;
  const verb = openDays.length === 1 ? 'is' : 'are';
  return `${counted(openDays.length, 'account day')} (${counted(accounts, 'account')}) ${verb} open`;
};

function openText(days: readonly OpenDay[]): string {
  const { currency, cause, why } = days[0]!;
  const named = stretches(days.map(({ day }) => day))
    .map((stretch) => stretch.replace('/', ' to '))
    .join(', ');
  const what = cause === 'broken' ? why : `${CAUSES[cause]}: ${why}`;
  return `  ${currency} ${named}: ${what}: ${todoOf(days)}`;
}

function closesText(closes: readonly MonthClose[], times: Times): string {
  if (closes.length === 0) return 'no month is closed yet';
  const shown = closes.slice(0, LIST_SHOWN_MAX);
  return lines(
    longTable(shown, {
      month: ({ month }) => month,
      merchant: ({ merchantNo }) => merchantNo,
      '>close': ({ number }) => number,
      'closed at': ({ closedAt }) => times.at(closedAt),
      by: ({ by }) => by,
      '>statements': ({ statements }) => statements,
      '>open days': ({ openDays }) => openDays,
      '~reason for open days': ({ despite }) => despite,
      '~note': ({ note }) => note,
    }),
    times.note,
    closes.length > shown.length &&
      `and ${closes.length - shown.length} more: \`--merchant NO\` shows those of one merchant`,
  );
}
