/** Says in plain words on a page why there is none. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AccessRefused, type RefusalWhy } from '../../access/access.ts';
import { messagePage } from '../../pages/view.ts';
import type { Texts } from '../../pages/texts/en.ts';
import { FormatTooSmall } from '../../statements/formats/format.ts';
import type { WebEvent } from '../server.ts';
import { DatabaseRefused, reasonOf } from '../../store/engine/errors.ts';
import { PageRefusal } from './page-refusal.ts';
import { sendPage, viewOf, type PagesContext } from './context.ts';

/** Answers every error. Failures are reported to `onRefusal`, by name and without contents of the request. */
export const answerError =
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

function wordsOf(status: number, error: unknown, { error: texts }: Texts): readonly [string, string] {
  if (error instanceof PageRefusal && error.why === 'viewer') return [texts.refused, texts.viewerText];
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
