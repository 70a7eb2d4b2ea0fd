/** Keeps memory flat: a window may read its pages only while fewer than so many of the merchant's are in memory. */

export interface PageCredits {
  /** Resolves once `pages` more may be held; first come, first served. */
  readonly take: (pages: number) => Promise<void>;
  readonly give: (pages: number) => void;
  /** Lets everyone who waits go on, for a sync that has stopped. */
  readonly open: () => void;
}

/**
 * Credits for `pagesMax` pages. Each window takes one for its first page and, once, the rest it needs. As the sum of
 * first pages stays below `pagesMax` (see `ReadLimits`), whoever waits first always gets its turn.
 */
export function createPageCredits(pagesMax: number): PageCredits {
  let free = pagesMax;
  let isOpen = false;
  const waiting: { readonly pages: number; readonly go: () => void }[] = [];
  const serve = () => {
    for (let next = waiting[0]; next !== undefined && (isOpen || next.pages <= free); next = waiting[0]) {
      waiting.shift();
      free -= next.pages;
      next.go();
    }
  };
  return {
    take: (pages) =>
      new Promise((resolve) => {
        waiting.push({ pages, go: resolve });
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
