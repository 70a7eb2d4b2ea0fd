/** What a form of lie is: a name, a sentence, how it is planted in a drawn ledger, and what ought to be said of it. */
import type { Random } from '../../src/sandbox/random.ts';
import type { Booking } from './books.ts';
import type { Lies } from './platform.ts';

export const FAMILIES = [
  'missing',
  'totals',
  'doubled',
  'moved in time',
  'amounts',
  'balances',
  'currency and type',
  'amended',
  'late and vanished',
  'merchants',
  'clocks and replicas',
  'zone',
  'filters and pages',
  'unreadable',
] as const;
export type Family = (typeof FAMILIES)[number];

export const OWN = 'M-OWN';
export const OTHER = 'M-OTHER';

/** What a form asks of the ledger it is planted in; what is not given is drawn. */
export interface Setting {
  /** Days read before the lie begins. */
  readonly honestDays?: number;
  readonly resweepDays?: number;
  readonly currencies?: number;
  readonly perDay?: readonly [number, number];
  readonly quietFrom?: number;
  readonly lateEvenings?: boolean;
  /** The account was in use before the first day that is read. */
  readonly lifeBefore?: boolean;
  /** The zone daybook is set to, and the platform's where that is another. */
  readonly zone?: string;
  readonly platformZone?: string;
  readonly firstDay?: string;
  /** Nights played after the lie's. */
  readonly nightsAfter?: number;
  /** Minutes after midnight that a night's run begins. */
  readonly nightMinutes?: number;
  /** The lie is told from the first reading on, not only once days were read honestly. */
  readonly fromTheFirstReading?: boolean;
  /** The other merchant's ledger is read in the same runs. */
  readonly bothMerchants?: boolean;
}

/** A drawn ledger, to plant a lie in. */
export interface Scene {
  readonly random: Random;
  readonly zone: string;
  readonly books: readonly Booking[];
  /** Another merchant's, over the same days and currencies. */
  readonly otherBooks: readonly Booking[];
  readonly currencies: readonly string[];
  /** Every day of the ledger's life; `target` is the one the lie's run reads for the first time, `old` lies before its re-sweep. */
  readonly days: readonly string[];
  readonly target: string;
  readonly old: string;
}

/** An account day a lie touches; a currency of null stands for all. */
export interface Place {
  readonly currency: string | null;
  readonly day: string;
}

/** A lie planted in one ledger. */
export interface Planted {
  readonly lies: Lies;
  /** Where it is: to be told there. `everywhere` where the whole ledger is concerned. */
  readonly where: readonly Place[] | 'everywhere';
  /** What ought to be said, in whatever words around. */
  readonly says: RegExp;
}

/** Whether the replies of sp2404 let anyone see the lie. */
export type AccountView =
  { readonly kind: 'visible' } | { readonly kind: 'nobody can tell'; readonly because: string };

export interface Form {
  readonly name: string;
  readonly family: Family;
  /** The lie, as a plain sentence. */
  readonly lie: string;
  readonly sight: AccountView;
  readonly setting: Setting;
  readonly plant: (scene: Scene) => Planted;
}

export const VISIBLE: AccountView = { kind: 'visible' };
export const nobodyCanTell = (because: string): AccountView => ({ kind: 'nobody can tell', because });
