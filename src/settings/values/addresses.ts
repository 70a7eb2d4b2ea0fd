/**
 * Checks addresses in settings: the platform, this server, the statements, and where alerts go. Messages about alerts
 * repeat no address, as it may be a secret.
 */
import { z } from 'zod';
import { isLoopback } from '../../host/addresses.ts';
import { givenList, jsonText, reading, text, Wrong } from './scalars.ts';

/** The address a server listens on. Port 0 means any free port. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** A callbackUrl may have 255 characters. This leaves 75 for its path: the kind and the secret. */
const PUBLIC_URL_CHARACTERS_MAX = 180;
const PORT_MAX = 65_535;

const parseUrl = (value: string): URL => {
  if (!URL.canParse(value)) throw new Wrong('is not a URL');
  return new URL(value);
};

/** Origin and path of an address, without slashes at its end. Throws as `checked` does. */
function addressOf(value: string, credentialsHint: string): string {
  const { origin, pathname } = checked(value, credentialsHint);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

/** Throws `Wrong` for what is not https, or http to this machine, or is more than an origin and a path. */
function checked(value: string, credentialsHint: string): URL {
  const url = parseUrl(value);
  if (url.username !== '' || url.password !== '') {
    throw new Wrong(`must not carry a user or password${credentialsHint}`);
  }
  if (url.search !== '' || url.hash !== '') throw new Wrong('must end with its path, without ? or #');
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname))) {
    throw new Wrong('must be https; plain http is for loopback only');
  }
  return url;
}

/** The address of the platform. */
export const baseUrl = () => reading((value) => addressOf(value, '; credentials go into PLATFORM_HEADERS'));

/** A provider of OpenID Connect, as it writes itself: a slash at the end is part of its name. */
export const issuer = () =>
  reading((value) => {
    checked(value, '; DAYBOOK_OIDC_CLIENT_SECRET has the secret');
    return value;
  });

/**
 * The address at which the platform reaches us. callbackUrls begin with it and have at most 255 characters
 * (docs/platform.md 8).
 */
export const publicUrl = () =>
  reading((value) => {
    const address = addressOf(value, '');
    if (address.length > PUBLIC_URL_CHARACTERS_MAX) {
      throw new Wrong(
        `has ${address.length} characters, where ${PUBLIC_URL_CHARACTERS_MAX} leave space for the path after it`,
      );
    }
    return address;
  });

/** The address at which people open the pages. Their links begin at the host, so there can be no path. */
export const pagesUrl = () =>
  reading((value) => {
    const address = addressOf(value, '');
    if (address !== new URL(address).origin)
      throw new Wrong('must be a host of its own, without a path: the links of the pages begin there');
    return address;
  });

/** `127.0.0.1:8080` or `[::1]:8080`. Port 0 means any free port. */
export const listenAddress = () =>
  reading((value): ListenAddress => {
    const [, bracketed, plain, port = ''] =
      /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(value) ?? [];
    const host = bracketed ?? plain;
    if (host === undefined) throw new Wrong('must be a host and a port, like 127.0.0.1:8080');
    if (Number(port) > PORT_MAX) throw new Wrong(`has a port above ${PORT_MAX}`);
    return { host, port: Number(port) };
  });

export const databaseUrl = () =>
  reading((value) => {
    const { protocol } = parseUrl(value);
    if (protocol !== 'postgres:' && protocol !== 'postgresql:')
      throw new Wrong('must begin with postgres://');
    return value;
  });

/** Where statements go: a folder of this machine, or a bucket. */
export const statementsUrl = () =>
  reading((value) => {
    const url = parseUrl(value);
    if (url.username !== '' || url.password !== '' || url.search !== '') {
      throw new Wrong(
        'must not carry credentials or options; the AWS SDK reads them from its own environment',
      );
    }
    if (url.protocol === 's3:') {
      if (url.hostname === '') throw new Wrong('names no bucket');
    } else if (url.protocol !== 'file:') {
      throw new Wrong('must begin with file:// or s3://');
    } else if (url.hostname !== '') {
      throw new Wrong('must be absolute: three slashes after file:');
    }
    return value;
  });

/** A webhook. Its address is a secret, as it may hold the key to the place behind it. */
export interface Webhook {
  /** `json`: a signed document of daybook's own; `slack`: what Slack's incoming webhooks take. */
  readonly kind: 'json' | 'slack';
  readonly url: string;
}

const WEBHOOKS_MAX = 20;
const MAILBOXES_MAX = 50;
const SECRET_CHARACTERS_MIN = 16;
/** Addresses of webhooks are URLs, which may hold commas: a comma parts two of them where another URL follows. */
const BETWEEN_URLS = /[\s,]+(?=(?:slack\+)?https?:\/\/|$)/;
const MAILBOX = /^[^\s@<>,;"]{1,64}@[^\s@<>,;"]{1,190}$/;

function httpUrl(value: string): URL {
  const url = parseUrl(value);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new Wrong('must begin with https://');
  if (url.username !== '' || url.password !== '') throw new Wrong('must not carry a user or password');
  return url;
}

function webhookOf(value: string): Webhook {
  const given = value.replace(/^slack\+/, '');
  const url = httpUrl(given);
  const isSlack = given !== value || url.hostname === 'hooks.slack.com';
  return { kind: isSlack ? 'slack' : 'json', url: url.href };
}

export const alertUrls = () => {
  const error = 'must be a list of URLs (in the environment separated by spaces, commas or line ends)';
  return z.preprocess(
    (value) =>
      typeof value === 'string' && !value.trimStart().startsWith('[')
        ? value
            .trim()
            .split(BETWEEN_URLS)
            .filter((part) => part !== '')
        : jsonText(value),
    z
      .array(
        reading((value): Webhook => {
          try {
            return webhookOf(value);
          } catch (wrong) {
            throw wrong instanceof Wrong ? new Wrong(`has an address that ${wrong.message}`) : wrong;
          }
        }),
        { error },
      )
      .max(WEBHOOKS_MAX, { error: `has more than ${WEBHOOKS_MAX} addresses` })
      .readonly(),
  );
};

export const alertSecret = () =>
  text().min(SECRET_CHARACTERS_MIN, {
    error: `must have at least ${SECRET_CHARACTERS_MIN} characters, so that it cannot be guessed`,
  });

export const isMailAddress = (text: string): boolean => MAILBOX.test(text);

export const mailAddress = () =>
  text().regex(MAILBOX, { error: 'must be a mail address, like ops@company.example' });

export const mailAddresses = () => {
  const error = 'must be a list of mail addresses, like ops@company.example';
  return z.preprocess(
    givenList,
    z
      .array(z.string({ error }).regex(MAILBOX, { error }), { error })
      .max(MAILBOXES_MAX, { error: `has more than ${MAILBOXES_MAX} addresses` })
      .readonly(),
  );
};

export const smtpUrl = () =>
  reading((value) => {
    const url = parseUrl(value);
    if (url.protocol !== 'smtp:' && url.protocol !== 'smtps:') throw new Wrong('must begin with smtps://');
    if (url.hostname === '') throw new Wrong('names no server');
    if (url.search !== '' || url.hash !== '' || !['', '/'].includes(url.pathname)) {
      throw new Wrong('must end with the server and its port');
    }
    return value;
  });

export const pingUrl = () => reading((value) => httpUrl(value).href);
