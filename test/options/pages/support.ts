/** Pages over a stage of tests: a real server, asked as a browser asks. */
import { createLoopbackAccess } from '../../../src/options/pages/access/open.ts';
import type { Access } from '../../../src/options/pages/access/access.ts';
import { jobs } from '../../../jobs/all.ts';
import type { WebEvent } from '../../../src/web/server.ts';
import { createPagesServer } from '../../../src/options/pages/server.ts';
import type { Stage } from '../../support/stage.ts';

export const FORM_TOKEN = 'made-up-form-token';

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
  readonly close: () => Promise<void>;
}

export async function showPages(
  { app }: Stage,
  {
    access = createLoopbackAccess(FORM_TOKEN),
    canLogOut = false,
    port = 0,
  }: { readonly access?: Access; readonly canLogOut?: boolean; readonly port?: number } = {},
): Promise<ShownPages> {
  const events: WebEvent[] = [];
  const server = createPagesServer({
    access,
    canLogOut,
    db: app.database.db,
    objects: app.objects,
    settings: app.settings,
    zone: app.settings.platform.timeZone,
    jobs,
    now: app.now,
    onRefusal: (event) => events.push(event),
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
    close: () => server.close(),
  };
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
