/** Ages as people write them: `90m`, `26h`, `2d`. */
const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads an age as ms; null if the text is none. */
export function ageOf(text: string): number | null {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit ?? ''];
  return count === undefined || unitMs === undefined ? null : Number(count) * unitMs;
}

/** `26h`; in minutes where it is not full hours. */
export const ageName = (ms: number): string =>
  ms % 3_600_000 === 0 ? `${ms / 3_600_000}h` : `${Math.ceil(ms / 60_000)}m`;
