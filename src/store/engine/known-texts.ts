/**
 * Remembers the SQL text of each `sql` template. A template's text is the same each time, and putting it together costs
 * more than all its values do. With the same text object each time, all maps by text are quick as well.
 */
import type { CompiledQuery, OperationNode, QueryCompiler, RawNode, ValueNode } from 'kysely';

/** Places remembered at a time. daybook's statements have some thousands of them. */
const PLACES_MAX = 20_000;

/** Stands for a value where a template has a parameter. */
const VALUE = Symbol('value');

/** The texts of a template, a place for a value, or a literal. */
type Step = object | typeof VALUE | string | number | boolean | null;

/** A template and what follows it: what has been walked through of a statement so far. */
interface Place {
  readonly next: Map<Step, Place>;
  /** The complete text of the statement that ends here; null if it is not known yet. */
  sql: string | null;
}

const isRaw = (node: OperationNode): node is RawNode => node.kind === 'RawNode';
const isValue = (node: OperationNode): node is ValueNode => node.kind === 'ValueNode';
const isLiteral = (value: unknown): value is string | number | boolean | null =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value);
const newPlace = (): Place => ({ next: new Map(), sql: null });

/** Compiles as `compiler` does, and asks it once for each statement that is made of `sql` templates, values and literals alone. */
export function withKnownTexts(compiler: QueryCompiler): QueryCompiler {
  let start = newPlace();
  let places = 0;

  const after = (place: Place, step: Step): Place => {
    let next = place.next.get(step);
    if (next === undefined) {
      place.next.set(step, (next = newPlace()));
      places += 1;
    }
    return next;
  };

  /** Walks through a statement and collects its values. Null: it holds something else, so its text may differ. */
  const walk = (from: Place, node: OperationNode, values: unknown[]): Place | null => {
    if (isValue(node)) {
      if (node.immediate === true) return isLiteral(node.value) ? after(from, node.value) : null;
      values.push(node.value);
      return after(from, VALUE);
    }
    // What only wraps one part, as `sql.lit` does, adds no text.
    if (isRaw(node) && node.parameters.length === 1 && node.sqlFragments.every((text) => text === ''))
      return walk(from, node.parameters[0]!, values);
    // A template's texts are one object for good. What `sql.raw` and the like make has new ones each time.
    if (!isRaw(node) || !('raw' in node.sqlFragments)) return null;
    let place: Place | null = after(from, node.sqlFragments);
    for (const parameter of node.parameters) {
      place = walk(place, parameter, values);
      if (place === null) return null;
    }
    return place;
  };

  return {
    compileQuery: (node, queryId): CompiledQuery => {
      const parameters: unknown[] = [];
      const end = walk(start, node, parameters);
      if (end !== null && end.sql !== null) return { query: node, queryId, sql: end.sql, parameters };
      const compiled = compiler.compileQuery(node, queryId);
      if (end !== null) end.sql = compiled.sql;
      if (places > PLACES_MAX) {
        start = newPlace();
        places = 0;
      }
      return compiled;
    },
  };
}
