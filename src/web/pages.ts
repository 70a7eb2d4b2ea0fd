/** The pages for people, as those who serve them know them. A plugin has them. */
import type { FastifyInstance } from 'fastify';
import { slot } from '../host/slot.ts';
import type { App } from '../run/app.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import type { ListenAddress } from '../settings/values/addresses.ts';
import type { LimitedServerDeps } from './server.ts';

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

/** Loads the pages. */
export const pagesSlot = slot<() => Promise<PagesPart>>('pages');
