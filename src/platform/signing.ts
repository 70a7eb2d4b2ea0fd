/**
 * What header templates may say of one try of a call: its time, a nonce, a hash of its body, and a signature over these.
 * The platform's document shows no signature, so a template says what is signed (docs/platform.md 5).
 */
import { createHmac } from 'node:crypto';
import { sha256Of } from '../host/sha256.ts';
import { areSigned, fillTemplate, placeholdersIn, TRY_PLACEHOLDERS } from '../ledger/placeholders.ts';

/** HMAC-SHA256 with a secret key over a template. */
export interface SigningSettings {
  readonly template: string;
  readonly key: string;
}

/** What is sent, exactly. */
interface SentRequest {
  readonly path: string;
  readonly body: string;
}

type Values = Readonly<Record<string, string>>;

export interface TrySources {
  /** This machine's clock, in ms since 1970. */
  readonly nowMs: () => number;
  /** Never the same text twice. */
  readonly nonce: () => string;
}

/** In the agent's calls no merchant is named, and in a merchant's calls no agent. */
const NO_ONE: Values = { token: '', merchantNo: '', agentToken: '', referralChannel: '' };

/**
 * A function that makes the values of one try, from those of whose call it is; null where no header names any. What no
 * template names is not computed. With a signature in `headers`, `signing` is not null.
 */
export function createTryValues(
  headers: Readonly<Record<string, string>>,
  signing: SigningSettings | null,
  { nowMs, nonce }: TrySources,
): ((own: Values, request: SentRequest) => Values) | null {
  const signed = areSigned(headers) ? signing : null;
  const inHeaders = placeholdersIn(Object.values(headers));
  if (TRY_PLACEHOLDERS.every((name) => !inHeaders.has(name))) return null;
  const named = new Set([...inHeaders, ...placeholdersIn(signed === null ? [] : [signed.template])]);
  return (own, { path, body }) => {
    const ms = nowMs();
    const values = {
      timestamp: String(Math.floor(ms)),
      timestampS: String(Math.floor(ms / 1_000)),
      ...(named.has('nonce') && { nonce: nonce() }),
      ...(named.has('bodySha256') && { bodySha256: sha256Of(body) }),
    };
    if (signed === null) return values;
    const text = fillTemplate(signed.template, { ...NO_ONE, ...own, ...values, method: 'POST', path, body });
    const mac = createHmac('sha256', signed.key).update(text).digest();
    return { ...values, signature: mac.toString('hex'), signatureBase64: mac.toString('base64') };
  };
}
