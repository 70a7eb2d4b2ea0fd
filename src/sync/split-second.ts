/**
 * Puts the parts of a second together again. The platform filters by ms, but timestamps have full seconds: no one
 * could say later which entries of the second a part is about. So only full seconds are stored.
 */
import type { Asked } from './certificate.ts';
import { spanText, type NotedReading } from './certify.ts';

export interface SplitSecond {
  /** So many more parts will come. */
  readonly expect: (parts: number) => void;
  /** Takes the reading of a part. Returns the reading of the second when all parts are there, and null before. */
  readonly add: (part: NotedReading) => { readonly asked: Asked; readonly read: NotedReading } | null;
}

/** Expects one part at first, the second itself; `expect` adds those that it is split into. */
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
    outOfScope: parts.flatMap(({ outOfScope }) => outOfScope),
  };
}
