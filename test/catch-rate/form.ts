/**
 * The types of a form of lie: its name, a sentence, how to plant it in a drawn ledger, and what daybook should say of
 * it.
 */
import type { Random } from '../../src/plugins/sandbox/ledger.ts';
import type { Booking } from './books.ts';
import type { Lies, Order } from './platform.ts';

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
  'refusals',
  'gone all at the same time',
  'windows and caps',
  'night to night',
  'one change over many',
  'notices',
  'causes of a break',
  'in mid-run',
  'pages and filters that contradict',
  'combined',
] as const;
export type Family = (typeof FAMILIES)[number];

export const OWN = 'M-OWN';
export const OTHER = 'M-OTHER';

/** What a form needs of its ledger. Whatever is not given is drawn at random. */
export interface Setting {
  /** How many days are read honestly before the lie begins. */
  readonly honestDays?: number;
  readonly resweepDays?: number;
  readonly currencies?: number;
  readonly perDay?: readonly [number, number];
  readonly quietFrom?: number;
  readonly lateEvenings?: boolean;
  /** The account had entries before the first day that is read. */
  readonly lifeBefore?: boolean;
  /** The zone daybook is set to. `platformZone` is the platform's, if it differs. */
  readonly zone?: string;
  readonly platformZone?: string;
  readonly firstDay?: string;
  /** How many nights are played after the lie's night. */
  readonly nightsAfter?: number;
  /** How many minutes after midnight a nightly run begins. */
  readonly nightMinutes?: number;
  /** The platform lies from the first reading on, instead of after the honest days. */
  readonly fromTheFirstReading?: boolean;
  /** The order of the entries in a page. */
  readonly order?: Order;
  /** The second account begins on the day that the lie's run reads first. */
  readonly newCurrency?: boolean;
  /** The other merchant's ledger is read in the same runs. */
  readonly bothMerchants?: boolean;
}

/** A drawn ledger, to plant a lie in. */
export interface Scene {
  readonly random: Random;
  readonly zone: string;
  readonly books: readonly Booking[];
  /** The books of another merchant, with the same days and currencies. */
  readonly otherBooks: readonly Booking[];
  readonly currencies: readonly string[];
  /**
   * All days of the ledger. The lie's run reads `target` for the first time. `old` is before the days that it reads
   * again.
   */
  readonly days: readonly string[];
  readonly target: string;
  readonly old: string;
}

/** An account day that a lie concerns. Currency null means all of the merchant's accounts. */
export interface Place {
  readonly currency: string | null;
  readonly day: string;
}

/** A lie planted in one ledger. */
export interface Planted {
  readonly lies: Lies;
  /** Where daybook should report it. `everywhere` if the lie concerns the entire ledger. */
  readonly where: readonly Place[] | 'everywhere';
  /** What a report of it must contain. */
  readonly says: RegExp;
  /** What its first sentence must name; if left out, `says`. */
  readonly first?: RegExp;
}

/** Whether a client of sp2404 can see the lie at all. */
export type AccountView =
  { readonly kind: 'visible' } | { readonly kind: 'nobody can tell'; readonly because: string };

export interface Form {
  readonly name: string;
  readonly family: Family;
  /** The lie in a plain sentence. */
  readonly lie: string;
  readonly sight: AccountView;
  readonly setting: Setting;
  /** A run must report it even if all that is stored and published stays true, because a check has stopped working. */
  readonly mustBeReported: boolean;
  /** However often it is repeated, no published statement may follow it. All its runs are played. */
  readonly neverBelieved: boolean;
  readonly plant: (scene: Scene) => Planted;
}

export const VISIBLE: AccountView = { kind: 'visible' };
export const nobodyCanTell = (because: string): AccountView => ({ kind: 'nobody can tell', because });
