/** Settings of the client, for what the platform's document leaves open (docs/platform.md 5, 7, 8). */
export interface PlatformSettings {
  /** Without a slash at the end; `/api/sp2404` is appended. */
  readonly baseUrl: string;
  /** Header templates of a merchant's calls, with `{token}` and `{merchantNo}`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Header templates of calls that belong to no merchant, with `{agentToken}` and `{referralChannel}`. */
  readonly agentHeaders: Readonly<Record<string, string>>;
  readonly agentToken: string | null;
  readonly referralChannel: string | null;
  /** Most calls at the same time, over all merchants. */
  readonly concurrency: number;
  readonly rateLimitPerS: number | null;
  /** Time limit of one call, from sending to the last byte of the reply. */
  readonly timeoutMs: number;
  /** How often a call is repeated after a temporary failure. */
  readonly retriesMax: number;
  /** Codes, statuses and flags of a reply that mean success. Any other is a refusal. */
  readonly successCodes: readonly string[];
}
