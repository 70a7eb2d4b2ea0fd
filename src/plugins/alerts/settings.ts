/** Settings of alerts. Messages repeat no address of a webhook, as it may be a secret. */
import { z } from 'zod';
import { isLoopback } from '../../host/addresses.ts';
import { DAYBOOK } from '../../settings/core.ts';
import { read, setting, settingsGroup, type Given, type Read, type Rules } from '../../settings/setting.ts';
import { parseUrl } from '../../settings/values/addresses.ts';
import { givenList, jsonText, reading, text, Wrong } from '../../settings/values/scalars.ts';

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

const alertUrls = () => {
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

const alertSecret = () =>
  text().min(SECRET_CHARACTERS_MIN, {
    error: `must have at least ${SECRET_CHARACTERS_MIN} characters, so that it cannot be guessed`,
  });

export const isMailAddress = (text: string): boolean => MAILBOX.test(text);

export const mailAddress = () =>
  text().regex(MAILBOX, { error: 'must be a mail address, like ops@company.example' });

const mailAddresses = () => {
  const error = 'must be a list of mail addresses, like ops@company.example';
  return z.preprocess(
    givenList,
    z
      .array(z.string({ error }).regex(MAILBOX, { error }), { error })
      .max(MAILBOXES_MAX, { error: `has more than ${MAILBOXES_MAX} addresses` })
      .readonly(),
  );
};

const smtpUrl = () =>
  reading((value) => {
    const url = parseUrl(value);
    if (url.protocol !== 'smtp:' && url.protocol !== 'smtps:') throw new Wrong('must begin with smtps://');
    if (url.hostname === '') throw new Wrong('names no server');
    if (url.search !== '' || url.hash !== '' || !['', '/'].includes(url.pathname)) {
      throw new Wrong('must end with the server and its port');
    }
    return value;
  });

const pingUrl = () => reading((value) => httpUrl(value).href);

export const ALERTS = {
  DAYBOOK_ALERT_URL: setting(
    alertUrls().default([]),
    "Webhooks that get the alerts, any number: https, or http on loopback. In the environment they are separated by spaces, commas or line ends. Each gets a signed JSON document; one that begins with slack+, or is at hooks.slack.com, gets Slack's format. Addresses are secrets: better as DAYBOOK_ALERT_URL_FILE.",
    { example: 'https://ops.example/daybook', secret: true },
  ),
  DAYBOOK_ALERT_SECRET: setting(
    alertSecret().optional(),
    'Signs the JSON documents (HMAC-SHA256). Required for webhooks that get them.',
    { example: "the output of 'openssl rand -base64 32'", secret: true },
  ),
  DAYBOOK_ALERT_MAIL_TO: setting(
    mailAddresses().default([]),
    'Addresses that get the same by mail. In the environment: JSON, or words separated by commas.',
    { example: 'ops@company.example' },
  ),
  DAYBOOK_ALERT_MAIL_FROM: setting(
    mailAddress().optional(),
    'The sender of this mail. Required where alertMailTo is given.',
    { example: 'daybook@company.example' },
  ),
  DAYBOOK_SMTP_URL: setting(
    smtpUrl().optional(),
    'The mail server: smtps://, or smtp:// with STARTTLS (without TLS on loopback only), with user and password.',
    { example: 'smtps://user:password@mail.example', secret: true },
  ),
  DAYBOOK_PING_URL: setting(
    pingUrl().optional(),
    'Called with GET after each successful nightly run, for a service that raises an alarm when no call comes.',
    { example: 'https://hc-ping.com/your-uuid', secret: true },
  ),
};

/** Where alerts are sent. */
export interface AlertSettings {
  readonly webhooks: readonly Webhook[];
  /** Signs what `json` webhooks get. Null only if there is none. */
  readonly secret: string | null;
  /** Null if no mail is sent. */
  readonly mail: {
    readonly to: readonly string[];
    readonly from: string;
    /** `smtp://` or `smtps://`, with user and password if the server asks for them. */
    readonly smtpUrl: string;
  } | null;
  /** Requested after each successful nightly run; null if none. */
  readonly pingUrl: string | null;
}

const isOpen = (address: string): boolean => {
  const { protocol, hostname } = new URL(address);
  return protocol === 'http:' && !isLoopback(hostname);
};

const NOT_HTTPS =
  'must be https; plain http is for loopback only, or answer for it with DAYBOOK_ALLOW_INSECURE=alerts';

/** A webhook without a secret, mail without a server, and addresses that others could listen to. */
function alertRules(section: Read<typeof ALERTS>, given: Given): Rules {
  const { alertUrl, alertSecret, alertMailTo, alertMailFrom, smtpUrl, pingUrl } = section;
  const isSecured = !read(DAYBOOK, given).allowInsecure.includes('alerts');
  const isMailed = alertMailTo.length > 0;
  return {
    'DAYBOOK_ALERT_SECRET is required where DAYBOOK_ALERT_URL has a webhook that is not Slack’s: it signs what that gets':
      alertSecret === undefined && alertUrl.some(({ kind }) => kind === 'json'),
    'DAYBOOK_ALERT_MAIL_FROM is required where DAYBOOK_ALERT_MAIL_TO is given':
      isMailed && alertMailFrom === undefined,
    'DAYBOOK_SMTP_URL is required where DAYBOOK_ALERT_MAIL_TO is given': isMailed && smtpUrl === undefined,
    [`DAYBOOK_ALERT_URL ${NOT_HTTPS}`]: isSecured && alertUrl.some(({ url }) => isOpen(url)),
    [`DAYBOOK_PING_URL ${NOT_HTTPS}`]: isSecured && pingUrl !== undefined && isOpen(pingUrl),
  };
}

function alertSettingsOf(section: Read<typeof ALERTS>): AlertSettings {
  const { alertUrl, alertSecret, alertMailTo, alertMailFrom, smtpUrl, pingUrl } = section;
  const mail =
    alertMailTo.length === 0 || alertMailFrom === undefined || smtpUrl === undefined
      ? null
      : { to: alertMailTo, from: alertMailFrom, smtpUrl };
  return { webhooks: alertUrl, secret: alertSecret ?? null, mail, pingUrl: pingUrl ?? null };
}

export const alertSettings = settingsGroup(ALERTS, {
  value: (own) => ({ alerts: alertSettingsOf(own) }),
  rules: alertRules,
  uses: ({ alertMailTo }) => [['DAYBOOK_ALERT_MAIL_TO', alertMailTo.length > 0, 'alerts by mail']],
});
