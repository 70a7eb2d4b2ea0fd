/** The server of the pages for people: headers that let nothing foreign in, access before everything, and the pages. */
import formbody from '@fastify/formbody';
import helmet from '@fastify/helmet';
import type { FastifyInstance } from 'fastify';
import { loginPage } from '../pages/view.ts';
import { addAssets } from './pages/assets.ts';
import { createPagesContext, viewOf, type PagesDeps } from './pages/context.ts';
import { addBreaks } from './pages/breaks.ts';
import { addChanges } from './pages/changes.ts';
import { addDay } from './pages/day.ts';
import { addDownloads } from './pages/downloads.ts';
import { addEntry } from './pages/entry.ts';
import { addMonth } from './pages/month.ts';
import { addMonths } from './pages/months.ts';
import { PageRefusal } from './pages/page-refusal.ts';
import { answerError } from './pages/refusals.ts';
import { addStatus } from './pages/status.ts';
import { bareServer, limitedServer, type WebDeps } from './server.ts';

/** A batch number may be long; longer ones are found by the form. */
const PATH_PART_CHARACTERS_MAX = 500;

export type PagesServerDeps = PagesDeps & Pick<WebDeps, 'onRefusal' | 'trustedProxies'>;

/** A server for the pages alone. */
export function createPagesServer(deps: PagesServerDeps): FastifyInstance {
  const server = limitedServer(
    bareServer({ ...deps, maxParamLength: PATH_PART_CHARACTERS_MAX, rewriteUrl: readablePath }),
    deps,
  );
  addPages(server, deps, { isAlone: true });
  return server;
}

const NO_PAGE = '/no-page';

/** A path that cannot be read, or one with a host before it, is answered as any other at which there is nothing. */
function readablePath({ url = '' }: { readonly url?: string | undefined }): string {
  if (!url.startsWith('/')) return NO_PAGE;
  const [path = ''] = url.split('?', 1);
  try {
    const parts = path.split('/').map(decodeURIComponent);
    return parts.some((part) => part.length > PATH_PART_CHARACTERS_MAX) ? NO_PAGE : url;
  } catch {
    return NO_PAGE;
  }
}

/**
 * Adds the pages to a server. What they add of headers, access and answers is for their own routes alone. `isAlone`: there
 * are no others, so every request is answered by a page.
 */
export function addPages(server: FastifyInstance, deps: PagesServerDeps, { isAlone = false } = {}): void {
  const context = createPagesContext(deps);
  void server.register(async (pages) => {
    await pages.register(helmet, HEADERS);
    await pages.register(formbody);
    pages.setErrorHandler(answerError(context, deps.onRefusal));
    addAssets(pages, context.assets);
    await pages.register(async (inner) => {
      await deps.access.register(inner, {
        loginPage: (content, request) => loginPage(viewOf(context, request), content),
        onRefusal: ({ way, status, reason }) =>
          deps.onRefusal({ route: '/login', status, reason: `${way}: ${reason}` }),
      });
      for (const add of PAGES) add(inner, context);
      // Without access the refusal comes first, so that it reveals no addresses.
      const nothing = () => Promise.reject(new PageRefusal(404));
      if (isAlone) inner.all('/*', nothing);
      else inner.get('/*', nothing);
    });
  });
}

const PAGES = [addMonths, addMonth, addDay, addDownloads, addBreaks, addEntry, addChanges, addStatus];

/** Nothing but our own style sheet and images; no script at all, no frame, and forms only to ourselves. */
const HEADERS = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'"],
      formAction: ["'self'"],
      baseUri: ["'none'"],
      frameAncestors: ["'none'"],
    },
  },
  // TLS ends at a proxy, which says this for all that it serves.
  strictTransportSecurity: false,
  referrerPolicy: { policy: 'same-origin' },
} as const;
