/** Collects what many callers ask for, and does it in batches: one batch at a time, with all that waits. */
import { InboxUnavailable } from './inbox-unavailable.ts';

export interface BatchesOptions<Item, Answer> {
  /** Items of one batch. */
  readonly itemsMax: number;
  /** The most items held in memory, in number and in bytes. One more is refused. */
  readonly heldMax: number;
  readonly heldBytesMax: number;
  readonly bytesOf: (item: Item) => number;
  /** The longest wait for a batch. */
  readonly timeoutMs: number;
  /** Answers in the items' order. */
  readonly work: (items: readonly Item[]) => Promise<readonly Answer[]>;
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: InboxUnavailable) => void;
}

/** The returned function throws `InboxUnavailable` if there is no capacity, or if the work failed or took too long. */
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

/** The work may still succeed after its time is over. At worst a post is then kept twice, which processing notices. */
async function withinTime<Result>(work: Promise<Result>, timeoutMs: number): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`not done within ${timeoutMs / 1_000} s`)), timeoutMs);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
