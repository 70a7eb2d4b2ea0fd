/** Checks where alerts go: webhooks, mail, and the address requested after a successful run. Messages repeat no address. */
import { z } from 'zod';
import { jsonText, reading, text, Wrong } from './scalars.ts';

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

const list = (value: unknown, parts: (value: string) => string[]): unknown =>
  typeof value === 'string' && !value.trimStart().startsWith('[') ? parts(value.trim()) : jsonText(value);

function httpUrl(value: string): URL {
  if (!URL.canParse(value)) throw new Wrong('is not a URL');
  const url = new URL(value);
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
    (value) => list(value, (urls) => urls.split(BETWEEN_URLS).filter((part) => part !== '')),
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

export const mailAddress = () =>
  reading((value) => {
    if (!MAILBOX.test(value)) throw new Wrong('must be a mail address, like ops@company.example');
    return value;
  });

export const mailAddresses = () => {
  const error = 'must be a list of mail addresses, like ops@company.example';
  return z.preprocess(
    (value) => list(value, (addresses) => addresses.split(',').map((part) => part.trim())),
    z
      .array(z.string({ error }).regex(MAILBOX, { error }), { error })
      .max(MAILBOXES_MAX, { error: `has more than ${MAILBOXES_MAX} addresses` })
      .readonly(),
  );
};

export const smtpUrl = () =>
  reading((value) => {
    if (!URL.canParse(value)) throw new Wrong('is not a URL');
    const url = new URL(value);
    if (url.protocol !== 'smtp:' && url.protocol !== 'smtps:') throw new Wrong('must begin with smtps://');
    if (url.hostname === '') throw new Wrong('names no server');
    if (url.search !== '' || url.hash !== '' || !['', '/'].includes(url.pathname)) {
      throw new Wrong('must end with the server and its port');
    }
    return value;
  });

export const pingUrl = () => reading((value) => httpUrl(value).href);
