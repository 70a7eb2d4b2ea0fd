/** A provider, or somebody between it and daybook, that sends forged, foreign, old or endless answers: nobody comes in by them. */
import { createHmac, generateKeyPairSync, sign as signWith, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../../src/store/engine/database.ts';
import { freshDatabase } from '../../../support/database.ts';
import { accessSettings, Browser, guarded, type Guarded } from './support.ts';

const CLIENT = { id: 'daybook', secret: 'made-up-secret-of-the-client' };
const own = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const foreign = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const elliptic = generateKeyPairSync('ec', { namedCurve: 'P-256' });

const jwkOf = ({ publicKey }: { publicKey: KeyObject }, kid: string) => ({
  ...publicKey.export({ format: 'jwk' }),
  kid,
});
const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

type Sign = (input: string) => Buffer;
const byRsa =
  ({ privateKey }: { privateKey: KeyObject }): Sign =>
  (input) =>
    signWith('sha256', Buffer.from(input), privateKey);
const byEs256: Sign = (input) =>
  signWith('sha256', Buffer.from(input), { key: elliptic.privateKey, dsaEncoding: 'ieee-p1363' });
const byHmac =
  (secret: string): Sign =>
  (input) =>
    createHmac('sha256', secret).update(input).digest();

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
const json =
  (value: unknown): Answer =>
  (_request, response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));

let database: Database;
let provider: Server;
let issuer: string;
let pages: Guarded;
/** What each path answers, and how much was sent in the endless ones. */
let answers: Record<string, Answer>;
/** What the token that is given out says, changed from what is right. */
let token: { header: object; claims: Record<string, unknown>; sign: Sign };
let nonce = '';

beforeAll(async () => {
  database = await freshDatabase();
  provider = createServer((request, response) => {
    const answer = answers[new URL(request.url!, issuer).pathname];
    if (answer === undefined) response.writeHead(404).end();
    else answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
});
afterAll(async () => {
  provider.closeAllConnections();
  provider.close();
  await database.close();
});

const SECONDS = () => Math.floor(Date.now() / 1_000);
beforeEach(() => {
  token = { header: { alg: 'RS256', kid: 'own' }, claims: {}, sign: byRsa(own) };
  answers = {
    '/.well-known/openid-configuration': json({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
      id_token_signing_alg_values_supported: ['RS256', 'ES256', 'HS256', 'none'],
    }),
    '/keys': json({ keys: [jwkOf(own, 'own'), jwkOf(elliptic, 'elliptic')] }),
    '/userinfo': json({ sub: 'ada', email: 'ada@company.example', email_verified: true, groups: [] }),
    '/token': (request, response) => {
      const claims = {
        ...{ iss: issuer, aud: CLIENT.id, sub: 'ada', nonce, iat: SECONDS(), exp: SECONDS() + 60 },
        ...{ email: 'ada@company.example', email_verified: true, groups: [] },
        ...token.claims,
      };
      const input = `${encoded(token.header)}.${encoded(claims)}`;
      const idToken = `${input}.${token.sign(input).toString('base64url')}`;
      json({ access_token: 'made-up', token_type: 'Bearer', id_token: idToken })(request, response);
    },
  };
});

/** A login from its beginning to what daybook says of it, at pages that have not asked this provider before. */
async function loggedIn(): Promise<number> {
  pages = await guarded(
    database.db,
    accessSettings({
      oidcIssuer: issuer,
      oidcClientId: CLIENT.id,
      oidcClientSecret: CLIENT.secret,
      pagesUrl: 'http://127.0.0.1:1',
      accessRoles: { 'ada@company.example': 'operator' },
    }),
  );
  try {
    const browser = new Browser(pages.url);
    const begun = await browser.get('/login/oidc');
    if (begun.status !== 303) return begun.status;
    const sent = new URL(begun.headers.get('location')!).searchParams;
    nonce = sent.get('nonce')!;
    const back = await browser.get(`/login/oidc/back?code=c&state=${sent.get('state')!}`);
    expect(browser.cookies.has('daybook_session')).toBe(back.status === 303);
    return back.status;
  } finally {
    await pages.close();
  }
}

it.each<[string, () => void]>([
  ['RS256', () => undefined],
  ['ES256', () => (token = { ...token, header: { alg: 'ES256', kid: 'elliptic' }, sign: byEs256 })],
  [
    'for several, with daybook as the one it was given to',
    () => (token.claims = { aud: ['daybook', 'x'], azp: 'daybook' }),
  ],
])('a token that is right counts: %s', async (_name, change) => {
  change();
  expect(await loggedIn()).toBe(303);
});

describe('a token counts for nothing', () => {
  it.each<[string, () => void]>([
    ['signed by another key under the name of the provider’s', () => (token.sign = byRsa(foreign))],
    [
      'signed by a key that the provider does not publish',
      () => (token = { ...token, header: { alg: 'RS256', kid: 'foreign' }, sign: byRsa(foreign) }),
    ],
    [
      'with a key of its own in it',
      () => (token = { ...token, header: { alg: 'RS256', jwk: jwkOf(foreign, 'x') }, sign: byRsa(foreign) }),
    ],
    ['with text in place of a signature', () => (token.sign = () => Buffer.from('signed'))],
    [
      'not signed, as “none”',
      () => (token = { ...token, header: { alg: 'none' }, sign: () => Buffer.alloc(0) }),
    ],
    [
      'not signed, as “NONE”',
      () => (token = { ...token, header: { alg: 'NONE' }, sign: () => Buffer.alloc(0) }),
    ],
    [
      'signed with the public key as a secret',
      () =>
        (token = {
          ...token,
          header: { alg: 'HS256', kid: 'own' },
          sign: byHmac(own.publicKey.export({ type: 'spki', format: 'pem' }).toString()),
        }),
    ],
    [
      'signed with the client’s secret',
      () => (token = { ...token, header: { alg: 'HS256' }, sign: byHmac(CLIENT.secret) }),
    ],
    ['of another issuer', () => (token.claims = { iss: 'https://elsewhere.example' })],
    ['for another client', () => (token.claims = { aud: 'other' })],
    ['for several, given to another', () => (token.claims = { aud: ['daybook', 'other'], azp: 'other' })],
    ['given to another', () => (token.claims = { azp: 'other' })],
    ['that is over', () => (token.claims = { exp: SECONDS() - 60 })],
    ['that never ends', () => (token.claims = { exp: undefined })],
    ['without a time', () => (token.claims = { iat: undefined })],
    ['of another login', () => (token.claims = { nonce: 'other' })],
    ['of no login', () => (token.claims = { nonce: undefined })],
  ])('%s', async (_name, change) => {
    change();
    expect([401, 502]).toContain(await loggedIn());
    expect(pages.refusals.at(-1)).toMatchObject({ way: 'oidc' });
  });
});

const MEGABYTES = 64;
/** Sends as long as somebody reads. */
const endless =
  (sent: { bytes: number }, isPacked = false): Answer =>
  (_request, response) => {
    const chunk = Buffer.alloc(2 ** 20, ' ');
    const packed = isPacked ? { 'content-encoding': 'gzip' } : {};
    response.writeHead(200, { 'content-type': 'application/json', ...packed });
    if (isPacked) return void response.end(gzipSync(Buffer.alloc(MEGABYTES * 2 ** 20, ' ')));
    const more = (): void => {
      while (sent.bytes < MEGABYTES * 2 ** 20 && !response.destroyed) {
        sent.bytes += chunk.length;
        if (!response.write(chunk)) return void response.once('drain', more);
      }
      response.end();
    };
    more();
  };

describe('an answer without an end is cut off', () => {
  it.each(['/.well-known/openid-configuration', '/token', '/keys', '/userinfo'])('%s', async (path) => {
    const sent = { bytes: 0 };
    answers[path] = endless(sent);
    if (path === '/userinfo') token.claims = { email: undefined };
    expect(await loggedIn()).toBe(502);
    expect(pages.refusals.at(-1)!.reason).toContain('ANSWER_TOO_LONG');
    // What is on its way when it is cut off.
    expect(sent.bytes).toBeLessThan(16 * 2 ** 20);
  });

  it('packed small, too', async () => {
    answers['/token'] = endless({ bytes: 0 }, true);
    expect(await loggedIn()).toBe(502);
    expect(pages.refusals.at(-1)!.reason).toContain('ANSWER_TOO_LONG');
  });
});
