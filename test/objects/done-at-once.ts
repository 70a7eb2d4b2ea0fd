/** Tells an operation that was done at once from one that a thread does: that one cannot end in the same turn. */

/** More promises than any operation waits for, one after another. */
const PROMISES_IN_A_TURN = 50;

/** Whether the work ends without a turn of the event loop. Waits for its end in either case. */
export async function isDoneAtOnce(work: () => Promise<unknown>): Promise<boolean> {
  let isDone = false;
  const end = work().then(() => (isDone = true));
  for (let promise = 0; promise < PROMISES_IN_A_TURN; promise += 1) await Promise.resolve();
  const wasDone = isDone;
  await end;
  return wasDone;
}
