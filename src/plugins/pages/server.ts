/** The server of the pages for people: headers that let nothing foreign in, access before everything, the pages, and plain words where there is none. */
import formbody from '@fastify/formbody';
import helmet from '@fastify/helmet';
import { normalizeIP } from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { loginPage, messagePage } from './html/view.ts';
import {
  addAssets,
  createPagesContext,
  viewOf,
  type PagesDeps,
  PageRefusal,
  sendPage,
  type PagesContext,
  addPage,
  type DoForm,
  type MakePage,
} from './routes/context.ts';
import { addFileForms, addForm } from './routes/forms.ts';
import { doBook, doImport, showBook, showBooks } from './routes/books.ts';
import { doStep, showBreaks, showCase } from './routes/breaks.ts';
import { showChanges } from './routes/changes.ts';
import { showDay } from './routes/day.ts';
import { addDownloads } from './routes/downloads.ts';
import { findEntry, showEntry } from './routes/entry.ts';
import { doClose, showMonth } from './routes/month.ts';
import { showHome } from './routes/home.ts';
import { doNames, showNames } from './routes/names.ts';
import { doCancel, doRepeat, showWork, showWorks } from './routes/work.ts';
import { doAcknowledge, showOneUnreadable, showUnreadable } from './routes/unreadable.ts';
import { showStatus } from './routes/status.ts';
import { bareServer, limitedServer, type LimitedServerDeps, type WebEvent } from '../../web/server.ts';
import { AccessRefused, type RefusalWhy } from './access/access.ts';
import type { Texts } from './html/texts/en.ts';
import { FormatTooSmall } from '../../statements/formats/format.ts';
import { DatabaseRefused, reasonOf } from '../../store/engine/errors.ts';

/** A batch number may be long; longer ones are found by the form. */
const PATH_PART_CHARACTERS_MAX = 500;

export type PagesServerDeps = PagesDeps & Pick<LimitedServerDeps, 'onRefusal' | 'trustedProxies'>;

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
    addFileForms(pages);
    pages.setErrorHandler(answerError(context, deps.onRefusal));
    addAssets(pages, context.assets);
    await pages.register(async (inner) => {
      await deps.access.register(inner, {
        loginPage: (content, request) => loginPage(viewOf(context, request), content),
        onRefusal: ({ way, status, reason }) =>
          deps.onRefusal({ route: '/login', status, reason: `${way}: ${reason}` }),
      });
      inner.addHook('onRequest', (request, _reply, done) => {
        const waitS = context.pace(whoAsks(context, request));
        done(waitS === 0 ? undefined : new PageRefusal(429, 'pace', waitS));
      });
      for (const [path, make] of Object.entries(PAGES)) addPage(inner, context, path, make, headersOf(path));
      for (const [path, submit] of Object.entries(FORMS))
        addForm(inner, context, path, submit, {
          ...headersOf(path),
          takesFile: submit === doImport,
        });
      addDownloads(inner, context);
      // Without access the refusal comes first, so that it reveals no addresses.
      const nothing = () => Promise.reject(new PageRefusal(404));
      if (isAlone) inner.all('/*', nothing);
      else inner.get('/*', nothing);
    });
  });
}

const PAGES: Readonly<Record<string, MakePage>> = {
  '/': showHome,
  '/m/:merchant/:month': showMonth,
  '/m/:merchant/:currency/:day': showDay,
  '/breaks': showBreaks,
  '/breaks/:id': showCase,
  '/entry': findEntry,
  '/entry/:merchant/:number': showEntry,
  '/changes': showChanges,
  '/unreadable': showUnreadable,
  '/unreadable/:id': showOneUnreadable,
  '/names/:merchant': showNames,
  '/work': showWorks,
  '/work/:id': showWork,
  '/status': showStatus,
  '/books': showBooks,
  '/books/:merchant/:currency': showBook,
};

const FORMS: Readonly<Record<string, DoForm>> = {
  '/m/:merchant/:month': doClose,
  '/breaks/:id': doStep,
  '/unreadable/:id': doAcknowledge,
  '/names/:merchant': doNames,
  '/work': doRepeat,
  '/work/:id': doCancel,
  '/books': doImport,
  '/books/:merchant/:currency': doBook,
};

/** Nothing but our own style sheet and images; no script at all, no frame, and forms only to ourselves. */
const ALLOWED = {
  defaultSrc: ["'none'"],
  styleSrc: ["'self'"],
  imgSrc: ["'self'"],
  formAction: ["'self'"],
  baseUri: ["'none'"],
  frameAncestors: ["'none'"],
};

/** The page of a break has our own script that copies its message; no other page has any. */
const headersOf = (path: string) =>
  path === '/breaks/:id'
    ? {
        helmet: {
          contentSecurityPolicy: { useDefaults: false, directives: { ...ALLOWED, scriptSrc: ["'self'"] } },
        },
      }
    : {};

const HEADERS = {
  contentSecurityPolicy: { useDefaults: false, directives: ALLOWED },
  // TLS ends at a proxy, which says this for all that it serves.
  strictTransportSecurity: false,
  referrerPolicy: { policy: 'same-origin' },
} as const;

/** Answers every error. Failures are reported to `onRefusal`, by name and without contents of the request. */
const answerError =
  (context: PagesContext, onRefusal: (event: WebEvent) => void) =>
  (
    error: { readonly statusCode?: number; readonly code?: string; readonly name: string },
    request: FastifyRequest,
    reply: FastifyReply,
  ): FastifyReply => {
    const status = error instanceof FormatTooSmall ? 422 : (error.statusCode ?? 503);
    // What access says is of our own words; other messages may hold what the request held.
    const reason = error instanceof AccessRefused ? error.message : (error.code ?? error.name);
    onRefusal({ route: request.routeOptions.url ?? '-', status, reason });
    if (error instanceof PageRefusal && error.retryAfterS !== null)
      void reply.header('retry-after', String(error.retryAfterS));
    const [title, text] = wordsOf(status, error, viewOf(context, request).texts);
    const person = error instanceof AccessRefused ? null : personIn(context, request);
    const formToken = person === null ? '' : context.access.formToken(request, reply);
    const view = { ...viewOf(context, request), person, formToken };
    return sendPage(reply.code(status), messagePage(view, title, text));
  };

/** The person, for the frame of the page; null where it is not known who asks. */
function personIn({ access }: PagesContext, request: FastifyRequest) {
  try {
    return access.personOf(request);
  } catch {
    return null;
  }
}

/** Whose requests are counted together: a person's, or of those who are not logged in an address's, of IPv6 a /64's. */
function whoAsks(context: PagesContext, request: FastifyRequest): string {
  const person = personIn(context, request);
  return person === null ? `address ${normalizeIP(request.sender, 64)}` : `person ${person.name}`;
}

function wordsOf(status: number, error: unknown, { error: texts }: Texts): readonly [string, string] {
  if (error instanceof PageRefusal) {
    if (error.why === 'viewer') return [texts.refused, texts.viewerText];
    if (error.why !== null) return [texts[error.why], texts[`${error.why}Text`]];
  }
  if (error instanceof FormatTooSmall) return [texts.tooSmall, error.message];
  if (status === 404) return [texts.notFound, texts.notFoundText];
  if (error instanceof AccessRefused) return [texts.refused, refusedText(error.why, texts)];
  if (status === 429) return [texts.later, texts.access.tooMany];
  if (status === 401 || status === 403) return [texts.refused, texts.refusedText];
  if (error instanceof DatabaseRefused)
    return [texts.notPermitted, texts.notPermittedText(reasonOf(error.cause))];
  return status < 500 ? [texts.wrong, texts.wrongText] : [texts.later, texts.laterText];
}

const refusedText = (why: RefusalWhy, { access, refusedText: plain }: Texts['error']): string =>
  why === 'notLoggedIn' || why === 'noToken' ? plain : access[why];
