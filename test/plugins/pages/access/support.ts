/** A small server behind access: a page of each merchant, a audit event, and what browsers do with cookies. */
import { createHash, scryptSync } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { LoginPages, LoginRefusal } from '../../../../src/plugins/pages/access/access.ts';
import { createAccess, type AccessDeps } from '../../../../src/plugins/pages/access/open.ts';
import { createFormats } from '../../../../src/plugins/pages/html/format.ts';
import { loginPage } from '../../../../src/plugins/pages/html/view.ts';
import { EN } from '../../../../src/plugins/pages/html/texts/en.ts';
import { PAGES, pagesSettings } from '../../../../src/plugins/pages/settings.ts';
import { placeOf } from '../../../../src/settings/setting.ts';
import { bareServer } from '../../../../src/web/server.ts';
import type { DB } from '../../../../src/store/engine/schema.ts';

export const PASSWORDS = { ada: 'correct horse battery', vera: 'another long password' } as const;
export const SECRET_KEYS = [{ id: 'k1', key: createHash('sha256').update('made up').digest() }];

/** Settings as a person gives them. Fails if they would be refused. */
export function accessSettings(given: Readonly<Record<string, unknown>>) {
  const read = Object.fromEntries(
    Object.entries(PAGES).map(([name, { schema }]) => [name, schema.parse(given[placeOf(name).key])]),
  );
  const problems = Object.entries(pagesSettings.rules(read)).filter(([, applies]) => applies);
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  return pagesSettings.value(read).access;
}

/** A hash like those of people, at a sixth of its cost. */
const cheapHash = (password: string, salt: Buffer): string =>
  [
    'scrypt',
    14,
    8,
    1,
    salt.toString('base64url'),
    scryptSync(password, salt, 32, { N: 2 ** 14, r: 8, p: 1, maxmem: 2 ** 26 }).toString('base64url'),
  ].join(':');

/** Ada is an operator of all, vera a viewer of M1. */
export const withPasswords = (given: Readonly<Record<string, unknown>> = {}) =>
  accessSettings({
    accessUsers: {
      ada: cheapHash(PASSWORDS.ada, Buffer.alloc(16, 1)),
      vera: cheapHash(PASSWORDS.vera, Buffer.alloc(16, 2)),
    },
    accessRoles: { ada: 'operator', vera: { role: 'viewer', merchants: ['M1'] } },
    ...given,
  });

let drawn = 0;
/** Other bytes each time, the same in each run of the tests. */
export const random = (bytes: number): Buffer =>
  Buffer.alloc(
    bytes,
    createHash('sha512')
      .update(String((drawn += 1)))
      .digest(),
  );

/** The page to log in as people see it. */
export const loginPages = (refusals: LoginRefusal[] = []): LoginPages => ({
  loginPage: (content, { url }) =>
    loginPage(
      {
        ...{ texts: EN, format: createFormats('Asia/Shanghai')('en', false), zone: 'Asia/Shanghai' },
        ...{ person: null, address: url, isExact: false, stylesheet: '', icon: '', copyScript: '' },
        ...{ canLogOut: false, formToken: '', names: new Map() },
      },
      content,
    ),
  onRefusal: (refusal) => refusals.push(refusal),
});

export interface Guarded {
  readonly url: string;
  readonly auditEvents: readonly string[];
  readonly refusals: readonly LoginRefusal[];
  readonly close: () => Promise<void>;
}

export async function guarded(
  db: Kysely<DB>,
  settings: AccessDeps['settings'],
  change: Partial<AccessDeps> = {},
  port = 0,
): Promise<Guarded> {
  const refusals: LoginRefusal[] = [];
  const auditEvents: string[] = [];
  const access = createAccess({
    ...{ settings, db, random, secretKeys: SECRET_KEYS, isSecure: false, now: () => new Date() },
    ...change,
  });
  const server = bareServer({ onRefusal: () => undefined });
  await server.register(async (inner) => {
    await access.register(inner, loginPages(refusals));
    inner.get('/', (request, reply) => {
      const { name, role } = access.personOf(request);
      return { name, role, formToken: access.formToken(request, reply) };
    });
    inner.get<{ Params: { merchant: string } }>('/m/:merchant', (request, reply) => {
      const { merchants } = access.personOf(request);
      const { merchant } = request.params;
      return merchants !== null && !merchants.includes(merchant)
        ? reply.code(404).send('nothing here')
        : `page of ${merchant}`;
    });
    inner.post('/resolve', (request, reply) => {
      const { name, role } = access.personOf(request);
      if (role !== 'operator') return reply.code(403).send('viewers look');
      auditEvents.push(name);
      return 'done';
    });
    inner.get('/*', (_request, reply) => reply.code(404).send('nothing here'));
  });
  const url = await server.listen({ host: '127.0.0.1', port });
  return { url, auditEvents, refusals, close: () => server.close() };
}

/** Keeps cookies as a browser does, and follows no redirect by itself. */
export class Browser {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly cookies = new Map<string, string>();
  /** Every `Set-Cookie` that came. */
  readonly set: string[] = [];

  /** `headers` go with each request. */
  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    this.#url = url;
    this.#headers = headers;
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.#kept(
      await fetch(new URL(path, this.#url), { headers: this.#with(headers), redirect: 'manual' }),
    );
  }

  async post(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const body = new URLSearchParams(fields);
    const init = { method: 'POST', body, headers: this.#with(headers), redirect: 'manual' } as const;
    return this.#kept(await fetch(new URL(path, this.#url), init));
  }

  /** Opens the page to log in, and sends its form. */
  async login(name: string, password: string, to = '/'): Promise<Response> {
    const page = await (await this.get(`/login?to=${encodeURIComponent(to)}`)).text();
    const formToken = /name="form_token" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const hidden = /name="to" value="([^"]*)"/.exec(page)?.[1] ?? '';
    return this.post('/login', { form_token: formToken, to: hidden, name, password });
  }

  async formToken(): Promise<string> {
    return ((await (await this.get('/')).json()) as { formToken: string }).formToken;
  }

  #with(headers: Record<string, string>): Record<string, string> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return { ...(cookie !== '' && { cookie }), ...this.#headers, ...headers };
  }

  #kept(response: Response): Response {
    for (const line of response.headers.getSetCookie()) {
      this.set.push(line);
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }
}
