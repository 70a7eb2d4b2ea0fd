/** Pages over a stage of tests: a real server, asked as a browser asks. */
import { promisify } from 'node:util';
import { type Access, AccessRefused, type Person } from '../../../src/plugins/pages/access/access.ts';
import { hasFormToken, isOfOtherSite } from '../../../src/plugins/pages/access/sessions.ts';
import { jobs } from '../../../jobs/all.ts';
import type { WebEvent } from '../../../src/web/server.ts';
import { createPagesServer } from '../../../src/plugins/pages/server.ts';
import type { Timing } from '../../../src/plugins/pages/turns.ts';
import type { Stage } from '../../support/stage.ts';

export const FORM_TOKEN = 'made-up-form-token';

/** Everybody is the operator of all, for tests of what pages show and do. Forms need the token. */
export const everybody = (token = FORM_TOKEN): Access => ({
  register: (server) => {
    server.addHook('preHandler', (request, _reply, done) => {
      const isOwn =
        ['GET', 'HEAD'].includes(request.method) || (!isOfOtherSite(request) && hasFormToken(request, token));
      done(isOwn ? undefined : new AccessRefused('noToken'));
    });
    return Promise.resolve();
  },
  personOf: () => ({ name: 'local', role: 'operator', merchants: null }),
  formToken: () => token,
});

export interface ShownPages {
  readonly url: string;
  readonly events: readonly WebEvent[];
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Response>;
  /** The page's HTML. Fails unless there is one. */
  readonly html: (path: string, headers?: Record<string, string>) => Promise<string>;
  readonly post: (
    path: string,
    fields: Record<string, string>,
    headers?: Record<string, string>,
  ) => Promise<Response>;
  /** How many connections are open. */
  readonly connections: () => Promise<number>;
  readonly close: () => Promise<void>;
}

/** A clock and timers that stand still until the test lets time pass. */
export function handTime(): Timing & { readonly pass: (ms: number) => void } {
  let nowMs = 0;
  const timers = new Set<{ readonly atMs: number; readonly act: () => void }>();
  return {
    clock: () => nowMs,
    later: (ms, act) => {
      const timer = { atMs: nowMs + ms, act };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    pass: (ms) => {
      nowMs += ms;
      for (const timer of [...timers].filter(({ atMs }) => atMs <= nowMs)) {
        timers.delete(timer);
        timer.act();
      }
    },
  };
}

/** Access of whom this says, without a login. Forms need no token. */
export const accessOf = (personOf: Access['personOf']): Access => ({
  register: () => Promise.resolve(),
  personOf,
  formToken: () => FORM_TOKEN,
});

/** Access of whom a header names, `x-person`: Vera is a viewer, others are operators, of all merchants unless `more` says otherwise. */
export const namedAccess = (more: (name: string) => Partial<Person> = () => ({})): Access =>
  accessOf(({ headers }) => {
    const name = String(headers['x-person']);
    return { name, role: name === 'Vera' ? 'viewer' : 'operator', merchants: null, ...more(name) };
  });

export async function showPages(
  { app }: Pick<Stage, 'app'>,
  {
    access = everybody(),
    canLogOut = false,
    port = 0,
    timing,
  }: {
    readonly access?: Access;
    readonly canLogOut?: boolean;
    readonly port?: number;
    readonly timing?: Timing;
  } = {},
): Promise<ShownPages> {
  const events: WebEvent[] = [];
  const server = createPagesServer({
    access,
    canLogOut,
    link: null,
    db: app.database.db,
    objects: app.objects,
    settings: app.settings,
    zone: app.settings.platform.timeZone,
    jobs,
    now: app.now,
    onRefusal: (event) => events.push(event),
    ...(timing && { timing }),
  });
  const url = await server.listen({ host: '127.0.0.1', port });
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(url + path, { headers, redirect: 'manual' });
  return {
    url,
    events,
    get,
    html: async (path, headers) => {
      const response = await get(path, headers);
      const text = await response.text();
      if (response.status !== 200)
        throw new Error(`${path}: ${response.status} ${text} ${JSON.stringify(events)}`);
      return text;
    },
    post: (path, fields, headers = {}) =>
      fetch(url + path, { method: 'POST', body: new URLSearchParams(fields), headers, redirect: 'manual' }),
    connections: () => promisify(server.server.getConnections.bind(server.server))(),
    close: () => server.close(),
  };
}

/** The status and the words of an answer. */
export const saidOf = async (response: Response): Promise<string> =>
  `${response.status} ${textOf(await response.text())}`;

/** Sends a file of own books as the form does. */
export function sendBook(
  { url }: ShownPages,
  { content, mapping, name = 'march.csv' }: Readonly<{ content: string; mapping: string; name?: string }>,
  person: string,
): Promise<Response> {
  const body = new FormData();
  body.set('form_token', FORM_TOKEN);
  body.set('mapping', mapping);
  body.set('file', new File([content], name));
  return fetch(`${url}/books`, { method: 'POST', body, headers: { 'x-person': person } });
}

/** The words of a page, without its markup. */
export const textOf = (html: string): string =>
  html
    .replace(/<head>.*?<\/head>/s, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&#39;/g, "'")
    .replace(/&quot;/g, '"')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')
    .trim();
