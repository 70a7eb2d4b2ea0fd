/** Tokens that do not work, reported once each until they have worked. */
import { sql, type Transaction } from 'kysely';
import { firstNamed } from '../../ledger/text.ts';
import { PlatformRejected } from '../../platform/errors.ts';
import { firstSentences, NAMED_MAX, type AlertContent } from '../../run/alerts.ts';
import type { MerchantOutcome } from '../../run/report.ts';
import { arrayLiteral } from '../../store/engine/database.ts';
import type { DB } from '../../store/engine/schema.ts';
import { recordEvents, type FoundBy } from '../../store/events.ts';
import { SecretUnreadable, UnknownSecretKey } from '../../store/secrets/secrets.ts';
import { foundBy, type EventAlert } from './event-alert.ts';

interface TokenEvent {
  readonly merchantNo: string;
  readonly problem: string;
}

/** Crosses off tokens that work again. */
export const tokens: EventAlert = {
  kind: 'key-problem',
  note: async (trx, ends, found) => {
    const outcomes = ends.map(({ outcome }) => outcome);
    const refused = outcomes.flatMap((outcome) => tokenProblem(outcome) ?? []);
    await noteTokens(trx, refused, found);
    const working = outcomes.filter(hasTokenThatWorks);
    await crossOffTokens(
      trx,
      working.map(({ merchantNo }) => merchantNo),
    );
  },
  orderOf: ({ merchantNo, subject }) => `${merchantNo} ${subject}`,
  say: (events, { runId }) => [tokensRefused(events as readonly TokenEvent[], runId)],
};

function tokenProblem({ merchantNo, sync }: MerchantOutcome): TokenEvent | null {
  if (sync === null) return null;
  const { notJoined, report } = sync;
  if (notJoined?.refusesToken === true) return { merchantNo, problem: notJoined.problem };
  const { failure } = report;
  const isRefused = failure instanceof PlatformRejected && failure.refusesToken;
  if (isRefused || failure instanceof UnknownSecretKey || failure instanceof SecretUnreadable)
    return { merchantNo, problem: failure.message };
  return null;
}

const hasTokenThatWorks = ({ sync }: MerchantOutcome): boolean =>
  sync !== null && sync.notJoined === undefined && sync.report.failure === null;

/**
 * Stores merchants whose token does not work. One stored already, that did not work since, and was not enabled or given
 * a token since, stays as it is.
 */
async function noteTokens(
  trx: Transaction<DB>,
  refused: readonly TokenEvent[],
  found: FoundBy,
): Promise<void> {
  if (refused.length === 0) return;
  await sql`
    DELETE FROM event USING merchant
    WHERE kind = 'key-problem' AND event.merchant_no = ANY (${arrayLiteral(refused.map(({ merchantNo }) => merchantNo))}::text[])
      AND merchant.merchant_no = event.merchant_no AND merchant.enabled_at > event.at`.execute(trx);
  const events = refused.map(({ merchantNo, problem }) => ({
    ...{ kind: 'key-problem', merchantNo, subject: '' },
    data: { merchantNo, problem },
  }));
  await recordEvents(trx, events, found);
}

async function crossOffTokens(trx: Transaction<DB>, merchants: readonly string[]): Promise<void> {
  if (merchants.length === 0) return;
  await sql`
    DELETE FROM event WHERE kind = 'key-problem' AND merchant_no = ANY (${arrayLiteral(merchants)}::text[])`.execute(
    trx,
  );
}

const tokensRefused = (refused: readonly TokenEvent[], runId: number): AlertContent => ({
  kind: 'key-problem',
  title: `the ${refused.length === 1 ? 'token' : 'tokens'} of ${firstNamed(
    refused.map(({ merchantNo }) => merchantNo),
    NAMED_MAX,
  )} cannot be used`,
  sentences: firstSentences(
    refused.map(({ merchantNo, problem }) => `${merchantNo}: ${problem}`),
    `\`daybook runs ${runId}\``,
  ),
  todo:
    'give each a token that works: `daybook merchants add --merchant-no NO --token-stdin`; where a key is named, put it ' +
    'back into DAYBOOK_SECRET_KEYS',
  ...foundBy(runId, refused),
});
