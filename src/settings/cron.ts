/**
 * Cron expressions, read in one place: what the settings accept is what the schedule can compute, as both come here.
 * Times are wall-clock readings, as ms of the same reading in UTC, so that no clock change can skip or repeat one.
 */
import { CronExpressionParser } from 'cron-parser';

/** A number or a name of three letters, alone, as a range, or with a step. */
const VALUE = '(?:\\d{1,2}|[a-z]{3})';
const ITEM = `(?:[*?]|${VALUE}(?:-${VALUE})?)(?:/\\d{1,2})?`;
const listOf = (item: string): RegExp => new RegExp(`^(?:${item})(?:,(?:${item}))*$`, 'i');
/** In the order they are written. L is the last day of the month, or the last such weekday; 1#2 the second Monday. */
const FIELDS = [
  { name: 'minute', shape: listOf(ITEM) },
  { name: 'hour', shape: listOf(ITEM) },
  { name: 'day', shape: listOf(`${ITEM}|L`) },
  { name: 'month', shape: listOf(ITEM) },
  { name: 'weekday', shape: listOf(`${ITEM}|${VALUE}L|${VALUE}#[1-5]`) },
] as const;

/** Any instant will do: whether a time can be computed does not depend on where one starts. */
const PROBED_FROM_MS = Date.UTC(2026, 0, 1);

const parsedAt = (expression: string, wallMs: number) =>
  CronExpressionParser.parse(expression, { tz: 'UTC', currentDate: new Date(wallMs) });

/** The last time of an expression before `wallMs`. The expression is one `cronProblem` finds nothing wrong with. */
export const cronTimeBefore = (expression: string, wallMs: number): number =>
  parsedAt(expression, wallMs).prev().getTime();

/** The first time of an expression after `wallMs`. The expression is one `cronProblem` finds nothing wrong with. */
export const cronTimeAfter = (expression: string, wallMs: number): number =>
  parsedAt(expression, wallMs).next().getTime();

/** Why an expression cannot be used, for the end of a sentence; null where it can. */
export function cronProblem(expression: string): string | null {
  if (expression.trim().startsWith('@')) return 'nicknames like @daily are not taken';
  const fields = expression.trim().split(/\s+/);
  if (fields.length !== FIELDS.length) return `it has ${fields.length} fields instead of ${FIELDS.length}`;
  for (const [index, { name, shape }] of FIELDS.entries()) {
    if (!shape.test(fields[index]!)) return `its ${name} '${fields[index]!}' cannot be read`;
  }
  try {
    cronTimeBefore(expression, PROBED_FROM_MS);
    cronTimeAfter(expression, PROBED_FROM_MS);
    return null;
  } catch {
    return 'a number is out of range, a name is none, or no such day ever comes';
  }
}
