/**
 * Tells whether what is read is the merchant's own ledger. A platform that answers a call with a ledger that is not read here
 * shows none of the stored entries, and nothing but new ones. So readings wait until one of them shows a stored entry; if
 * none does, nothing of them is believed.
 */
import type { Kysely } from 'kysely';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import { counted } from '../ledger/text.ts';
import { acceptedAmong } from '../store/absent-entries.ts';
import type { Compared } from '../store/compare-with-stored.ts';
import type { DB } from '../store/engine/schema.ts';
import { entriesByNumber, windowsHolding } from '../store/entries.ts';
import type { Asked } from './certificate.ts';

/** Fewer entries than this may go and come anew in an honest ledger. */
const LACKING_MIN = 3;
/** Entries that are compared with the stored ones, and stored entries that they are compared with. */
const SHOWN_COMPARED_MAX = 200;
const LACKING_COMPARED_MAX = 2_000;

/** None of the stored entries was shown, and all that was shown is new. Nothing of it was written. */
export class AnotherLedgerAnswered extends ExpectedError {
  override readonly name = 'AnotherLedgerAnswered';
  readonly exitCode = EXIT.incomplete;
  readonly entries: readonly LedgerEntry[];

  constructor(entries: readonly LedgerEntry[], { shown, lacking }: { shown: number; lacking: number }) {
    const { batchNo, currency, bookedAt } = entries[0]!;
    super(
      `the platform answered with another ledger: none of ${counted(lacking, 'stored entry', 'stored entries')} of these days ` +
        `was shown, and all of ${counted(shown, 'entry', 'entries')} that came ${shown === 1 ? 'is' : 'are'} new, such as ` +
        `${batchNo}, booked ${bookedAt} in ${currency}. Nothing of it was written, and no statement follows it. Check ` +
        "PLATFORM_HEADERS (does each call say whose it is?) and the merchant's token, and ask the platform. If it booked " +
        'the ledger anew, `daybook amendments accept` says so.',
    );
    this.entries = entries;
  }
}

/** `own`: a stored entry is among them. `other`: stored entries are missing, and all that came is new. */
type Sight = 'own' | 'other' | 'unknown';

export interface OwnLedger {
  readonly isKnown: () => boolean;
  /** From now on every reading counts as the merchant's own. */
  readonly setKnown: () => void;
  /** Whether anything is stored that a reading could show. Of several calls, only the first one asks. */
  readonly mayTell: () => Promise<boolean>;
  readonly examine: (compared: readonly Compared[]) => Promise<Sight>;
  /** Null if no reading lacked stored entries and showed new ones alone. */
  readonly problem: () => AnotherLedgerAnswered | null;
}

interface OwnLedgerOptions {
  readonly db: Kysely<DB>;
  readonly merchantNo: string;
  readonly planned: readonly Asked[];
}

export function createOwnLedger({ db, merchantNo, planned }: OwnLedgerOptions): OwnLedger {
  let isKnown = false;
  let mayTell: Promise<boolean> | null = null;
  const shown = new Map<string, LedgerEntry>();
  const lacking = new Set<string>();
  return {
    isKnown: () => isKnown,
    setKnown: () => {
      isKnown = true;
    },
    mayTell: () =>
      (mayTell ??= windowsHolding(db, merchantNo, planned).then((holding) => holding.length > 0)),
    examine: async (compared) => {
      const sight = await sightOf(db, merchantNo, compared);
      if (sight === 'other')
        for (const { unstored } of compared) for (const one of unstored.lacking) lacking.add(one);
      for (const { part } of compared)
        for (const entry of part.reading.entries) shown.set(entry.batchNo, entry);
      return sight;
    },
    problem: () =>
      lacking.size === 0
        ? null
        : new AnotherLedgerAnswered([...shown.values()].slice(0, SHOWN_COMPARED_MAX), {
            shown: shown.size,
            lacking: lacking.size,
          }),
  };
}

async function sightOf(db: Kysely<DB>, merchantNo: string, compared: readonly Compared[]): Promise<Sight> {
  const shown = compared.flatMap(({ part }) => part.reading.entries);
  const lacking = compared.flatMap(({ unstored }) => unstored.lacking);
  if (shown.length === 0) return 'unknown';
  if (compared.some(({ part, unstored }) => unstored.entries.length < part.reading.entries.length))
    return 'own';
  const some = shown.slice(0, SHOWN_COMPARED_MAX);
  const known = await entriesByNumber(db, merchantNo, [
    ...some.map(({ batchNo }) => batchNo),
    ...lacking.slice(0, LACKING_COMPARED_MAX),
  ]);
  if (some.some(({ batchNo }) => known.has(batchNo))) return 'own';
  // A ledger that was renumbered has the same entries.
  const contents = new Set([...known.values()].map(contentOf));
  if (shown.some((entry) => contents.has(contentOf(entry)))) return 'own';
  if (lacking.length < LACKING_MIN) return 'unknown';
  // Where nothing of the older days is shown at all, these are gone, and what is newer may well be the merchant's own.
  const newestMs = [...known.values()].reduce((newest, { bookedMs }) => Math.max(newest, bookedMs), 0);
  if (shown.every(({ bookedMs }) => bookedMs > newestMs)) return 'unknown';
  return (await acceptedAmong(db, merchantNo, lacking)) > 0 ? 'own' : 'other';
}

const contentOf = ({ currency, credit, debit, balance, bookedAt }: LedgerEntry): string =>
  JSON.stringify(
    [currency, credit, debit, balance, bookedAt].map((value) => (value === null ? null : plain(value))),
  );

/** Amounts may be spelt with or without zeros at their end. */
const plain = (value: string): string => (/^-?\d+\.\d*0+$/.test(value) ? value.replace(/\.?0+$/, '') : value);
