/** `close`: freezes a month's statements; lists what is closed, and what changed since. */
import type { Command } from 'commander';
import { answer, answerWith, auditEventOf, collect, platformSettings, withBy } from './context.ts';
import { merchantsOf, monthFlag, textFlag, unknownMerchant } from './flags.ts';
import { counted, line, lines, LIST_SHOWN_MAX, longTable, type Times } from './output/text.ts';
import { adjustmentText, preparationText } from '../run/status-text.ts';
import { problemText } from '../ledger/ending.ts';
import { EXIT, exitCodeOf, mostSevere, UsageError, type ExitCode } from '../run/verdict/exit-codes.ts';
import type { Settings } from '../settings/settings.ts';
import { countDays } from '../verify/close-file.ts';
import { REASON_CHARACTERS_MAX, type CloseFilter, type MonthClose } from '../months/closes.ts';
import { moneyText } from '../ledger/money.ts';
import { stretches, type Month } from '../months/month.ts';
import { openGroups, todoOf, type OpenDay } from '../months/open-days.ts';
import { knownMerchants } from '../store/merchants.ts';
import type { CloseResult, CloseStep, Obstacle } from '../months/closes.ts';
import { listPreparations } from '../months/approval.ts';
import { closeMonth } from '../months/close.ts';
import { adjustmentsOf, listCloses } from '../months/stored.ts';

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
Each cause of a day is named, also where it has several. --check says what is in the way, and closes nothing.

Where DAYBOOK_CLOSE_APPROVAL is required, two persons close a month: one with --prepare, another one with --approve. The
preparation holds what is to be closed. If anything of the month has changed since, --approve is refused and names the changes.
--withdraw takes a preparation back. The name of --by is taken as it is given; the pages take it from the login.
--reopen opens a closed month again, for a reason. The close stays on record, and the next close names the reopening.

Days before an account's first entry count as open, too, until a run has proven them empty.
--despite-open-days closes the month although days are open; the reason is published with the close; a day published
later shows as an adjustment.
With several merchants, each outcome is shown, also failures; the most severe one gives the exit code. If one of them is
unknown, none is closed (2).

Examples:
  daybook close 2026-03 --merchant 10001 --by Ada
  daybook close 2026-03 --merchant 10001 --despite-open-days "break 7 is at the platform, case 4711"
  daybook close 2026-03 --merchant 10001 --check
  daybook close 2026-03 --merchant 10001 --prepare --by Ada
  daybook close 2026-03 --merchant 10001 --approve --by Grace
  daybook close 2026-03 --merchant 10001 --reopen "invoice 4711 belongs to March" --by Ada
  daybook close --list`;

interface CloseFlags {
  readonly merchant: readonly string[];
  readonly list?: boolean;
  readonly note?: string;
  readonly despiteOpenDays?: string;
  readonly check?: boolean;
  readonly prepare?: boolean;
  readonly approve?: boolean;
  readonly withdraw?: boolean;
  readonly reopen?: string;
  readonly seen?: string;
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
    .option('--check', 'show all that is in the way; close nothing')
    .option('--prepare', 'prepare the month, for another person to approve')
    .option('--approve', 'close the month as another person prepared it')
    .option('--seen <hash>', 'with --approve: only if the month and the words are what --check showed')
    .option('--withdraw', 'take its preparation back')
    .option('--reopen <reason>', 'open the closed month again; the reason is published with the next close')
    .option('--list', 'show the closes, their adjustments and what waits for approval; close nothing')
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
  const reason = publishedText('--reopen', flags.reopen);
  const step = stepOf(flags);
  const settings = platformSettings(self);
  const needsApproval = settings.closeApproval === 'required';
  if (!needsApproval && (step === 'prepare' || step === 'approve'))
    throw new UsageError(
      `--${step} is for two persons, and DAYBOOK_CLOSE_APPROVAL is none: leave it out to close the month at once.`,
    );
  const { timeZone: zone } = settings.platform;
  const merchants = [...new Set(flags.merchant)];
  const auditEvents = new Map(
    merchants.map((merchantNo) => {
      const event = auditEventOf(self, `${merchantNo} ${month.name}`, reason ?? note);
      return [merchantNo, step === 'close' ? event : { ...event, command: `${event.command} --${step}` }];
    }),
  );
  await answerWith(settings, self, async ({ db, objects, now }) => {
    await assertKnown(db, merchants, settings);
    const options = {
      ...{ db, objects, signingKey: settings.signingKey, zone, now, needsApproval },
      needsMatch: settings.books.closeNeedsMatch,
      logins: settings.access,
    };
    const outcomes: Outcome[] = [];
    for (const [merchantNo, auditEvent] of auditEvents) {
      try {
        const result = await closeMonth(
          { merchantNo, month, despite, auditEvent, step, seen: flags.seen ?? null },
          options,
        );
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

const STEPS = ['check', 'prepare', 'approve', 'withdraw', 'reopen'] as const;

/** Throws `UsageError` for flags that do not go together. */
function stepOf(flags: CloseFlags): CloseStep {
  const given = STEPS.filter((step) => flags[step] !== undefined);
  if (given.length > 1)
    throw new UsageError(`--${given[0]} and --${given[1]} are two steps: give one of them.`);
  const step = given[0] ?? 'close';
  if (flags.despiteOpenDays !== undefined && (step === 'approve' || step === 'withdraw' || step === 'reopen'))
    throw new UsageError(`--${step} takes no --despite-open-days: the reason is given with --prepare.`);
  if (flags.seen !== undefined && step !== 'approve')
    throw new UsageError('--seen goes with --approve alone: leave it out.');
  if (flags.note !== undefined && (step === 'check' || step === 'reopen'))
    throw new UsageError(`--${step} takes no --note: leave it out.`);
  return step;
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

const NOT_DONE: readonly CloseResult['kind'][] = ['open', 'empty', 'refused'];

const isDone = (result: CloseResult): boolean =>
  result.kind === 'already' ? result.openDays.length === 0 : !NOT_DONE.includes(result.kind);

function resultDocument(merchantNo: string, month: Month, result: CloseResult) {
  const about = { merchantNo, month: month.name, result: result.kind };
  if (result.kind !== 'closed' && result.kind !== 'already') {
    const { kind: _, ...found } = result;
    return { ...about, ...found };
  }
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
  const step = STEPS.find((one) => flags[one] !== undefined);
  if (step !== undefined) throw new UsageError(`--list closes nothing: leave --${step} out.`);
  const filter: CloseFilter = {
    merchants: merchantsOf(flags),
    month: given === undefined ? undefined : monthFlag(given).name,
  };
  await answer(self, async ({ db, times }) => {
    const closes = await listCloses(db, filter);
    const adjustments = await adjustmentsOf(db, filter);
    const preparations = await listPreparations(db, filter);
    const changes = adjustments.map((one) => `  ${adjustmentText(one)}`);
    const waiting = preparations.map((one) => `  ${preparationText(one, times.at)}`);
    return {
      document: { closes, adjustments, preparations },
      text: lines(closesText(closes, times), ...changes, ...waiting),
    };
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
  if (result.kind === 'ready') return readyText(what, result);
  if (result.kind === 'prepared')
    return `${what} is prepared by ${result.preparation.by}; another person has to approve it with \`--approve\``;
  if (result.kind === 'withdrawn') return `the preparation of ${what} by ${result.by} is withdrawn`;
  if (result.kind === 'reopened') return `${what} is open again; close ${result.number} stays on record`;
  if (result.kind === 'refused') return lines(`${what} is not changed:`, ...result.others.map(obstacleText));
  if (result.kind === 'empty')
    return lines(
      `${what} is not closed: no statement of it is published`,
      ...openGroups(result.openDays).map(openText),
    );
  if (result.kind === 'open') {
    return lines(
      `${what} is not closed: ${daysAreOpen(result.openDays)}`,
      ...openGroups(result.openDays).map(openText),
      ...result.others.map(obstacleText),
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

/** With the words that an approval would take over, and how to approve nothing else. */
function readyText(what: string, { preparation, seen }: Extract<CloseResult, { kind: 'ready' }>): string {
  const ready = `nothing is in the way: ${what} can be closed`;
  if (preparation === null) return ready;
  const { by, note, despite } = preparation;
  return lines(
    ready,
    line`prepared by ${by}${note === null ? '' : `, note: ${note}`}`,
    despite !== null && line`reason for closing though days are open: ${despite}`,
    `\`--approve --seen ${seen}\` approves this, and is refused if anything of it has changed`,
  );
}

const obstacleText = ({ why, todo, who }: Obstacle): string => `  ${why}: ${todo}${whoText(who)}`;

const whoText = (who: OpenDay['who']): string => (who === 'operator' ? ' (an operator)' : '');

const daysAreOpen = (openDays: readonly OpenDay[]): string => {
  const accounts = new Set(openDays.map(({ currency }) => currency)).size;
  const days = countDays(openDays);
  const verb = days === 1 ? 'is' : 'are';
  return `${counted(days, 'account day')} (${counted(accounts, 'account')}) ${verb} open`;
};

function openText(days: readonly OpenDay[]): string {
  const { currency, cause, why, who, amount } = days[0]!;
  const named = stretches(days.map(({ day }) => day))
    .map((stretch) => stretch.replace('/', ' to '))
    .join(', ');
  const what = cause === 'broken' ? why : `${CAUSES[cause]}: ${why}`;
  const off = amount === undefined ? '' : ` (difference ${moneyText(amount, currency)})`;
  return `  ${currency} ${named}: ${what}${off}: ${todoOf(days)}${whoText(who)}`;
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
      ...(closes.some(({ prepared }) => prepared !== null) && {
        'prepared by': ({ prepared }: MonthClose) => prepared?.by ?? '',
      }),
      ...(closes.some(({ reopened }) => reopened !== null) && {
        '~reopened': ({ reopened }: MonthClose) => reopened && `by ${reopened.by}: ${reopened.note}`,
      }),
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
