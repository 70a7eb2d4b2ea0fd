/**
 * Reads cron expressions, both for the settings and for the schedule. So every accepted expression can be computed.
 * All times are wall-clock times, as the ms at which a clock in UTC shows the same, so no clock change skips or
 * repeats one.
 */
import { Cron } from 'croner';

/** A number or a name of three letters. `ITEM` allows it alone, as a range, or with a step. */
const VALUE = '(?:\\d{1,2}|[a-z]{3})';
const ITEM = `(?:[*?]|${VALUE}(?:-${VALUE})?)(?:/\\d{1,2})?`;
const listOf = (item: string): RegExp => new RegExp(`^(?:${item})(?:,(?:${item}))*$`, 'i');
/**
 * The fields in the order they are written. L is the last day of the month, `5L` its last Friday, `1#2` its second
 * Monday. `stepMax` is the largest step that croner takes. A larger one has the same meaning: the first value alone.
 */
const FIELDS = [
  { name: 'minute', min: 0, max: 59, stepMax: 60, shape: listOf(ITEM) },
  { name: 'hour', min: 0, max: 23, stepMax: 24, shape: listOf(ITEM) },
  { name: 'day', min: 1, max: 31, stepMax: 31, shape: listOf(`${ITEM}|L`) },
  { name: 'month', min: 1, max: 12, stepMax: 12, shape: listOf(ITEM) },
  { name: 'weekday', min: 0, max: 7, stepMax: 7, shape: listOf(`${ITEM}|${VALUE}L|${VALUE}#[1-5]`) },
] as const;

/** Whether each number in a field is one of its values; steps, and which weekday of a month, are no values. */
const isInRange = (field: string, { min, max }: { readonly min: number; readonly max: number }): boolean =>
  (field.replace(/[/#]\d+/g, '').match(/\d+/g) ?? []).every(
    (number) => min <= Number(number) && Number(number) <= max,
  );

/** Any instant will do. Whether an expression has a next time does not depend on where the search starts. */
const PROBED_FROM_MS = Date.UTC(2026, 0, 1);

function ofExpression(expression: string): Cron {
  const fields = expression.trim().split(/\s+/);
  const taken = fields.map((field, index) =>
    field.replace(/\/(\d+)/g, (_, step: string) => `/${Math.min(Number(step), FIELDS[index]!.stepMax)}`),
  );
  // A range ends on Sunday as 7 alone.
  return new Cron(taken.join(' ').replace(/sun/gi, '0'), { timezone: 'UTC', paused: true });
}

/** The last time of an expression before `wallMs`. `cronProblem` must have accepted the expression. */
export const cronTimeBefore = (expression: string, wallMs: number): number =>
  timeOf(ofExpression(expression).previousRuns(1, new Date(wallMs))[0]);

/** The first time of an expression after `wallMs`. `cronProblem` must have accepted the expression. */
export const cronTimeAfter = (expression: string, wallMs: number): number =>
  timeOf(ofExpression(expression).nextRun(new Date(wallMs)));

function timeOf(found: Date | null | undefined): number {
  if (found === null || found === undefined) throw new Error('the expression has no such time');
  return found.getTime();
}

/** Why an expression cannot be used, as the end of a sentence; null if it can. */
export function cronProblem(expression: string): string | null {
  if (expression.trim().startsWith('@')) return 'nicknames like @daily are not taken';
  const fields = expression.trim().split(/\s+/);
  if (fields.length !== FIELDS.length) return `it has ${fields.length} fields instead of ${FIELDS.length}`;
  for (const [index, { name, shape, ...range }] of FIELDS.entries()) {
    const field = fields[index]!;
    if (!shape.test(field)) return `its ${name} '${field}' cannot be read`;
    if (!isInRange(field, range)) return `its ${name} '${field}' has a number out of range`;
  }
  try {
    cronTimeBefore(expression, PROBED_FROM_MS);
    cronTimeAfter(expression, PROBED_FROM_MS);
    return null;
  } catch {
    return 'a name is none, a range goes backwards, or no such day ever comes';
  }
}
