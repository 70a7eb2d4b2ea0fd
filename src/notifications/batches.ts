/** Brings together what many ask for at the same time: one round trip for all that waits, one after the other. */
import { InboxUnavailable } from './inbox-unavailable.ts';

export interface BatchesOptions<Item, Answer> {
  /** Items of one round trip. */
  readonly itemsMax: number;
  /** Items held in memory at a time, in number and in bytes; one more is refused. */
  readonly heldMax: number;
  readonly heldBytesMax: number;
  readonly bytesOf: (item: Item) => number;
  /** Nobody waits longer for a round trip. */
  readonly timeoutMs: number;
  /** Answers in the items' order. */
  readonly work: (items: readonly Item[]) => Promise<readonly Answer[]>;
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: InboxUnavailable) => void;
}

/** The function it gives rejects with `InboxUnavailable` where there is no room, or the work failed or took too long. */
export function createBatches<Item, Answer>(
  options: BatchesOptions<Item, Answer>,
): (item: Item) => Promise<Answer> {
  const { itemsMax, heldMax, heldBytesMax, bytesOf, timeoutMs, work } = options;
  const waiting: Waiting<Item, Answer>[] = [];
  let [held, heldBytes] = [0, 0];
  let isAtWork = false;

  const workOff = async (): Promise<void> => {
    if (isAtWork) return;
    isAtWork = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, itemsMax);
      try {
        const answers = await withinTime(work(batch.map(({ item }) => item)), timeoutMs);
        for (const [index, { resolve }] of batch.entries()) resolve(answers[index]!);
      } catch (error) {
        const unavailable = new InboxUnavailable('the post could not be kept', { cause: error });
        for (const { reject } of batch) reject(unavailable);
      }
    }
    isAtWork = false;
  };

  return async (item) => {
    const bytes = bytesOf(item);
    if (held >= heldMax || heldBytes + bytes > heldBytesMax)
      throw new InboxUnavailable(`${held} posts wait to be kept already`);
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    held += 1;
    heldBytes += bytes;
    waiting.push({ item, resolve, reject });
    void workOff();
    try {
      return await promise;
    } finally {
      held -= 1;
      heldBytes -= bytes;
    }
  };
}

/** Whatever still comes of `work` afterwards: at worst a post is kept twice, which processing tells. */
async function withinTime<Result>(work: Promise<Result>, timeoutMs: number): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`not done within ${timeoutMs / 1_000} s`)), timeoutMs);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
