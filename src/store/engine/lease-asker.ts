/** Asks whether leases are still held: one statement answers all questions that wait for it. */
import { arrayLiteral } from './array-literal.ts';
import { askLease, type Lease } from './lease.ts';
import { type Db, rowsOf } from './database.ts';

/** Throws `LeaseLost` unless the lease is held at a moment after the question. */
export type LeaseAsker = (lease: Lease) => Promise<void>;

interface Question {
  readonly lease: Lease;
  readonly resolve: (answer: Promise<void> | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Returns an asker for any number of leases of this process. Questions of the same moment share a statement, and so do
 * later ones wait for the next answer, as an answer counts only if its statement was
 * sent after the question. A failed statement fails the questions it was sent for, and no others.
 */
export function createLeaseAsker(db: Db): LeaseAsker {
  let waiting: Question[] = [];
  let isAsking = false;
  const askAll = async (): Promise<void> => {
    isAsking = true;
    // Lets others of this moment ask as well.
    await Promise.resolve();
    while (waiting.length > 0) {
      const questions = waiting;
      waiting = [];
      await answer(db, questions);
    }
    isAsking = false;
  };
  return (lease) =>
    new Promise<void>((resolve, reject) => {
      waiting.push({ lease, resolve, reject });
      if (!isAsking) void askAll();
    });
}

/** Answers each question. Never throws. */
async function answer(db: Db, questions: readonly Question[]): Promise<void> {
  const leases = new Map(questions.map(({ lease }) => [keyOf(lease), lease]));
  let held: ReadonlySet<string>;
  try {
    held = await heldOf(db, [...leases.values()]);
  } catch (error) {
    for (const { reject } of questions) reject(error);
    return;
  }
  // A lease that does not show as held is asked for alone, so that no other question waits for whoever locks it.
  const alone = new Map<string, Promise<void>>();
  for (const [key, lease] of leases) if (!held.has(key)) alone.set(key, askLease(db, lease));
  for (const { lease, resolve } of questions) resolve(alone.get(keyOf(lease)));
}

const keyOf = ({ name, epoch }: Pick<Lease, 'name' | 'epoch'>): string => `${epoch} ${name}`;

/**
 * Those of the leases that show as held. A plain read, which writes nothing: who asks has written all of its bytes
 * before. A holder who takes over after that read finds them when it searches for unfinished writes.
 */
async function heldOf(db: Db, leases: readonly Lease[]): Promise<ReadonlySet<string>> {
  const rows = await rowsOf(db)<{ name: string; epoch: number }>`
    SELECT name, epoch FROM lease
    WHERE name = ANY (${arrayLiteral(leases.map(({ name }) => name))}::text[]) AND expires_at IS NOT NULL`;
  return new Set(rows.map(keyOf));
}
