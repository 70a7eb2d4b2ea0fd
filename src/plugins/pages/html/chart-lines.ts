/** Places, ticks and lines of a chart, to the bytes as d3-scale and d3-shape make them; the tests hold both against each other. */

type Range = readonly [from: number, to: number];
type Point = readonly [x: number, y: number];

/** Finds the place in `range` of a value of `domain`; of a domain without extent every value lies in the middle. */
export function linear([from, to]: Range, [rangeFrom, rangeTo]: Range): (value: number) => number {
  const extent = to - from;
  return (value) => {
    const share = extent === 0 ? 0.5 : (value - from) / extent;
    return rangeFrom * (1 - share) + rangeTo * share;
  };
}

/** Rounding outwards changes the step between ticks, and that the rounding; it has settled long before. */
const ROUNDINGS_MAX = 10;

/** The extent, made wider so that it begins and ends at a tick; one without extent stays as it is. `count`: from 2. */
export function widenedToTicks(extent: Range, count: number): Range {
  let [from, to] = extent;
  if (from === to) return extent;
  let before: number | null = null;
  for (let nth = 0; nth < ROUNDINGS_MAX; nth += 1) {
    const { step, perUnit } = stepOf(from, to, count);
    if (step === before) return [from, to];
    [from, to] =
      perUnit === null
        ? [Math.floor(from / step) * step, Math.ceil(to / step) * step]
        : [Math.floor(from * perUnit) / perUnit, Math.ceil(to * perUnit) / perUnit];
    before = step;
  }
  return extent;
}

/** Round values within the extent, about as many as `count` (from 2): 1, 2 or 5 times a power of ten apart. */
export function ticksIn([from, to]: Range, count: number): number[] {
  if (from === to) return [from];
  const { step, perUnit } = stepOf(from, to, count);
  const valueOf = (nth: number): number => (perUnit === null ? nth * step : nth / perUnit);
  let first = Math.round(perUnit === null ? from / step : from * perUnit);
  let last = Math.round(perUnit === null ? to / step : to * perUnit);
  if (valueOf(first) < from) first += 1;
  if (valueOf(last) > to) last -= 1;
  return Array.from({ length: last >= first ? last - first + 1 : 0 }, (_, at) => valueOf(first + at));
}

/** A step below 1 is known by how many make 1, which is exact in binary and the step is not. */
function stepOf(from: number, to: number, count: number): { step: number; perUnit: number | null } {
  const rough = (to - from) / count;
  const power = Math.floor(Math.log10(rough));
  const rest = rough / Math.pow(10, power);
  const factor = rest >= Math.sqrt(50) ? 10 : rest >= Math.sqrt(10) ? 5 : rest >= Math.sqrt(2) ? 2 : 1;
  if (power >= 0) return { step: Math.pow(10, power) * factor, perUnit: null };
  const perUnit = Math.pow(10, -power) / factor;
  return { step: 1 / perUnit, perUnit };
}

const rounded = (value: number): number => Math.round(value * 10) / 10;
const command = (letter: 'M' | 'L', x: number, y: number): string => `${letter}${rounded(x)},${rounded(y)}`;

/** A line that keeps each point's height until the next one, as an SVG path with one decimal. */
export const stepLine = (points: readonly Point[]): string =>
  points
    .map(([x, y], at) =>
      at === 0 ? command('M', x, y) : command('L', x, points[at - 1]![1]) + command('L', x, y),
    )
    .join('');

/** What lies between such a line and the height `base`. */
export function stepArea(points: readonly Point[], base: number): string {
  const back = points
    .map(([x]) => command('L', x, base))
    .reverse()
    .map((corner, at, corners) => (at === 0 ? '' : corners[at - 1]!) + corner);
  return `${stepLine(points)}${back.join('')}Z`;
}
