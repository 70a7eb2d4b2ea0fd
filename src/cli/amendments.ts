/** `amendments`: lists entries that the platform changed or took back after they were stored, and accepts what is held. */
import type { Command } from 'commander';
import { UsageError } from '../run/verdict/exit-codes.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import { moneyText } from '../ledger/money.ts';
import { listAmendments, listVanished, type Amendment } from '../store/amendments.ts';
import { acceptHeld, heldDaysOf, type HeldDay } from '../store/absent-entries.ts';
import { collect } from './collect.ts';
import { offlineSettings, print, withApp, auditEventOf, doneBy, withBy } from './context.ts';
import { counted, lines, table } from './output/text.ts';
import { timesOf, type Times } from './output/times.ts';
import { accountsFlagged, dayFlag, type RangeFlags } from './range-flags.ts';

const FIELDS = ['currency', 'transactionType', 'credit', 'debit', 'balance', 'bookedAt'] as const;
const WORDS: Readonly<Record<(typeof FIELDS)[number], string>> = {
  currency: 'currency',
  transactionType: 'transaction type',
  credit: 'credit',
  debit: 'debit',
  balance: 'balance',
  bookedAt: 'booked at',
};

/** `balance 5.00 → 6.00, booked at ... → ...`. */
export const differences = ({ before, after }: Pick<Amendment, 'before' | 'after'>): string =>
  FIELDS.filter((field) => before[field] !== after[field])
    .map((field) => `${WORDS[field]} ${before[field] ?? 'none'} → ${after[field] ?? 'none'}`)
    .join(', ');

export const amountOf = ({ credit, debit, currency }: LedgerEntry): string =>
  `${credit === null ? 'debit' : 'credit'} ${moneyText(credit ?? debit ?? '', currency)}`;

const HELP = `
If every entry of an account's day disappears at once, or most entries of several days, daybook keeps the entries and asks you.
Until you confirm, they are held: published statements stay as they are, and runs end with 4. \`daybook amendments accept\` confirms
that they are gone. If they come back, the hold ends by itself.

Examples:
  daybook amendments
  daybook amendments accept --merchant 10001 --currency USD --from 2026-03-03 --to 2026-03-03 --note "letter 4711"`;

const ACCEPT_HELP = `
Entries that disappear all at once usually mean an error at the platform. Ask it before you confirm.

Examples:
  daybook amendments accept --merchant 10001 --currency USD --from 2026-03-03 --to 2026-03-03 --note "letter 4711" --by Ada
  daybook amendments accept --merchant 10001 --note "the platform's answer of 5 March"`;

export function addAmendmentsCommand(program: Command): void {
  const amendments = program
    .command('amendments')
    .description(
      'entries that the platform changed or removed after they were stored; earlier contents are kept',
    )
    .addHelpText('after', HELP)
    .action(async (_flags: object, self: Command) => {
      const settings = offlineSettings(self);
      const times = timesOf(settings);
      await withApp(settings, async ({ database }) => {
        const amended = await listAmendments(database.db);
        const vanished = await listVanished(database.db);
        const held = await heldDaysOf(database.db, null);
        print(self, {
          document: { amended, vanished, held },
          text: lines(
            amended.length === 0
              ? 'nothing was amended'
              : table(
                  ['merchant', 'batch no', 'seen', '~what changed'],
                  amended.map((one) => [
                    one.merchantNo,
                    one.before.batchNo,
                    times.at(one.supersededAt),
                    differences(one),
                  ]),
                ),
            '',
            vanished.length === 0
              ? 'no entry was removed'
              : table(
                  ['merchant', 'no longer shown', 'seen', '?booked at', '~was'],
                  vanished.map(({ merchantNo, entry, vanishedAt }) => [
                    merchantNo,
                    entry.batchNo,
                    times.at(vanishedAt),
                    entry.bookedAt,
                    amountOf(entry),
                  ]),
                ),
            '',
            heldText(held, times),
            amended.length + vanished.length + held.length > 0 && times.note,
          ),
        });
      });
    });
  addAcceptCommand(amendments);
}

const heldText = (held: readonly HeldDay[], times: Times): string =>
  held.length === 0
    ? 'nothing is held'
    : table(
        ['merchant', 'currency', 'held day', '>entries', 'since', 'accepted'],
        held.map(({ merchantNo, currency, day, entries, since, acceptedAt }) => [
          merchantNo,
          currency,
          day,
          entries,
          times.at(since),
          acceptedAt === null ? 'no' : times.at(acceptedAt),
        ]),
      );

type AcceptFlags = RangeFlags & { readonly note: string };

function addAcceptCommand(amendments: Command): void {
  withBy(amendments.command('accept'))
    .description(
      'confirm that held entries are gone for good; the next run that does not find them publishes revisions',
    )
    .option('--merchant <no>', 'of this merchant (may be repeated)', collect, [])
    .option('--currency <code>', 'only of this currency (may be repeated)', collect, [])
    .option('--from <day>', 'first day, YYYY-MM-DD (default: the first that is held)')
    .option('--to <day>', 'last day, included (default: the last that is held)')
    .requiredOption('--note <text>', 'how you know, such as the platform’s answer; kept with it')
    .addHelpText('after', ACCEPT_HELP)
    .action(async (flags: AcceptFlags, self: Command) => {
      if (flags.merchant.length === 0) throw new UsageError('say whose entries they are with --merchant NO.');
      const note = flags.note.trim();
      if (note === '') throw new UsageError('--note is empty; say how you know that the entries are gone.');
      const from = flags.from === undefined ? undefined : dayFlag('--from', flags.from);
      const to = flags.to === undefined ? undefined : dayFlag('--to', flags.to);
      const filter = { ...accountsFlagged(flags), from, to };
      const subject = [...flags.merchant, ...flags.currency, from ?? '', to ?? ''].filter(
        (part) => part !== '',
      );
      await withApp(offlineSettings(self), async ({ database, now }) => {
        const auditEvent = auditEventOf(self, subject.join(' '), note);
        const accepted = await doneBy(database.db, auditEvent, now(), async (trx) => {
          const days = await acceptHeld(trx, filter, now());
          if (days.length === 0)
            throw new UsageError(
              'no held entry there waits to be accepted; `daybook amendments` lists held entries.',
            );
          return days;
        });
        const entries = accepted.reduce((sum, one) => sum + one.entries, 0);
        print(self, {
          document: { accepted },
          text:
            `accepted: ${counted(entries, 'entry', 'entries')} of ${counted(accepted.length, 'account day')}. ` +
            'The next run that does not find them marks them as vanished and publishes revisions. If they are back, nothing changes.',
        });
      });
    });
}
