/** Spans for traces, as the working modules see them. The caller at the top decides whether and how they are recorded. */

/** What a span may say: never a token, an amount or the number of an entry. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** Adds to the span what is known only once its work is done. */
export type AnnotateSpan = (attributes: SpanAttributes) => void;

/** Does the work as a span inside the span that is at work now. Resolves and rejects as the work does. */
export type Trace = <Result>(
  name: string,
  attributes: SpanAttributes,
  work: (annotate: AnnotateSpan) => Promise<Result>,
) => Promise<Result>;

const nothing = (): void => undefined;

/** Records nothing. */
export const UNTRACED: Trace = (_name, _attributes, work) => work(nothing);
