/** What a run says while it works, for a terminal's one line. */

export type Progress =
  | {
      readonly stage: 'sync';
      readonly merchantNo: string;
      readonly windowsDone: number;
      readonly windowsPlanned: number;
      readonly entries: number;
      readonly requests: number;
    }
  | { readonly stage: 'reconcile'; readonly accountsDone: number; readonly accounts: number }
  | { readonly stage: 'publish'; readonly daysDone: number; readonly days: number }
  | { readonly stage: 'adopt'; readonly days: number; readonly statements: number };
