/**
 * Finds manifests that are not on the one way from the last of a merchant's chain to its first. Two databases that
 * published into one store leave such ones, for example an older copy that went on before it adopted the store.
 */
import type { Kysely, Transaction } from 'kysely';
import type { BusinessDay } from '../ledger/entry.ts';
import type { Lease } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { manifestRows, takeOutOfChain } from '../store/statements/chain-rows.ts';
import { parseManifest, type Manifest } from './manifest.ts';

/** A day's current manifest. */
interface Linked {
  readonly day: BusinessDay;
  readonly sha256: string;
  /** Null if it was taken out of the chain, or never was in it. */
  readonly place: number | null;
  /** SHA-256 of the one that it follows; null at the first place. */
  readonly follows: string | null;
  /** SHA-256 of all that it or those that it took the place of follow. */
  readonly names: readonly string[];
  /** SHA-256 of those that it took the place of. */
  readonly superseded: readonly string[];
}

/**
 * Takes forked manifests out of the chain: their rows lose their places, so that the next comparison with the store makes
 * them anew, at the end of the chain. Returns their number. Throws `LeaseHeld`, `LeaseLost`, `StoreUnreachable`.
 */
export async function takeForksOut(
  db: Kysely<DB>,
  merchantNo: string,
  leaseOf: (merchantNo: string) => Promise<Lease>,
): Promise<number> {
  const manifests: Linked[] = [];
  for await (const { day, sha256, place, content } of manifestRows(db, merchantNo)) {
    const manifest = parseManifest(content);
    if (manifest !== null) manifests.push({ day, sha256, place, ...linksOf(manifest) });
  }
  const days = forkedDays(manifests);
  if (days.length > 0)
    await writeTransaction(db, await leaseOf(merchantNo), (trx: Transaction<DB>) =>
      takeOutOfChain(trx, merchantNo, days),
    );
  return days.length;
}

const linksOf = (manifest: Manifest): Pick<Linked, 'follows' | 'names' | 'superseded'> => ({
  follows: manifest.previousManifest?.sha256 ?? null,
  names: [manifest, ...(manifest.supersededManifests ?? [])]
    .map(({ previousManifest }) => previousManifest)
    .concat(manifest.earlierManifests ?? [])
    .flatMap((named) => named?.sha256 ?? []),
  superseded: (manifest.supersededManifests ?? []).map(({ sha256 }) => sha256),
});

/**
 * Days whose manifest follows the same one as another does, or is followed by none though it is not the last. Those that
 * are out of the chain still count as following others.
 */
export function forkedDays(manifests: readonly Linked[]): BusinessDay[] {
  const inOrder = manifests
    .filter(({ place }) => place !== null)
    .sort((one, other) => one.place! - other.place!);
  const followed = new Set<string | null>();
  const forked = inOrder.filter(({ follows }) => followed.has(follows) || !followed.add(follows));
  const others = inOrder.filter((one) => !forked.includes(one));
  const named = new Set(manifests.flatMap(({ names }) => names));
  const isNamed = ({ sha256, superseded }: Linked): boolean =>
    [sha256, ...superseded].some((one) => named.has(one));
  return [...forked, ...others.slice(0, -1).filter((one) => !isNamed(one))].map(({ day }) => day).sort();
}
