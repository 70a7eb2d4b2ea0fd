/** The settings of the client, on whose behalf a call is made, and the headers that follow (docs/platform.md 5). */
import type { ConnectionSettings } from './attempt.ts';
import { PlatformRejected } from './errors.ts';
import type { MerchantAccess } from './ledger-reader.ts';
import { fillTemplate } from '../ledger/placeholders.ts';
import type { SigningSettings } from './signing.ts';

/**
 * A merchant's calls carry the merchant's number and token. The agent's own calls carry what the settings say
 * (docs/platform.md 5, rules 1 and 2).
 */
export type PlatformAccess =
  { readonly kind: 'merchant'; readonly merchant: MerchantAccess } | { readonly kind: 'agent' };

export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  /** Texts that no message may ever repeat. */
  readonly secrets: readonly string[];
  /** Header values that are not secret. */
  readonly known: readonly string[];
  /** What a person should do about a 401 or 403. */
  readonly remedy: string;
}

const namesOf = (headers: Readonly<Record<string, string>>): string =>
  Object.keys(headers).length === 0 ? 'none' : Object.keys(headers).join(', ');

type Values = Readonly<Record<string, string>>;

function filled(templates: Values, values: Values, problem: (name: string) => string): Values {
  const headers = Object.entries(templates).map(
    ([name, template]) => [name, fillTemplate(template, values)] as const,
  );
  const wrong = headers.find(([, value]) => !/^[\x20-\x7e]*$/.test(value));
  if (wrong !== undefined) throw new PlatformRejected(problem(wrong[0]));
  return Object.fromEntries(headers);
}

/** A merchant's number as headers carry it: percent-encoded as UTF-8 where it is not ASCII (docs/platform.md 5). */
export const headerText = (merchantNo: string): string =>
  /^[\x20-\x7e]*$/.test(merchantNo) ? merchantNo : encodeURIComponent(merchantNo);

/** Used in messages: `for merchant M1`. */
export const whoseOf = (access: PlatformAccess): string =>
  access.kind === 'agent' ? 'for the agent' : `for merchant ${access.merchant.merchantNo}`;

/** What templates may say of whose call it is. */
export const valuesOf = (settings: PlatformSettings, access: PlatformAccess): Values =>
  access.kind === 'agent'
    ? { agentToken: settings.agentToken ?? '', referralChannel: settings.referralChannel ?? '' }
    : { merchantNo: headerText(access.merchant.merchantNo), token: access.merchant.token };

/**
 * The headers of a call, or of a try of it whose own values are `ofTry`. Throws `PlatformRejected` if a value cannot be put
 * into a header.
 */
export function credentialsOf(
  settings: PlatformSettings,
  access: PlatformAccess,
  ofTry: Values = {},
): Credentials {
  const notAscii = 'as it holds a line break or something else than printable ASCII';
  const values = { ...valuesOf(settings, access), ...ofTry };
  const { signature, signatureBase64, ...known } = ofTry;
  const signatures = [signature, signatureBase64].filter((one) => one !== undefined);
  if (access.kind === 'agent') {
    const headers = filled(
      settings.agentHeaders,
      values,
      (name) => `the agent's token or number cannot stand in header ${name}, ${notAscii}.`,
    );
    return {
      headers,
      secrets: [...ownSecrets(settings), ...signatures],
      known: [settings.referralChannel ?? '', ...Object.values(known)],
      remedy: `check PLATFORM_AGENT_TOKEN, ${remedyOf('PLATFORM_AGENT_HEADERS', settings.agentHeaders, settings)}`,
    };
  }
  const { merchantNo, token } = access.merchant;
  const headers = filled(
    settings.headers,
    values,
    (name) =>
      `merchant ${merchantNo}: the token cannot stand in header ${name}, ${notAscii}; ` +
      'add the merchant again with the token as it was delivered.',
  );
  return {
    headers,
    secrets: [token, ...ownSecrets(settings), ...signatures],
    known: [headerText(merchantNo), ...Object.values(known)],
    remedy: `check the merchant's token, ${remedyOf('PLATFORM_HEADERS', settings.headers, settings)}`,
  };
}

const ownSecrets = ({ agentToken, merchant }: PlatformSettings): string[] => [
  agentToken ?? '',
  merchant?.token ?? '',
];

const remedyOf = (setting: string, headers: Values, { signing }: PlatformSettings): string =>
  (signing === null ? '' : 'PLATFORM_SIGNATURE_KEY, PLATFORM_SIGNATURE_TEMPLATE, ') +
  `and ${setting} (now ${namesOf(headers)})`;

/** For what the platform's document leaves open (docs/platform.md 5, 7, 8). */
export interface PlatformSettings extends ConnectionSettings {
  /** Header templates of a merchant's calls, with `{token}` and `{merchantNo}`, and what `signing.ts` makes for a try. */
  readonly headers: Readonly<Record<string, string>>;
  /** Header templates of calls that belong to no merchant, with `{agentToken}` and `{referralChannel}`. */
  readonly agentHeaders: Readonly<Record<string, string>>;
  readonly agentToken: string | null;
  /** The merchant of the settings: no message repeats its token, whoever's call it is about. */
  readonly merchant?: MerchantAccess | null;
  readonly referralChannel: string | null;
  /** How requests are signed. Null where no header has a signature. */
  readonly signing: SigningSettings | null;
  readonly rateLimitPerS: number | null;
  /** How often a call is repeated after a temporary failure. */
  readonly retriesMax: number;
  /** Codes, statuses and flags of a reply that mean success. Any other is a refusal. */
  readonly successCodes: readonly string[];
}
