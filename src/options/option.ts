/** What an option adds to daybook. The core knows this type and the list in `all.ts`, and nothing else of any option. */
import type { Command } from 'commander';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Trace } from '../host/trace.ts';
import type { Chosen } from '../ledger/account-filter.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import type {
  BookFigures,
  Decided,
  Decision,
  ListedMatch,
  MatchRules,
  OpenEntry,
  OpenFilter,
  Proposed,
  ProposedAsked,
  UnmatchedCount,
} from '../ledger/own-books.ts';
import type { PublicKey, SigningKey } from '../ledger/signature.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import type { Observer } from '../run/active-run.ts';
import type { Alerts } from '../run/alerts.ts';
import type { App, PlatformApp } from '../run/app.ts';
import type { QueueGlance } from '../run/health.ts';
import type { StatementMail } from '../run/statement-mail.ts';
import type { DueJob } from '../run/schedule/due.ts';
import type { Job } from '../run/schedule/job.ts';
import type { AdoptOptions, AdoptReport } from '../statements/adopt.ts';
import type {
  Adjustment,
  CloseCheck,
  ClosedMonth,
  CloseFilter,
  ClosesOfMonth,
  MonthClose,
  Preparation,
  StoredClose,
} from '../statements/closes.ts';
import type { Frozen } from '../statements/changes-since.ts';
import type { Month } from '../statements/month.ts';
import type { OpenDay } from '../statements/open-days.ts';
import type { RepairedFile, RepairOptions } from '../statements/repair-files.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import type { ListenAddress } from '../settings/values/addresses.ts';
import type { MonthFormat, StatementFormat } from '../statements/formats/format.ts';
import type { AuditEvent } from '../store/audit.ts';
import type { Database, Db } from '../store/engine/database.ts';
import type { MetricsPage } from '../web/readiness.ts';
import type { LimitedServerDeps } from '../web/server.ts';

/** A command, as the list of commands shows it. Its code is loaded when it is asked for. */
export interface CommandEntry {
  /** As the list shows it: name, `[options]`, arguments. */
  readonly usage: string;
  readonly about: string;
  /** The command of the core behind which it stands in the list; left out: behind all of them. */
  readonly after?: string;
  /** Loads the function that adds options, subcommands and the action. */
  readonly load: () => Promise<(command: Command) => void>;
}

/** A link that opens the pages where no login is set up: it works once, and then there is a next one. */
export interface EntryLink {
  /** The path of the link that works now. */
  readonly path: () => string;
  /** `listener` gets the path of each next one. */
  readonly onNext: (listener: (path: string) => void) => void;
}

/** Pages that are ready to be served. */
export interface ShownPages {
  /** A server of their own. */
  readonly createServer: (deps: PagesServing) => FastifyInstance;
  /** Adds them to a server that has other routes. */
  readonly addTo: (server: FastifyInstance, deps: PagesServing) => void;
  /** Null where people log in. */
  readonly link: EntryLink | null;
}

export type PagesServing = Pick<LimitedServerDeps, 'onRefusal' | 'trustedProxies'>;

/** Settings with an address for the pages. */
export interface PagesSettings extends SettingsWithoutPlatform {
  readonly pagesListen: ListenAddress;
}

/** The pages for people, as `serve` and the demo show them. */
export interface PagesPart {
  /** Throws `AccessMissing` where others could reach them and no login is needed. */
  readonly shown: (settings: PagesSettings, app: App) => Promise<ShownPages>;
}

/** What a process does, counted. */
export interface ProcessMetrics {
  /** Receives the events of the process's work. */
  readonly observer: Omit<Observer, 'trace'>;
  /** The page of `/metrics`: this process, and how everything stands by what is stored. */
  readonly page: (source: StateSource) => MetricsPage;
}

export interface StateSource {
  readonly settings: SettingsWithoutPlatform;
  readonly db: Database['db'];
  readonly now: () => Date;
}

export interface Traces {
  readonly trace: Trace;
  /** Sends what is left, in bounded time. Never rejects. */
  readonly close: () => Promise<void>;
}

export interface TracesOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** Spans could not be sent. They are lost; the work goes on. */
  readonly onProblem: (problem: string) => void;
}

/** Metrics and traces of a process. */
export interface Observation {
  /** Whether the environment asks for traces. Throws `UsageError` for a way that daybook does not have. */
  readonly asksTraces: (env: TracesOptions['env']) => Promise<boolean>;
  readonly openTraces: (options: TracesOptions) => Promise<Traces>;
  readonly createMetrics: () => Promise<ProcessMetrics>;
}

/** Reads keys and signatures. */
export interface Signatures {
  /** Reads a secret key, given as its line or its complete file; else the problem, without any of its text. */
  readonly readSigningKey: (text: string) => SigningKey | string;
  readonly isSecretKey: (text: string) => boolean;
  /** Reads a public key, given as its line or its complete file; null if it is none. */
  readonly readPublicKey: (text: string) => PublicKey | null;
  /** Whether the text is a signature, of whatever key. */
  readonly isSignature: (text: string) => boolean;
  /** Adds the command that makes a pair of keys. */
  readonly addKeygen: (statements: Command) => void;
}

/** A month to be closed, and who asks for it. */
export interface CloseRequest {
  readonly merchantNo: string;
  readonly month: Month;
  /** Why it is closed though days are open; null where that refuses. */
  readonly despite: string | null;
  readonly auditEvent: AuditEvent;
  /** Left out: it is closed at once. */
  readonly step?: CloseStep;
  /** What a person saw before they asked for it (`seen` of a result): anything else refuses. */
  readonly seen?: string | null;
}

/**
 * `check` only says what is in the way. `prepare`, `approve` and `withdraw` are of a close by two persons. `reopen` needs
 * its reason as the note of the audit event.
 */
export type CloseStep = 'close' | 'check' | 'prepare' | 'approve' | 'withdraw' | 'reopen';

/** What is in the way of a step, apart from open days. */
export interface Obstacle extends Pick<OpenDay, 'why' | 'todo' | 'who'> {
  readonly cause:
    | 'store'
    | 'unmatched'
    | 'not-prepared'
    | 'prepared'
    | 'own-preparation'
    | 'changed'
    | 'not-seen'
    | 'not-closed';
}

/** What closing works with. */
export interface CloseOptions {
  readonly db: Database['db'];
  readonly objects: ObjectStore;
  readonly signingKey: SigningKey | null;
  readonly zone: string;
  readonly now: () => Date;
  /** Whether one person prepares a month and another one approves it. Left out: one person closes it. */
  readonly needsApproval?: boolean;
  /** Whether unmatched entries of own books keep the month from being closed. Left out: they do not. */
  readonly needsMatch?: boolean;
}

export type CloseResult =
  /** A new close. It names the one before, if there is one, and what changed since. */
  | { readonly kind: 'closed'; readonly close: StoredClose; readonly adjustments: readonly Adjustment[] }
  /** It was closed before, and no statement changed since. `openDays` are those that the close does not name. */
  | { readonly kind: 'already'; readonly close: StoredClose; readonly openDays: readonly OpenDay[] }
  /** Days are open, so it was not closed; `others` is what else is in the way. */
  | {
      readonly kind: 'open';
      readonly openDays: readonly OpenDay[];
      readonly others: readonly Obstacle[];
      readonly seen: string;
    }
  /** Nothing of it is published. */
  | { readonly kind: 'empty'; readonly openDays: readonly OpenDay[] }
  /** No day is open, or there is a reason, and something else is in the way. */
  | { readonly kind: 'refused'; readonly others: readonly Obstacle[]; readonly seen?: string }
  /** It was only checked, and nothing is in the way. */
  | { readonly kind: 'ready'; readonly seen: string }
  | { readonly kind: 'prepared'; readonly preparation: Preparation }
  /** `by` prepared it. */
  | { readonly kind: 'withdrawn'; readonly by: string }
  /** After the close of this number. */
  | { readonly kind: 'reopened'; readonly number: number };

/** Closed months, with what is published of them. */
export interface Closes {
  /** By merchant, month and number. */
  readonly list: (db: Db, filter: CloseFilter) => Promise<MonthClose[]>;
  /** The months that wait for approval, by merchant and month. */
  readonly preparations: (db: Db, filter: CloseFilter) => Promise<Preparation[]>;
  readonly ofMonth: (db: Db, merchantNo: string, month: string) => Promise<ClosesOfMonth>;
  /** What a close froze; null if there is no such close. */
  readonly frozen: (
    db: Db,
    merchantNo: string,
    month: string,
    number: number,
  ) => Promise<readonly Frozen[] | null>;
  /** Those of the months that are closed. Name merchants and a month: every statement of it is read. */
  readonly closedMonths: (db: Db, filter: CloseFilter) => Promise<ClosedMonth[]>;
  /** By merchant, the newest months last. Cheap however many statements there are. */
  readonly adjustmentsOfEach: (
    db: Db,
    merchants: readonly string[],
  ) => Promise<ReadonlyMap<string, readonly Adjustment[]>>;
  /** Closes a month, or does another step about it. Throws `StatementDamaged` where the store holds another file in place of one of its closes. */
  readonly close: (request: CloseRequest, options: CloseOptions) => Promise<CloseResult>;
  /** Writes again what the store lacks of the closes in [fromDay, toDay]. Throws what `repairFiles` throws. */
  readonly repair: (options: RepairOptions) => Promise<RepairedFile[]>;
  /** Takes over the closes under these keys that the database does not know. Throws what `adoptStore` throws. */
  readonly adopt: (
    keys: readonly string[],
    options: AdoptOptions,
  ) => Promise<Pick<AdoptReport, 'closes' | 'left'>>;
}

/** Who decides on entries of own books, and by which rules what is around them is matched again. */
export interface Deciding {
  readonly db: Db;
  readonly settings: {
    readonly books: MatchRules & { readonly approvalAbove: ReadonlyMap<string, string> };
    readonly access: Pick<SettingsWithoutPlatform['access'], 'roles'>;
    readonly currencies: SettingsWithoutPlatform['currencies'];
  };
  readonly now: Date;
  readonly zone: string;
  readonly by: string;
  readonly note: string | null;
}

/** Work on own books. What cannot be done throws an `ExpectedError` with a sentence for the person, and changes nothing. */
export interface BooksDesk {
  readonly open: (db: Db, today: BusinessDay, filter: OpenFilter) => Promise<OpenEntry[]>;
  readonly proposed: (db: Db, asked: ProposedAsked) => Promise<Proposed[]>;
  readonly matches: (db: Db, account: Account, limit: number) => Promise<ListedMatch[]>;
  readonly decide: (deciding: Deciding, decision: Decision) => Promise<Decided>;
  /** Imports the file of a book, as the mapping says, and matches it. Returns what to say of it. */
  readonly takeIn: (deciding: Deciding, file: BookFile) => Promise<string>;
}

/** A file with entries of a book. */
export interface BookFile {
  /** Whether the person may import books of the merchant that the mapping names. */
  readonly isAllowed: (merchantNo: string) => boolean;
  /** YAML. */
  readonly mapping: string;
  readonly name: string;
  readonly content: Uint8Array;
}

/** Merchants' own books, as others ask about them. */
export interface OwnBooks {
  /** Of each account with own books. `to`: of entries up to that day alone. */
  readonly counts: (db: Db, merchants: Chosen, to?: BusinessDay) => Promise<UnmatchedCount[]>;
  /** Of the account's days in [from, to] with entries on either side; the first includes all days before. */
  readonly figures: (db: Db, account: Account, from: BusinessDay, to: BusinessDay) => Promise<BookFigures[]>;
  /** Loads what people work with. */
  readonly desk: () => Promise<BooksDesk>;
}

/** The slots of jobs of the ledger, as workers do them. */
export interface QueuedSlots {
  /** Puts the slot on the queue, unless it is there or done: another schedule may have been faster. Returns at once. */
  readonly put: (due: DueJob, job: Job, signal: AbortSignal) => Promise<void>;
  /** Tells the runs that have ended since they were put on the queue. */
  readonly tellEnds: () => Promise<void>;
}

/** The queue by which workers share the merchants of a run, where DAYBOOK_WORKERS asks for it. */
export interface WorkQueue {
  /** Makes or updates its tables. Returns the names of what was made; none if nothing was missing. */
  readonly install: (db: Db) => Promise<readonly string[]>;
  /** What is on it; null if its tables are missing. */
  readonly glance: (db: Db) => Promise<QueueGlance | null>;
  /** Calls `work` with the slots while the queue is open. Throws `MigrationsPending` if its tables are missing. */
  readonly withSlots: (
    app: PlatformApp,
    log: Logger,
    work: (slots: QueuedSlots) => Promise<void>,
  ) => Promise<void>;
}

export interface Option {
  /** The name of its folder. */
  readonly name: string;
  /** What it is for, as the end of a sentence. */
  readonly about: string;
  /** Other options that it imports. Who takes one of these away takes this one away as well. */
  readonly needs?: readonly string[];
  /** Settings that are for it alone, by their names in the environment. The core's schema defines them all. */
  readonly settings?: readonly string[];
  /** Its tables. The migrations of all are in `sql`, in one order. */
  readonly tables?: readonly string[];
  /** Roles of the database that are for it: files in `sql/roles`. */
  readonly roles?: readonly string[];
  /** Where a person reads about it: pages in `docs`, with their headings. */
  readonly docs?: readonly string[];
  readonly commands?: readonly CommandEntry[];
  readonly jobs?: readonly Job[];
  readonly observation?: Observation;
  /** Formats of statements, in the order of their lists. What writes them is loaded with the first day. */
  readonly formats?: readonly StatementFormat[];
  /** Formats of a merchant's month as one file. */
  readonly monthFormats?: readonly MonthFormat[];
  /**
   * Opens the database without a server, in a folder below `dataDir`. Throws `EmbeddedDatabaseBusy`, `DatabaseFull` or
   * `DatabaseUnusable`.
   */
  readonly embeddedDatabase?: (dataDir: string) => Promise<Database>;
  /** Loads what sends alerts. */
  readonly alerts?: () => Promise<Alerts>;
  /** Loads what mails statements. */
  readonly statementMail?: () => Promise<StatementMail>;
  /** Loads the pages. */
  readonly pages?: () => Promise<PagesPart>;
  readonly signatures?: Signatures;
  /** Closing months, and what is stored of it. */
  readonly closes?: Closes;
  /** Begins to check files of closes. `verify.mjs` has it from `standalone.ts` in the option's folder. */
  readonly closeCheck?: () => Promise<CloseCheck>;
  readonly ownBooks?: OwnBooks;
  /** Workers, and what a night that they do needs. */
  readonly queue?: WorkQueue;
}
