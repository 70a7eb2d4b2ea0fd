/** Spans of time for traces, as the rooms that do work see them. Who records them, and whether, is decided at the top. */

/** What a span may say: never a token, an amount or the number of an entry. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** Adds to the span what is known only once its work is done. */
export type TellSpan = (attributes: SpanAttributes) => void;

/** Does the work as a span inside the span that is at work now. Resolves and rejects as the work does. */
export type Trace = <Result>(
  name: string,
  attributes: SpanAttributes,
  work: (tell: TellSpan) => Promise<Result>,
) => Promise<Result>;

const nothing = (): void => undefined;

/** Nobody records: the work is done and nothing else. */
export const UNTRACED: Trace = (_name, _attributes, work) => work(nothing);
