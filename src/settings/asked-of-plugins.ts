/** What the core, and plugins that do not need each other, ask of the settings of plugins; and what holds where a plugin is missing. */
import type { MatchRules } from '../ledger/own-books.ts';
import type { Grant, LoginWays } from '../ledger/people.ts';
import type { ListenAddress } from './values/addresses.ts';

export interface AskedOfPlugins {
  /** Who does what is due: the process of the schedule, or workers. */
  readonly workers: 'none' | 'queue';
  /** Formats that statements are published in; CSV always is. */
  readonly statementFormats: readonly string[];
  /** Where alerts are sent. */
  readonly alerts: {
    readonly webhooks: readonly object[];
    readonly mail: object | null;
    readonly pingUrl: string | null;
  };
  /** Who gets statements by mail; null if no statement is mailed. */
  readonly statementMail: { readonly recipients: readonly object[] } | null;
  /** The address `serve` shows pages at. Null if it shows none. */
  readonly pagesListen: ListenAddress | null;
  /** How people log in, and their roles: by name, by `group:NAME`, and `*` for everybody who logged in. */
  readonly access: LoginWays & { readonly roles: ReadonlyMap<string, Grant> };
  /** How own books are matched. */
  readonly books: MatchRules & {
    /** By currency: above this amount, another person approves what a person decides. */
    readonly approvalAbove: ReadonlyMap<string, string>;
    /** Whether a month with unmatched entries is kept from being closed. */
    readonly closeNeedsMatch: boolean;
    /** An entry that is unmatched for more days raises an alert. */
    readonly alertDays?: number | undefined;
  };
}

export const WITHOUT_PLUGINS: AskedOfPlugins = {
  workers: 'none',
  statementFormats: [],
  alerts: { webhooks: [], mail: null, pingUrl: null },
  statementMail: null,
  pagesListen: null,
  access: { roles: new Map() },
  books: {
    ...{ rules: [], days: 0, sumEntriesMax: 0, tolerances: new Map(), approvalAbove: new Map() },
    closeNeedsMatch: false,
  },
};
