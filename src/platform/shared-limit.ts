/** What several processes that call the same platform share: its rate limit, and the owners on hold. */

/** Calls of this owner may not begin for so long, from now on. */
export interface Hold {
  readonly owner: string;
  readonly forMs: number;
}

/** A part of the rate that no other process has. */
export interface Slice {
  /** From now on. The first call may begin then, and each further one after another spacing. */
  readonly afterMs: number;
  /** Holds added since the last reply, by any process. */
  readonly holds: readonly Hold[];
}

export interface SharedLimit {
  /** Reserves as many calls, spaced by so many ms, behind those of all processes. Rejects if there is no answer. */
  readonly take: (calls: number, spacingMs: number) => Promise<Slice>;
  /** Resolves to the holds added since the last call, at first to all. Rejects if there is no answer. */
  readonly holds: () => Promise<readonly Hold[]>;
  /** Rejects if there is no answer. */
  readonly sendHolds: (holds: readonly Hold[]) => Promise<void>;
}
