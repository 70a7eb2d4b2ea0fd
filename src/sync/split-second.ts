/**
 * Puts the parts of a second together again. The platform filters by ms while timestamps have whole seconds, so a part
 * of a second would not tell in the store which entries of that second it speaks of: only the whole second is stored.
 */
import type { Asked } from './certificate.ts';
import { spanText, type NotedReading } from './certify.ts';

export interface SplitSecond {
  /** That many parts more are to come. */
  readonly expect: (parts: number) => void;
  /** Takes a part's reading; gives the second's once all are there. */
  readonly add: (part: NotedReading) => { readonly asked: Asked; readonly read: NotedReading } | null;
}

/** One part is expected: the second itself, which is then split further. */
export function beginSecond(asked: Asked): SplitSecond {
  const parts: NotedReading[] = [];
  let expected = 1;
  return {
    expect: (more) => {
      expected += more;
    },
    add: (part) => {
      parts.push(part);
      return parts.length === expected ? { asked, read: joinParts(asked, parts) } : null;
    },
  };
}

function joinParts(asked: Asked, parts: readonly NotedReading[]): NotedReading {
  const readings = parts.map(({ reading }) => reading);
  const sum = (figures: readonly number[]) => figures.reduce((total, figure) => total + figure, 0);
  const entries = new Map(
    readings.flatMap((reading) => reading.entries).map((entry) => [entry.batchNo, entry]),
  );
  const unreadable = readings.flatMap((reading) => reading.unreadable);
  const total = sum(readings.map((reading) => reading.total));
  const moved =
    entries.size < sum(readings.map((reading) => reading.entries.length))
      ? `${spanText(asked)} could not be certified: an entry came in two of its parts`
      : null;
  const problem = readings.find((reading) => reading.problem !== null)?.problem ?? moved;
  const requests = sum(readings.map((reading) => reading.requests));
  return {
    reading: {
      entries: [...entries.values()],
      unreadable,
      total,
      requests,
      certified: problem === null,
      problem,
    },
    notices: parts.flatMap(({ notices }) => notices),
    strangers: parts.flatMap(({ strangers }) => strangers),
  };
}
