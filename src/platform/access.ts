/** The settings of the client, on whose behalf a call is made, and the headers that follow (docs/platform.md 5). */
import type { ConnectionSettings } from './attempt.ts';
import { PlatformRejected } from './errors.ts';
import type { MerchantAccess } from './ledger-reader.ts';
import { fillTemplates } from './secrets.ts';

/**
 * A merchant's calls carry the merchant's number and token. The agent's own calls carry what the settings say
 * (docs/platform.md 5, rules 1 and 2).
 */
export type PlatformAccess =
  { readonly kind: 'merchant'; readonly merchant: MerchantAccess } | { readonly kind: 'agent' };

export interface Credentials {
  /** Used in messages: `for merchant M1`. */
  readonly whose: string;
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

function printable(headers: Record<string, string>, problem: (name: string) => string): typeof headers {
  const wrong = Object.entries(headers).find(([, value]) => !/^[\x20-\x7e]*$/.test(value));
  if (wrong !== undefined) throw new PlatformRejected(problem(wrong[0]));
  return headers;
}

/** A merchant's number as headers carry it: percent-encoded as UTF-8 where it is not ASCII (docs/platform.md 5). */
export const headerText = (merchantNo: string): string =>
  /^[\x20-\x7e]*$/.test(merchantNo) ? merchantNo : encodeURIComponent(merchantNo);

/** Throws `PlatformRejected` if a value cannot be put into a header. */
export function credentialsOf(settings: PlatformSettings, access: PlatformAccess): Credentials {
  const notAscii = 'as it holds a line break or something else than printable ASCII';
  if (access.kind === 'agent') {
    const agentToken = settings.agentToken ?? '';
    const referralChannel = settings.referralChannel ?? '';
    const headers = printable(
      fillTemplates(settings.agentHeaders, { agentToken, referralChannel }),
      (name) => `the agent's token or number cannot stand in header ${name}, ${notAscii}.`,
    );
    return {
      whose: 'for the agent',
      headers,
      secrets: [agentToken],
      known: [referralChannel],
      remedy: `check PLATFORM_AGENT_TOKEN, and PLATFORM_AGENT_HEADERS (now ${namesOf(headers)})`,
    };
  }
  const { merchantNo, token } = access.merchant;
  const headers = printable(
    fillTemplates(settings.headers, { merchantNo: headerText(merchantNo), token }),
    (name) =>
      `merchant ${merchantNo}: the token cannot stand in header ${name}, ${notAscii}; ` +
      'add the merchant again with the token as it was delivered.',
  );
  return {
    whose: `for merchant ${merchantNo}`,
    headers,
    secrets: [token],
    known: [headerText(merchantNo)],
    remedy: `check the merchant's token, and PLATFORM_HEADERS (now ${namesOf(headers)})`,
  };
}

/** For what the platform's document leaves open (docs/platform.md 5, 7, 8). */
export interface PlatformSettings extends ConnectionSettings {
  /** Header templates of a merchant's calls, with `{token}` and `{merchantNo}`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Header templates of calls that belong to no merchant, with `{agentToken}` and `{referralChannel}`. */
  readonly agentHeaders: Readonly<Record<string, string>>;
  readonly agentToken: string | null;
  readonly referralChannel: string | null;
  readonly rateLimitPerS: number | null;
  /** How often a call is repeated after a temporary failure. */
  readonly retriesMax: number;
  /** Codes, statuses and flags of a reply that mean success. Any other is a refusal. */
  readonly successCodes: readonly string[];
}
