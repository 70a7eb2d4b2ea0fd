import { readFileSync } from 'node:fs';

/** The values of a file with one of them, as JSON, on each line. Throws if it cannot be read. */
export const readJsonLines = <One>(path: string): One[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as One);
