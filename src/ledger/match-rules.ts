/** The rules by which entries of own books are matched with the ledger's, in the order in which they are tried. */
export const MATCH_RULES = ['reference', 'same-day', 'near-day', 'sum', 'tolerance'] as const;
