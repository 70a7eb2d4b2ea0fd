/** The marks of the months, as somebody hears them who does not see them: `USD 2026-03-03 broken`. */
export const cellsOf = (html: string): string[] =>
  [...html.matchAll(/href="\/m\/[^/]+\/(\w+)\/([\d-]+)"\s+aria-label="([^"]+)"/g)].map(
    ([, currency, day, label]) => `${currency!} ${day!} ${label!}`,
  );
