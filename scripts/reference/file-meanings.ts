/** What the columns and fields of published files mean; which there are is taken from the code that writes them. */

export type Meanings = Readonly<Record<string, string>>;

const CURRENCY_AMOUNT = 'in units of the currency';

const DAY_FIGURES: Meanings = {
  opening: `the balance it starts from, ${CURRENCY_AMOUNT}`,
  credit_total: 'sum of the credits',
  credit_count: 'how many credits',
  debit_total: 'sum of the debits',
  debit_count: 'how many debits',
  closing: 'the balance it ends on',
};

export const SUMMARY_MEANINGS: Meanings = {
  merchant_no: 'the platform’s number of the merchant',
  day: 'the business day',
  currency: 'currency code of the account',
  ...DAY_FIGURES,
  verdict: '`continuous`, `reordered` or `broken`',
  breaks: 'how many breaks the statement was published with',
  revision: 'revision of the statement',
  file: 'name of the statement’s file',
  sha256: 'SHA-256 of that file, in hex',
};

export const EXPLAINED_MEANINGS: Meanings = {
  explained: 'how many of the breaks a person resolved',
  explanations: 'explanations of these breaks, up to 20; the manifest has up to 1,000',
};

export const UNREADABLE_MEANINGS: Meanings = {
  unreadable:
    'number of entries that may be of the day and could not be read when the statement was published; the figures do not include them; where an earlier, readable version of such an entry is stored, they include that version',
};

export const OVER_MIDNIGHT_MEANINGS: Meanings = {
  over_midnight:
    'at how many places the rows do not lead on: from the opening, to each other, or to the closing, as entries of a neighbouring day lie there in the order of the balance chain',
  last_balance:
    'the balance after the last row; it is the closing where no entry of the next day lies before that row',
};

export const MONTH_MEANINGS: Meanings = {
  merchant_no: 'the platform’s number of the merchant',
  currency: 'currency code of the account',
  month: '`YYYY-MM`',
  ...DAY_FIGURES,
  opening: 'opening of the first published day of the month; empty if no day is published',
  closing: 'closing of the last published day of the month; empty if no day is published',
  days_published: 'how many days have a statement',
  days_broken: 'how many of them have the verdict `broken`, those whose breaks are all resolved included',
  open_days:
    'days that keep the month from being closed (not over, not read completely, changed since its figures were calculated, not published as they now stand, broken, with a difference that no break accounts for, with an unreadable entry): `2026-03-05 2026-03-08/2026-03-31`',
  closed: 'number of the month’s last close; empty where it is not closed',
  adjusted_days:
    'list of the days whose statement is not the one that this close froze, written as in `open_days`',
  days_unreadable:
    'number of published days with entries that could not be read; the figures do not include them; where an earlier, readable version of such an entry is stored, they include that version',
  missing_net:
    'balance difference: closing - (opening + credits - debits), whether explained or not; 0 if no day in between is missing or broken. Empty if no day is published',
};

export const CLOSE_MEANINGS: Meanings = {
  format: '`daybook-close/1`',
  merchantNo: 'the platform’s number of the merchant',
  month: '`YYYY-MM`',
  number: 'which close of the month it is, from 1',
  closedAt: 'when, ISO 8601 in UTC',
  by: 'who closed it; who approved it, where another person prepared it',
  note: 'note, or null',
  despite: 'reason for closing with open days, or null',
  prepared: 'where two persons closed it: who prepared it; left out otherwise',
  'prepared.by': 'their name',
  'prepared.at': 'when, ISO 8601 in UTC',
  'prepared.note': 'their note, or null',
  reopened: 'who reopened the month after the close before; left out where no one did',
  'reopened.by': 'their name',
  'reopened.at': 'when, ISO 8601 in UTC',
  'reopened.note': 'the reason',
  previous: 'the close before; null for the first',
  'previous.number': 'its number',
  'previous.sha256': 'SHA-256 of its file, in hex',
  accounts: 'the month of each account',
  'accounts[].currency': 'currency code of the account',
  'accounts[].opening': 'opening of the first published day of the month; null if no day is published',
  'accounts[].creditTotal': 'sum of the credits',
  'accounts[].creditCount': 'how many credits',
  'accounts[].debitTotal': 'sum of the debits',
  'accounts[].debitCount': 'how many debits',
  'accounts[].closing': 'closing of the last published day of the month; null if no day is published',
  'accounts[].missingNet':
    'balance difference: closing - (opening + credits - debits), whether explained or not; 0 if no day in between is missing or broken',
  'accounts[].days': 'how many days have a statement',
  'accounts[].daysBroken':
    'how many of them have the verdict `broken`, those whose breaks are all resolved included',
  'accounts[].breaks':
    'sum of the breaks of these statements; a break between entries of two days counts on both, and on each day without entries between them',
  'accounts[].explained':
    'sum, over these statements, of the breaks that a person had resolved by then; one between entries of two days counts on both, and on each day without entries between them',
  statements: 'the frozen list',
  'statements[].currency': 'currency code of the account',
  'statements[].day': 'the business day',
  'statements[].revision': 'revision of the statement',
  'statements[].file': 'name of its file, in the folder of its day',
  'statements[].sha256': 'SHA-256 of the file, in hex',
  'statements[].opening': 'the balance the day starts from',
  'statements[].creditTotal': 'sum of the credits',
  'statements[].creditCount': 'how many credits',
  'statements[].debitTotal': 'sum of the debits',
  'statements[].debitCount': 'how many debits',
  'statements[].closing': 'the balance the day ends on',
  'statements[].verdict': '`continuous`, `reordered` or `broken`',
  'statements[].breaks':
    'how many breaks touch the day: those directly before or after at least one of its entries; on a day without entries, 1 if the break lies between the entries around it',
  'statements[].explained': 'list of the break IDs that a person had resolved by then',
  adjustments: 'what changed since the close before',
  'adjustments[].currency': 'currency code of the account',
  'adjustments[].day': 'the business day',
  'adjustments[].frozenRevision': 'the revision that the close before froze; null if there was none',
  'adjustments[].revision': 'the revision now',
  'adjustments[].reason': 'what changed, as its manifest says it; null for a first statement',
  openDays: 'days that were open',
  'openDays[].currency': 'currency code of the account',
  'openDays[].day': 'the business day',
  'openDays[].cause':
    '`not-over`; `uncertified`: not read completely; `not-reconciled`: changed since its figures were calculated; `not-published`; `broken`: a break is not resolved; `unexplained`: a difference that no break, open or resolved, accounts for: the figures do not add up, or the opening is not the closing of the statement before (the unexplained difference at an open break is `broken`); `unreadable`: an unreadable entry is not acknowledged',
};

const OTHER_FORMAT_MEANINGS = (path: string): Meanings => ({
  [`${path}.otherFormats`]: 'the same rows and figures in other formats, where any is published',
  [`${path}.otherFormats[].format`]: 'name of the format',
  [`${path}.otherFormats[].file`]: 'name of its file, in the same folder',
  [`${path}.otherFormats[].sha256`]: 'SHA-256 of the file, in hex',
  [`${path}.otherFormats[].bytes`]: 'size of the file',
  [`${path}.otherFormats[].isoCurrency`]:
    'the code that the file has for the currency, if it is another one (`DAYBOOK_BANK_CURRENCIES`)',
});

const REVISION_MEANINGS = (path: string, of: string): Meanings => ({
  [`${path}.revision`]: `revision of the ${of}, from 1`,
  [`${path}.file`]: 'name of its file, in the same folder',
  [`${path}.sha256`]: 'SHA-256 of the file, in hex',
});

const NAMED_MANIFEST_MEANINGS = (path: string): Meanings => ({
  [`${path}.day`]: 'its day',
  [`${path}.revision`]: 'its revision',
  [`${path}.sha256`]: 'SHA-256 of its file, in hex',
});

export const MANIFEST_MEANINGS: Meanings = {
  format: 'names this format',
  merchantNo: 'the platform’s number of the merchant',
  day: 'the business day',
  revision: 'grows with every manifest of the day',
  epoch: 'epoch of the lease it was written under',
  timeZone: 'IANA zone of the business day and of `booked_at`',
  timeZoneProof: 'only where the zone was taken on trust',
  checked:
    'what was checked beyond the days read (`DAYBOOK_CHECKS`), by the run that wrote it or by earlier ones over the same statements',
  place: 'its place in the chain of the merchant’s manifests, from 1',
  previousManifest:
    'the merchant’s manifest that was made before this one, of whatever day; null at the first place',
  ...NAMED_MANIFEST_MEANINGS('previousManifest'),
  supersededManifests: 'the day’s manifests that this one took the place of, oldest first',
  'supersededManifests[].revision': 'its revision',
  'supersededManifests[].sha256': 'SHA-256 of its file, in hex',
  'supersededManifests[].place': 'the place that it had in the chain',
  'supersededManifests[].previousManifest': 'the manifest that it named',
  ...NAMED_MANIFEST_MEANINGS('supersededManifests[].previousManifest'),
  final:
    'estimate of when late entries will have come in: by the end of `by`, with the confidence `confidence`, at least the share `share` of the day’s entries. The reading itself was complete. Left out if too little was measured when the manifest was made',
  'final.share': 'share of the day’s entries expected by then',
  'final.confidence': 'statistical confidence in that share, from 0 to 1',
  'final.by': 'business day by whose end this share is expected',
  'final.watchedEntries':
    'number of entries this estimate is based on; only entries of days that were read before the following day was over count',
  'final.laterEntries':
    'of all late entries measured so far, of any day: how many may have come after more days than there are from `day` to `final.by`',
  statements: 'the current statement of each currency',
  'statements[].currency': 'currency code of the account',
  ...REVISION_MEANINGS('statements[]', 'statement'),
  'statements[].bytes': 'size of the file',
  'statements[].columns': 'columns of the file, in order; without it the first seven',
  ...OTHER_FORMAT_MEANINGS('statements[]'),
  'statements[].rows': 'how many entries the file has',
  'statements[].opening': 'the balance the day starts from, an exact decimal',
  'statements[].openingDerived':
    'true if the opening was derived from the first entry and not taken from the previous statement',
  'statements[].openingReason': 'why it was derived, if a previous statement exists',
  'statements[].creditTotal': 'sum of the credits',
  'statements[].creditCount': 'how many credits',
  'statements[].debitTotal': 'sum of the debits',
  'statements[].debitCount': 'how many debits',
  'statements[].closing': 'the balance the day ends on',
  'statements[].otherClosings':
    'other amounts that the closing may be: the balance before some entries is not certain (the opening was derived, or a break lies before them, on this day or an earlier one), and these entries cancel each other out, so that more than one order fits. With a credit of 50 (balance after it 150) and a debit of 50 (balance after it 100), the day goes from 100 to 100 if the credit came first, and from 150 to 150 if the debit did. If no break lies before those entries, the opening is as uncertain as the closing, and the verdict can still be `continuous`. Left out if the closing is certain',
  'statements[].verdict':
    'whether every balance carries forward: in order of time (`continuous`), in another order (`reordered`), or not (`broken`). A day is also `broken` where the only break lies before its first entry: the difference is then in this day. It is `broken`, too, where the only break lies after its last entry: its own figures then add up, and the difference is in the day of the next entry',
  'statements[].breaks':
    'how many breaks touch the day: those directly before or after at least one of its entries; on a day without entries, 1 if the break lies between the entries around it',
  'statements[].breaksAfter':
    'how many of these lie after the day’s last entry, or on a day without entries, so that no row of this statement shows them; 0 where absent',
  'statements[].unreadable':
    'number of entries that may be of the day and could not be read; the figures do not include them; where an earlier, readable version of such an entry is stored, they include that version; 0 where absent',
  'statements[].overMidnight':
    'entries of a neighbouring day lie among the rows in the order of the balance chain: the times of two entries cross midnight, within the clock tolerance. Opening, credits, debits and closing are those of the day’s own entries; the balances in the rows include the others. Left out where the rows lead from the opening to the closing',
  'statements[].overMidnight.places':
    'at how many places the rows do not lead on, without a break: from the opening, to each other, or to the closing',
  'statements[].overMidnight.lastBalance': 'the balance after the last row; left out if it is the closing',
  'statements[].explained': 'how many of the breaks a person resolved; 0 where absent. The verdict stays',
  'statements[].explanations': 'explanations of these breaks, up to 1,000',
  'statements[].explanations[].id': 'number of the break',
  'statements[].explanations[].afterBatchNo': 'the last entry before the break; null where there is none',
  'statements[].explanations[].beforeBatchNo': 'the first entry after the break',
  'statements[].explanations[].missingNet':
    'difference at the break that the note explains: the balance found less the balance expected; above zero where a credit is missing',
  'statements[].explanations[].note': 'the explanation',
  'statements[].explanations[].by': 'who it was; null where that was not kept',
  'statements[].explanations[].at': 'when, an instant',
  'statements[].publishedAt': 'when it was published, an instant',
  'statements[].previousDay': 'day of the account’s statement before; null for the first',
  'statements[].previousSha256': 'SHA-256 of that statement; null for the first',
  'statements[].waitingBetween':
    'the last day between `previousDay` and this one that had figures and no statement yet, as when an entry that may be of it cannot be read. Left out if there is none',
  'statements[].superseded': 'revisions that a later one replaced, oldest first',
  ...REVISION_MEANINGS('statements[].superseded[]', 'statement'),
  'statements[].superseded[].bytes': 'size of the file',
  'statements[].superseded[].publishedAt': 'when it was published, an instant',
  'statements[].superseded[].supersededBy': 'the revision that replaced it',
  'statements[].superseded[].reason': 'why it was replaced, a sentence',
  'statements[].superseded[].overMidnight': 'as of the current revision',
  'statements[].superseded[].overMidnight.places': 'as of the current revision',
  'statements[].superseded[].overMidnight.lastBalance': 'as of the current revision',
  'statements[].superseded[].unreadable': 'number of entries that could not be read; 0 where absent',
  ...OTHER_FORMAT_MEANINGS('statements[].superseded[]'),
  summary: 'the current summary; null where there is none',
  ...REVISION_MEANINGS('summary', 'summary'),
  'summary.superseded': 'summaries that a later one replaced, oldest first',
  ...REVISION_MEANINGS('summary.superseded[]', 'summary'),
  certificates: 'the readings of the ledger that prove the day complete',
  'certificates[].beginMs': 'first ms of the span that was read, since 1970',
  'certificates[].endMs': 'last ms of that span, included',
  'certificates[].currency': 'the currency that was read; null where every currency was',
  'certificates[].total': 'number of entries that the platform stated for the span',
  'certificates[].distinct':
    'how many distinct readable entries were received; `total` is `distinct` plus `quarantined`',
  'certificates[].quarantined': 'how many received entries went into quarantine; they are not in `distinct`',
  'certificates[].certifiedAt': 'when it was certified, an instant',
};
