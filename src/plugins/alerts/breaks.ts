/** New breaks, reported once each. */
import { sql, type Transaction } from 'kysely';
import { moneyText } from '../../ledger/money.ts';
import { counted, firstNamed } from '../../ledger/text.ts';
import { firstSentences, NAMED_MAX, type AlertContent } from '../../run/alerts.ts';
import { arrayLiteral } from '../../store/engine/database.ts';
import type { DB } from '../../store/engine/schema.ts';
import type { FoundBy } from '../../store/events.ts';
import { foundBy, type EventAlert } from './event-alert.ts';

interface BreakEvent {
  readonly merchantNo: string;
  readonly id: number;
  readonly currency: string;
  readonly day: string;
  readonly missingNet: string;
}

export const breaks: EventAlert = {
  kind: 'new-break',
  note: async (trx, ends, found) => {
    if (ends.every(({ standing: { newBreaks, knownBreaks } }) => newBreaks + knownBreaks === 0)) return;
    await noteBreaks(
      trx,
      ends.map(({ outcome: { merchantNo } }) => merchantNo),
      found,
    );
  },
  orderOf: ({ subject }) => subject,
  say: (events, { runId }) => [newBreaks(events as readonly BreakEvent[], runId)],
};

const END_SEARCHED_MS = 30 * 24 * 3_600_000;

/**
 * Stores the merchants' open breaks that this run found, that a backfill found, and that a run found which never came to
 * its end, or lately to no end for this merchant. A break that is noted already stays as it is.
 */
export async function noteBreaks(
  trx: Transaction<DB>,
  merchants: readonly string[],
  { runId, now }: FoundBy,
): Promise<void> {
  await sql`
    INSERT INTO event (kind, merchant_no, subject, data, run_id, at)
    SELECT 'new-break', merchant_no, id, jsonb_build_object('id', id, 'merchantNo', merchant_no, 'currency', currency,
      'day', day, 'missingNet', missing_net::text), ${runId}::bigint, ${now}::timestamptz
    FROM continuity_break AS found
    WHERE status = 'open' AND merchant_no = ANY (${arrayLiteral(merchants)}::text[]) AND (run_id = ${runId} OR EXISTS (
      SELECT FROM run WHERE run.id = found.run_id AND (run.exit_code IS NULL AND run.request IS NULL OR run.command = 'backfill')
    ) OR found_at >= ${new Date(now.getTime() - END_SEARCHED_MS)} AND NOT EXISTS (
      SELECT FROM run_merchant own
      WHERE own.run_id = found.run_id AND own.merchant_no = found.merchant_no AND own.exit_code IS NOT NULL
    ))
    ON CONFLICT (kind, merchant_no, subject) DO NOTHING`.execute(trx);
}

function newBreaks(found: readonly BreakEvent[], runId: number): AlertContent {
  const merchants = [...new Set(found.map(({ merchantNo }) => merchantNo))];
  return {
    kind: 'new-break',
    title: `${counted(found.length, 'new break')} of ${firstNamed(merchants, NAMED_MAX)}`,
    sentences: firstSentences(
      found.map(
        ({ id, merchantNo, currency, day, missingNet }) =>
          `Break ${id}: ${merchantNo} ${currency} ${day}, unexplained difference: ${moneyText(missingNet, currency)}.`,
      ),
      '`daybook breaks`',
    ),
    todo: '`daybook breaks show ID` has the message to the platform; a jump that is right is closed with `daybook breaks resolve ID --note TEXT`',
    ...foundBy(runId, found),
  };
}
