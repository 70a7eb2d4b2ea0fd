/** What a metric of the state is made of. */
import { dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { State } from './state.ts';

export interface Sample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface StateMetric {
  readonly name: string;
  /** One sentence for the person who reads the scrape. */
  readonly help: string;
  readonly labels?: readonly string[];
  /** What is not known is left out: there is no sample then, and no false 0. */
  readonly samples: (state: State) => readonly Sample[];
}

/** One sample without labels; none for null. */
export const only = (value: number | null | undefined): Sample[] =>
  value === null || value === undefined ? [] : [{ value }];

export const seconds = (ms: number): number => ms / 1_000;

export const timestamp = (at: Date): number => seconds(at.getTime());

/** The instant at which a day is over; null for null. */
export const endOfDayMs = (day: BusinessDay | null, zone: string | null): number | null =>
  day === null || zone === null ? null : dayWindow(day, zone).endMs + 1;
