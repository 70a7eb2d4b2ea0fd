/** Makes the card of results: for each kind of fault its runs, how they ended, and how many broke no law. */
import type { Tried } from './attempt.ts';
import type { Kind } from './kind.ts';

export interface Tally {
  readonly runs: number;
  readonly held: number;
  /** How often each exit code occurred. */
  readonly exits: ReadonlyMap<string, number>;
  readonly longestMs: number;
}

const NONE: Tally = { runs: 0, held: 0, exits: new Map(), longestMs: 0 };

/** Adds one case to the counts. */
export function tally(tallies: Map<string, Tally>, { drawn, exit, elapsedMs, broken }: Tried): void {
  const before = tallies.get(drawn.kind) ?? NONE;
  const seen = exit === null ? 'killed' : String(exit);
  tallies.set(drawn.kind, {
    runs: before.runs + 1,
    held: before.held + (broken.length === 0 ? 1 : 0),
    exits: new Map([...before.exits, [seen, (before.exits.get(seen) ?? 0) + 1]]),
    longestMs: Math.max(before.longestMs, elapsedMs),
  });
}

const HEAD = `# Runs under faults

daybook's surroundings fail. \`npm run faults\` makes them fail, while the real command is at work: it reads from the
platform's sandbox over HTTP, keeps its rows in a real PostgreSQL (or the embedded one), and publishes to a folder or an
S3 server. The moment (the n-th byte, statement, call or effect) is drawn from a seed.

Each run holds if

- it ends by itself, within 180 s, with a code that fits the fault, never with 70, and a failure names what failed;
- it does not end with 0 while a published file is missing or altered;
- one more run, without a fault, ends with 0; rows and published bytes are then those of a run that was never disturbed
  (but for the ids of runs, the manifests' epoch, and their count), and \`daybook verify\` finds nothing.

A superuser may write anywhere, so the runs belong to another user where the tests belong to root. Disks are filled up on
a small tmpfs; where none can be mounted those kinds are left out, and the command says so. What struck too late to
disturb a run is not counted.
`;

const FOOT = `
## Running it

    npm run faults -- --minutes 5 --runs 80 --seed 2404
    npm run faults -- --kind database --minutes 2
    npm run faults -- --case '{"kind":"s3-gone","story":"first","place":"s3","at":0.5,"pick":0.1,"more":0.2}'
    npm run faults -- --minutes 120 --runs 500 --seed 2404 --records faults.jsonl --card docs/faults.md

The last line makes this card, of the runs in the file of records as well, so that many can be made in parts (each from a
seed of its own). A case that breaks a law is printed with its seed, and as the \`--case\` that tries it again.
With \`DAYBOOK_TEST_S3_ENDPOINT\`, \`_ACCESS_KEY\` and \`_SECRET_KEY\` the S3 server is that one.
`;

const heldOf = ({ runs, held }: Tally): string =>
  runs === 0 ? 'not tried' : held === runs ? 'all' : String(held);

/** The card's text. */
export function cardOf(kinds: readonly Kind[], tallies: ReadonlyMap<string, Tally>): string {
  const all = [...tallies.values()];
  const runs = all.reduce((sum, one) => sum + one.runs, 0);
  const held = all.reduce((sum, one) => sum + one.held, 0);
  const rows = kinds.map((kind) => {
    const one = tallies.get(kind.name) ?? NONE;
    const exits = [...one.exits].sort().map(([exit, times]) => `${exit} (${times})`);
    return `| ${kind.name} | ${kind.fault} | ${one.runs} | ${exits.join(', ')} | ${(one.longestMs / 1_000).toFixed(0)} s | ${heldOf(
      one,
    )} |`;
  });
  return [
    HEAD,
    `${runs} runs, ${held} of them held.`,
    '',
    '| kind | fault | runs | exits seen | longest | held |',
    '|---|---|---|---|---|---|',
    ...rows,
    FOOT,
  ].join('\n');
}
