/** What a run reports while it works, for the progress line on a terminal. */

export type Progress =
  | {
      readonly stage: 'sync';
      readonly merchantNo: string;
      readonly windowsDone: number;
      readonly windowsPlanned: number;
      readonly entries: number;
      readonly requests: number;
    }
  | {
      readonly stage: 'reconcile';
      readonly merchantNo: string;
      readonly accountsDone: number;
      readonly accounts: number;
    }
  | {
      readonly stage: 'publish';
      readonly merchantNo: string;
      readonly daysDone: number;
      readonly days: number;
    }
  | { readonly stage: 'merchants'; readonly merchantsDone: number; readonly merchants: number }
  | { readonly stage: 'adopt'; readonly days: number; readonly statements: number };
