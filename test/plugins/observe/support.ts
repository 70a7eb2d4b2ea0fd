/** Reads metrics as a scrape does. */

/** The value of each sample, by its name and labels as they stand in the text. */
export function samplesOf(text: string): ReadonlyMap<string, number> {
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const cut = line.lastIndexOf(' ');
        return [line.slice(0, cut), Number(line.slice(cut + 1))];
      }),
  );
}

/** The names after `# HELP`, with their sentences. */
export const helpOf = (text: string): ReadonlyMap<string, string> =>
  new Map([...text.matchAll(/^# HELP (\S+) (.+)$/gm)].map(([, name, help]) => [name!, help!]));
