/** Limits memory: a window may read its pages only while few enough pages of the merchant are in memory. */

export interface PageSemaphore {
  /** Resolves when `pages` more may be in memory. Of those that wait, the lowest `rank` is first. */
  readonly take: (pages: number, rank: number) => Promise<void>;
  readonly give: (pages: number) => void;
  /** Lets everybody who waits go on, because the sync has stopped. */
  readonly open: () => void;
}

/**
 * Credits for `pagesMax` pages. Each window takes one for its first page and later, once, all others it needs.
 *
 * No deadlock: the first pages of all windows together are fewer than `pagesMax` (see `ReadLimits`). So the first in
 * line always gets its credits in the end, as every other window either waits behind it with one page, or gives its
 * own back.
 */
export function createPageSemaphore(pagesMax: number): PageSemaphore {
  let free = pagesMax;
  let isOpen = false;
  /** In order of rank; of equals, the one that came first. */
  const waiting: { readonly pages: number; readonly rank: number; readonly go: () => void }[] = [];
  const serve = () => {
    for (let next = waiting[0]; next !== undefined && (isOpen || next.pages <= free); next = waiting[0]) {
      waiting.shift();
      free -= next.pages;
      next.go();
    }
  };
  return {
    take: (pages, rank) =>
      new Promise((resolve) => {
        const after = waiting.findLastIndex((one) => one.rank <= rank);
        waiting.splice(after + 1, 0, { pages, rank, go: resolve });
        serve();
      }),
    give: (pages) => {
      free += pages;
      serve();
    },
    open: () => {
      isOpen = true;
      serve();
    },
  };
}
