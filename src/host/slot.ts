/**
 * Places of the core that plugins fill before any work begins. The module that asks owns the place and its type, so that no module of the
 * core knows a plugin.
 */

/** A place for one plugin's part. */
export interface Slot<Part> {
  /** Throws an `Error` where another plugin filled it. */
  readonly fill: (part: Part) => void;
  /** Null where no plugin filled it. */
  readonly part: () => Part | null;
}

export function slot<Part>(name: string): Slot<Part> {
  let filled: Part | null = null;
  return {
    fill: (part) => {
      if (filled !== null) throw new Error(`two plugins bring ${name}`);
      filled = part;
    },
    part: () => filled,
  };
}

/** A list that plugins add to. */
export interface Register<Entry> {
  /** Throws an `Error` once the list was read: whoever read it would not know of these. */
  readonly add: (entries: readonly Entry[]) => void;
  readonly all: () => readonly Entry[];
}

export function register<Entry>(name: string): Register<Entry> {
  const entries: Entry[] = [];
  let isRead = false;
  return {
    add: (more) => {
      if (isRead && more.length > 0) throw new Error(`a plugin adds ${name} after they were read`);
      entries.push(...more);
    },
    all: () => {
      isRead = true;
      return entries;
    },
  };
}
