/** Logging in at an OpenID Connect provider: the authorization code flow, with PKCE, state, nonce, and signed ID tokens. */
import type * as Client from 'openid-client';
import { loadFor } from '../../../host/packages.ts';
import type { AccessSettings } from '../settings.ts';
import { isPersonName } from '../../../ledger/people.ts';
import type { Identity } from './identity.ts';

export const LOGIN_PATH = '/login';
export const OIDC_RETURN_PATH = '/login/oidc/back';

const CALL_TIMEOUT_S = 10;
/** What a provider's answer may have, unpacked: addresses, keys, tokens, a person's groups. */
const ANSWER_BYTES_MAX = 1_048_576;
const SCOPE = 'openid email profile';

/** What a login began with, kept by the browser until it comes back. */
export interface Flow {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** The provider refused the login, or sent no valid name. The message is for the log. */
export class NotLoggedIn extends Error {
  override readonly name = 'NotLoggedIn';
}

class AnswerTooLong extends Error {
  override readonly name = 'AnswerTooLong';
  readonly code = 'ANSWER_TOO_LONG';
}

export type OidcLogin = ReturnType<typeof createOidcLogin>;

const load = (): Promise<typeof Client> =>
  loadFor('a login by OpenID Connect', () => import('openid-client'));

/** The provider is asked for its addresses when the first person logs in, so that it need not be up before. */
export function createOidcLogin(oidc: NonNullable<AccessSettings['oidc']>, pagesUrl: string) {
  const returnUrl = pagesUrl + OIDC_RETURN_PATH;
  const issuer = new URL(oidc.issuer);
  // An email and whether it is verified have to be of the same answer.
  const nameClaims = oidc.nameClaim === 'email' ? ['email', 'email_verified'] : [oidc.nameClaim];
  let found: Promise<Client.Configuration> | null = null;
  const provider = (client: typeof Client): Promise<Client.Configuration> => {
    // Tokens that come over TLS may be taken without their signature; here whoever is between has no say either.
    const execute = [client.enableNonRepudiationChecks];
    // The settings take plain http on loopback alone. It is marked as deprecated so that it stands out.
    // oxlint-disable-next-line typescript/no-deprecated
    if (issuer.protocol === 'http:') execute.push(client.allowInsecureRequests);
    const options = { timeout: CALL_TIMEOUT_S, execute, [client.customFetch]: boundedFetch };
    found ??= client
      .discovery(issuer, oidc.clientId, oidc.clientSecret, undefined, options)
      .catch((error: unknown) => {
        found = null;
        throw error;
      });
    return found;
  };
  return {
    /** Where the browser is sent, and what it has to bring back. */
    begin: async (): Promise<{ readonly address: string; readonly flow: Flow }> => {
      const client = await load();
      const flow = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      };
      const known = await provider(client);
      const asksGroups = known.serverMetadata().scopes_supported?.includes(oidc.groupsClaim) === true;
      const address = client.buildAuthorizationUrl(known, {
        redirect_uri: returnUrl,
        scope: asksGroups ? `${SCOPE} ${oidc.groupsClaim}` : SCOPE,
        state: flow.state,
        nonce: flow.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(flow.verifier),
        code_challenge_method: 'S256',
      });
      return { address: address.href, flow };
    },
    /** Who came back. `query` is that of the address they were sent to. Throws `NotLoggedIn`, or why the provider failed. */
    finish: async (query: string, { state, nonce, verifier }: Flow): Promise<Identity> => {
      const client = await load();
      const known = await provider(client);
      assertReturned(new URLSearchParams(query), { state, issuer: known.serverMetadata().issuer });
      const tokens = await client.authorizationCodeGrant(known, new URL(returnUrl + query), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims()!;
      if (claims.azp !== undefined && claims.azp !== oidc.clientId)
        throw new NotLoggedIn('the token was given to another client');
      // Some providers put only `sub` into the token, and the rest into the user info.
      const isAll = hasClaims(claims, nameClaims) && hasClaims(claims, [oidc.groupsClaim]);
      if (isAll || known.serverMetadata().userinfo_endpoint === undefined) return identityOf(claims, oidc);
      const more = await client.fetchUserInfo(known, tokens.access_token, claims.sub);
      const named = hasClaims(claims, nameClaims) ? claims : more;
      const name = Object.fromEntries(nameClaims.map((claim) => [claim, named[claim]]));
      return identityOf({ ...more, ...claims, ...name }, oidc);
    },
    /**
     * Where the browser is sent to be logged out at the provider, too; null if the provider has no such address. Throws why
     * the provider failed.
     */
    end: async (): Promise<string | null> => {
      const client = await load();
      const known = await provider(client);
      if (known.serverMetadata().end_session_endpoint === undefined) return null;
      // No token of the person is kept, so the provider asks them whether they mean it.
      return client.buildEndSessionUrl(known, { post_logout_redirect_uri: pagesUrl + LOGIN_PATH }).href;
    },
  };
}

/** Throws `AnswerTooLong` for an answer longer than `ANSWER_BYTES_MAX`, and reads no more of it. */
const boundedFetch: Client.CustomFetch = async (url, { body = null, ...options }) => {
  const response = await fetch(url, { ...options, body });
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new AnswerTooLong();
    read.push(chunk);
  }
  const { status, headers } = response;
  return new Response(read.length === 0 ? null : Buffer.concat(read), { status, headers });
};

/** Errors of the protocol. Others may contain typed text, so they are not logged. */
const PROTOCOL_ERRORS: readonly string[] = [
  ...['access_denied', 'login_required', 'consent_required', 'interaction_required'],
  ...['account_selection_required', 'invalid_request', 'invalid_scope', 'unauthorized_client'],
  ...['unsupported_response_type', 'server_error', 'temporarily_unavailable'],
];

/** Throws `NotLoggedIn` for an address that the provider did not send this browser to, or by which it says no. */
function assertReturned(
  given: URLSearchParams,
  { state, issuer }: { readonly state: string; readonly issuer: string },
): void {
  const only = (name: string): string | null => {
    const [value = null, ...more] = given.getAll(name);
    return more.length === 0 ? value : null;
  };
  if (only('state') !== state || (given.has('iss') && only('iss') !== issuer))
    throw new NotLoggedIn('the answer belongs to another login');
  const error = given.get('error');
  if (error !== null)
    throw new NotLoggedIn(`the provider says ${PROTOCOL_ERRORS.includes(error) ? error : 'no'}`);
  if (only('code') === null) throw new NotLoggedIn('the answer has no code');
}

type Claims = Readonly<Record<string, unknown>>;

const hasClaims = (claims: Claims, names: readonly string[]): boolean =>
  names.every((name) => claims[name] !== undefined);

/** Throws `NotLoggedIn` for a name that is missing, or not verified. */
export function identityOf(
  claims: Claims,
  { nameClaim, groupsClaim }: Pick<NonNullable<AccessSettings['oidc']>, 'nameClaim' | 'groupsClaim'>,
): Identity {
  const name = claims[nameClaim];
  if (typeof name !== 'string' || !isPersonName(name))
    throw new NotLoggedIn(`the provider gives no ${nameClaim} that can be a name`);
  // An address that is not verified may be claimed by anyone.
  if (nameClaim === 'email' && claims['email_verified'] !== true)
    throw new NotLoggedIn('the provider does not say that the email is verified');
  return { name, groups: [claims[groupsClaim] ?? []].flat().filter((one) => typeof one === 'string') };
}
