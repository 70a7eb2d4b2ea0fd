/** Notes what is to be reported of merchants, in the transaction that records their ends. */
import type { Transaction } from 'kysely';
import { PlatformRejected } from '../../platform/errors.ts';
import {
  crossOffTokens,
  noteBreaks,
  noteRevised,
  noteTokens,
  type TokenEvent,
} from '../../store/alerts/events.ts';
import type { DB } from '../../store/engine/schema.ts';
import { SecretUnreadable, UnknownSecretKey } from '../../store/secrets/secrets.ts';
import type { MerchantOutcome } from '../report.ts';
import type { MerchantOpenItems } from '../open-items.ts';

/** Notes new breaks, revised days, and tokens that do not work; crosses off tokens that work again. */
export async function noteForAlerts(
  trx: Transaction<DB>,
  outcomes: readonly MerchantOutcome[],
  openItemsOfAll: ReadonlyMap<string, MerchantOpenItems>,
  found: { readonly runId: number; readonly now: Date },
): Promise<void> {
  const own = outcomes.map(({ merchantNo }) => openItemsOfAll.get(merchantNo)!.standing);
  if (own.some(({ newBreaks, knownBreaks }) => newBreaks + knownBreaks > 0)) {
    const merchants = outcomes.map(({ merchantNo }) => merchantNo);
    await noteBreaks(trx, merchants, found);
  }
  const revised = own
    .flatMap((standing) => standing.revised)
    .filter(({ readsTheSame, wasOpenAtClose }) => !readsTheSame && wasOpenAtClose !== true);
  await noteRevised(trx, revised, found);
  const refused = outcomes.flatMap((outcome) => tokenProblem(outcome) ?? []);
  await noteTokens(trx, refused, found);
  await crossOffTokens(
    trx,
    outcomes.filter(hasTokenThatWorks).map(({ merchantNo }) => merchantNo),
  );
}

/** Why the merchant's token cannot be used; null if that is not what kept it from being read. */
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
