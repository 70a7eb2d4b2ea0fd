/** Keeps memory flat: a window may read its pages only while fewer than so many of the merchant's are in memory. */

export interface PageCredits {
  /** Resolves once `pages` more may be held; of those that wait, the lowest `rank` first. */
  readonly take: (pages: number, rank: number) => Promise<void>;
  readonly give: (pages: number) => void;
  /** Lets everyone who waits go on, for a sync that has stopped. */
  readonly open: () => void;
}

/**
 * Credits for `pagesMax` pages. Each window takes one for its first page and, once, the rest it needs. As the sum of
 * first pages stays below `pagesMax` (see `ReadLimits`), whoever is first in line always gets its turn: the others that
 * hold credits either wait behind it with their one page, or give theirs back.
 */
export function createPageCredits(pagesMax: number): PageCredits {
  let free = pagesMax;
  let isOpen = false;
  /** By rank; of equals, the one that came first. */
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
