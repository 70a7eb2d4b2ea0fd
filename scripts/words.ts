/**
 * Finds words that readers of this project stumbled over, with what to write in their place: in the code, the pages and the
 * comments of the database. Exits with 1 if it finds any. `node scripts/words.ts [PATH...]`
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** Each word with what to write in its place. A word is matched in every case, also as a part of a name in camel case. */
const WORDS: readonly (readonly [word: string, instead: string])[] = [
  ['told', 'reported, shown, named'],
  ['untold', 'unreported'],
  ['beside|besides', 'next to, with, as well as'],
  ['whole|wholly', 'complete, full, entire, all of'],
  ['look|looks|looked|looking', 'check, read, search'],
  ['mend|mends|mended|mending', 'fix, repair'],
  ['deed|deeds', 'audit event'],
  ['gravest', 'most severe'],
  ['sturdy', 'retrying'],
  ['stranger|strangers', 'out-of-scope record, unknown sender'],
  ['nobody', 'the actor, or the passive voice'],
  ['resweep|resweeps|re-sweep|re-sweeps', 'lookback'],
];

/** Where such a word is right: names that outsiders rely on, and words of others that are quoted. */
const ALLOWED: readonly RegExp[] = [
  /--whole\b/g,
  /(?<!-)resweep/gi,
  /lookback/gi,
  /lookahead/gi,
  /look(?:-|_)?up\b/gi,
];

/** Kept as it was written: past changes, fixtures, generated pages of figures, migrations that have landed. */
const LEFT_ALONE = [
  /^CHANGELOG\.md$/,
  /^docs\/catch-rate\.md$/,
  /^docs\/mutation\.md$/,
  /^docs\/reference\//,
  /^sql\/\d/,
  /^src\/store\/engine\/schema\.ts$/,
  /^scripts\/words\.ts$/,
];

export interface Place {
  readonly file: string;
  readonly line: number;
  readonly word: string;
  readonly instead: string;
}

/** The places of such words in a text, in order. */
export function wordsIn(file: string, text: string): Place[] {
  const plain = (line: string): string =>
    ALLOWED.reduce((left, allowed) => left.replace(allowed, ''), line)
      .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
      .replaceAll('_', ' ');
  return text.split('\n').flatMap((line, at) => {
    const read = plain(line);
    return PATTERNS.flatMap(({ pattern, instead }) =>
      [...read.matchAll(pattern)].map(([word]) => ({ file, line: at + 1, word, instead })),
    );
  });
}

const PATTERNS = WORDS.map(([word, instead]) => ({
  pattern: new RegExp(`(?<![A-Za-z-])(?:${word})(?![A-Za-z-])`, 'gi'),
  instead,
}));

/** The files of the project that are read: code, pages, SQL and settings, without what is left alone. */
function files(paths: readonly string[]): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...paths], {
    encoding: 'utf8',
  });
  return listed
    .split('\n')
    .filter(
      (file) =>
        /\.(?:ts|md|sql|yaml|env|sh)$/.test(file) &&
        !LEFT_ALONE.some((kept) => kept.test(file)) &&
        existsSync(file),
    );
}

if (import.meta.main) {
  const asked = process.argv.slice(2);
  const read = files(
    asked.length > 0 ? asked : ['src', 'jobs', 'docs', 'sql', 'README.md', 'CONTRIBUTING.md'],
  );
  const places = read.flatMap((file) => wordsIn(file, readFileSync(file, 'utf8')));
  for (const { file, line, word, instead } of places) {
    process.stdout.write(`${file}:${line}: "${word}": write ${instead}\n`);
  }
  process.stdout.write(`${places.length} words to replace in ${read.length} files\n`);
  if (places.length > 0) process.exitCode = 1;
}
