/** A set of row numbers of the database: a bit each, so that a million of them take little memory. */
const BITS = 32;
const PAGE_BITS = 65_536;

export interface IdSet {
  readonly add: (id: number) => void;
  readonly has: (id: number) => boolean;
}

export function createIdSet(): IdSet {
  const pages = new Map<number, Uint32Array>();
  const placeOf = (id: number): readonly [number, number] => [
    Math.floor((id % PAGE_BITS) / BITS),
    1 << (id % BITS),
  ];
  return {
    add: (id) => {
      const number = Math.floor(id / PAGE_BITS);
      let page = pages.get(number);
      if (page === undefined) pages.set(number, (page = new Uint32Array(PAGE_BITS / BITS)));
      const [at, bit] = placeOf(id);
      page[at]! |= bit;
    },
    has: (id) => {
      const [at, bit] = placeOf(id);
      return ((pages.get(Math.floor(id / PAGE_BITS))?.[at] ?? 0) & bit) !== 0;
    },
  };
}
