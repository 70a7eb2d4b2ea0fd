/**
 * Days that came back empty after a reading of several days had lacked entries that are there after all. The platform is
 * not steady about these days, so their emptiness is not believed before the next run.
 */
import type { Asked } from './certificate.ts';
import { spanText, type NotedReading } from './certify.ts';
import type { UncertifiedSpan } from './store-readings.ts';
import { holds } from './wide-windows.ts';

interface Contradicted {
  readonly asked: Asked;
  /** How many entries the reading of all days had. */
  readonly total: number;
  /** How many came when its days were asked for in smaller windows. */
  came: number;
  readonly empty: { readonly part: Asked; readonly read: NotedReading }[];
}

export interface ContradictedReadings {
  /** Notes a reading that lacked stored entries. */
  readonly note: (asked: Asked, total: number) => void;
  /** Counts what a smaller window within brought. */
  readonly count: (part: Asked, read: NotedReading) => void;
  /** Whether several days within came back empty, so that each is to be asked for alone. */
  readonly mustBeAlone: (part: Asked, read: NotedReading) => boolean;
  /** Whether one day within came back empty. It waits for `settle` then. */
  readonly mustWait: (part: Asked, read: NotedReading) => boolean;
  /** To be called when all is read: hands what may be believed to `store`, and returns the other windows. */
  readonly settle: (
    store: (part: Asked, read: NotedReading) => Promise<void>,
  ) => Promise<readonly UncertifiedSpan[]>;
}

export function createContradicted(): ContradictedReadings {
  const all: Contradicted[] = [];
  const outerOf = (part: Asked) => all.find(({ asked }) => holds(asked, part));
  return {
    note: (asked, total) => {
      if (outerOf(asked) === undefined) all.push({ asked, total, came: 0, empty: [] });
    },
    count: (part, { reading }) => {
      const outer = outerOf(part);
      if (outer !== undefined) outer.came += reading.entries.length;
    },
    mustBeAlone: (part, read) => isEmpty(read) && outerOf(part) !== undefined,
    mustWait: (part, read) => {
      const outer = isEmpty(read) ? outerOf(part) : undefined;
      outer?.empty.push({ part, read });
      return outer !== undefined;
    },
    settle: async (store) => {
      const left: UncertifiedSpan[] = [];
      for (const one of all.splice(0)) {
        for (const { part, read } of one.empty) {
          if (one.came > one.total) left.push({ window: part.window, problem: unsteadyText(part, one) });
          else await store(part, read);
        }
      }
      return left;
    },
  };
}

const isEmpty = ({ reading }: NotedReading): boolean =>
  reading.entries.length + reading.unreadable.length === 0;

const unsteadyText = (part: Asked, { asked, total, came }: Contradicted): string =>
  `${spanText(part)} came back empty, and the platform is not steady about it: of ${spanText(asked)} it showed ${total} ` +
  `entries at first, and ${came} when that was asked for in parts`;
