/**
 * What the client must be told of the platform, as its document leaves it open (docs/platform.md 5, 7, 8).
 */
export interface PlatformSettings {
  /** Without a trailing slash; `/api/sp2404` is put behind it. */
  readonly baseUrl: string;
  /** Header templates of a merchant's calls, with `{token}` and `{merchantNo}`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Header templates of calls that belong to no merchant, with `{agentToken}` and `{referralChannel}`. */
  readonly agentHeaders: Readonly<Record<string, string>>;
  readonly agentToken: string | null;
  readonly referralChannel: string | null;
  /** Calls in flight, all merchants together. */
  readonly concurrency: number;
  readonly rateLimitPerS: number | null;
  /** One call, from sending to the last byte. */
  readonly timeoutMs: number;
  /** Times one call is sent again after a failure that may pass. */
  readonly retriesMax: number;
}
