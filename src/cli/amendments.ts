/** `amendments`: lists entries that the platform changed or took back after they were stored. */
import type { Command } from 'commander';
import type { LedgerEntry } from '../ledger/entry.ts';
import { listAmendments, listVanished, type Amendment } from '../store/amendments.ts';
import { offlineSettings, print, withApp } from './context.ts';
import { lines, table } from './output/text.ts';
import { timesOf } from './output/times.ts';

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
  `${credit === null ? `debit ${debit ?? ''}` : `credit ${credit}`} ${currency}`;

export function addAmendmentsCommand(program: Command): void {
  program
    .command('amendments')
    .description(
      'entries the platform changed or took back after they were stored; earlier contents are kept',
    )
    .action(async (_flags: object, self: Command) => {
      const settings = offlineSettings(self);
      const times = timesOf(settings);
      await withApp(settings, async ({ database }) => {
        const amended = await listAmendments(database.db);
        const vanished = await listVanished(database.db);
        print(self, {
          document: { amended, vanished },
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
              ? 'nothing vanished'
              : table(
                  ['merchant', 'vanished', 'seen', '?booked at', '~was'],
                  vanished.map(({ merchantNo, entry, vanishedAt }) => [
                    merchantNo,
                    entry.batchNo,
                    times.at(vanishedAt),
                    entry.bookedAt,
                    amountOf(entry),
                  ]),
                ),
            amended.length + vanished.length > 0 && times.note,
          ),
        });
      });
    });
}
