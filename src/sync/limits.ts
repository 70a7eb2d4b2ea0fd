/** The limits of reading, in one place: of memory, of pages, and of patience with a platform that does not add up. */

export interface ReadLimits {
  /** Pages of one window; a window with more is split by time before it is paged. 10,000 entries. */
  readonly pageNumMax: number;
  /** Pages of a window that time cannot split: everything booked in one second, or one millisecond. 100,000 entries. */
  readonly pageNumIndivisibleMax: number;
  /** Share of `pageNumMax` a part of a split is meant to fill, so that a lively hour still fits. */
  readonly partFill: number;
  /** Entries meant for a part that has to fit on one page: so few that uneven traffic seldom makes it two. */
  readonly onePageFill: number;
  /** Parts one split makes at most. */
  readonly splitPartsMax: number;
  /** Readings of a window of several pages before it is split. */
  readonly readsBeforeSplitMax: number;
  /** Readings of a window of one page. */
  readonly onePageReadsMax: number;
  /**
   * Readings of an indivisible window of several pages. When each request has its own order, one reading shows 63 % of
   * the entries, and 16 readings miss one of 10,000 with a probability of 1 in 900. Twice as many, as all of them have
   * to be seen twice.
   */
  readonly indivisibleReadsMax: number;
  /** Calls one planned window may spend on readings that do not add up ... */
  readonly failedCallsMax: number;
  /** ... and so many more for each page with entries it did certify. */
  readonly failedCallsPerPage: number;
  /** Windows of one merchant read at the same time. */
  readonly windowsInProgressMax: number;
  /** Pages of one merchant held in memory at the same time, from the first call until they are stored. */
  readonly pagesInProgressMax: number;
  /** How far timestamps may lie from the times the platform filters by; 0 where they are the same. See clock-slack.ts. */
  readonly clockSlackMs: number;
}

export const READ_LIMITS: ReadLimits = {
  pageNumMax: 100,
  pageNumIndivisibleMax: 1_000,
  partFill: 0.8,
  onePageFill: 60,
  splitPartsMax: 64,
  readsBeforeSplitMax: 2,
  onePageReadsMax: 8,
  indivisibleReadsMax: 32,
  failedCallsMax: 2_000,
  failedCallsPerPage: 4,
  windowsInProgressMax: 32,
  pagesInProgressMax: 240,
  clockSlackMs: 0,
};
