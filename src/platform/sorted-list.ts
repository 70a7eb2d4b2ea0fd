/** An always ordered list. Places are found by binary search, so that long lists stay quick. */
export class SortedList<Item> {
  readonly #items: Item[] = [];
  readonly #compare: (one: Item, other: Item) => number;

  /** `compare` is negative if `one` goes first, and 0 only for an item and itself. */
  constructor(compare: (one: Item, other: Item) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#items.length;
  }

  get first(): Item | undefined {
    return this.#items[0];
  }

  get last(): Item | undefined {
    return this.#items.at(-1);
  }

  add(item: Item): void {
    this.#items.splice(this.#placeOf(item), 0, item);
  }

  /** Does nothing if the item is not in the list. What it is ordered by must be as it was when it was added. */
  remove(item: Item): void {
    const place = this.#placeOf(item);
    if (this.#items[place] === item) this.#items.splice(place, 1);
  }

  /** How many items go before this one. */
  #placeOf(item: Item): number {
    let low = 0;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(this.#items[middle]!, item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
