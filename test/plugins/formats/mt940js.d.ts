/** What the tests use of mt940js, which has no types of its own. */
declare module 'mt940js' {
  interface Transaction {
    readonly amount: number;
    readonly bankReference: string;
    readonly details: string;
  }
  interface Statement {
    readonly currency: string;
    readonly openingBalance: number;
    readonly closingBalance: number;
    readonly transactions: readonly Transaction[];
  }
  export class Parser {
    constructor(options: { readonly no86Structure: boolean });
    /** Throws where fields are missing, or the entries do not lead from opening to closing. */
    parse(text: string): readonly Statement[];
  }
}
