/**
 * `npm run faults -- [--minutes N] [--runs N] [--seed S] [--kind NAME,...] [--lanes N] [--records FILE] [--card
 * FILE]`: runs daybook with faults drawn from a seed, in several lanes side by side. `--case JSON` repeats one case.
 * Exits with 1 if a law was broken, and prints each such case.
 */
import '../../src/plugins.ts';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { readJsonLines } from '../../scripts/json-lines.ts';
import { endWithUsage, readArguments } from '../../scripts/read-arguments.ts';
import { attemptCase, type Tried } from './attempt.ts';
import { cardOf, tally, type Tally } from './card.ts';
import { drawCase, type FaultCase } from './case.ts';
import type { Kind } from './kind.ts';
import { FAULT_KINDS } from './kinds.ts';
import { canMount, openWorld } from './world.ts';

const MINUTES = 1;

const USAGE = `Usage: npm run faults -- [--minutes N] [--runs N] [--seed S] [--kind NAME,...] [--lanes N] [--records FILE] [--card FILE] [--case JSON]
Kinds: ${FAULT_KINDS.map(({ name }) => name).join(', ')}`;
const values = readArguments(USAGE, {
  minutes: { type: 'string', default: String(MINUTES) },
  runs: { type: 'string', default: 'Infinity' },
  seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
  kind: { type: 'string' },
  lanes: { type: 'string', default: '1' },
  card: { type: 'string' },
  records: { type: 'string' },
  case: { type: 'string' },
});
const seed = Number(values.seed);
const wanted = values.kind?.split(',') ?? [''];
const asked = FAULT_KINDS.filter(({ name }) => wanted.some((begin) => name.startsWith(begin)));
const kinds = canMount() ? asked : asked.filter(({ small }) => small === undefined);
if (
  kinds.length === 0 ||
  [seed, ...[values.minutes, values.runs, values.lanes].map(Number)].some(Number.isNaN)
)
  endWithUsage(USAGE);
for (const { name } of asked.filter((kind) => !kinds.includes(kind)))
  console.log(`${name} is not tried: no small file system can be mounted here`);

process.exit((values.case === undefined ? await explore(kinds) : await tryAgain(values.case)) === 0 ? 0 : 1);

/** Tries cases until time or runs are used up. Returns how many broke a law. */
async function explore(kinds: readonly Kind[]): Promise<number> {
  const began = performance.now();
  const untilMs = began + Number(values.minutes) * 60_000;
  const tallies = new Map<string, Tally>();
  // Large numbers of runs are made in parts. The results of earlier parts count too.
  const { records } = values;
  if (records !== undefined && existsSync(records)) {
    for (const one of readJsonLines<Tried>(records)) tally(tallies, one);
  }
  let nth = 0;
  let begun = 0;
  let found = 0;
  const lane = async (): Promise<void> => {
    const world = await openWorld();
    while (begun < Number(values.runs) && performance.now() < untilMs) {
      begun += 1;
      const drawn = drawCase(kinds, seed, nth++);
      const tried = await attemptCase(world, kindOf(drawn), drawn);
      if (!tried.isStruck) {
        begun -= 1;
        continue;
      }
      tally(tallies, tried);
      if (records !== undefined) appendFileSync(records, `${JSON.stringify(tried)}\n`);
      tell(tried);
      if (tried.broken.length > 0) found += 1;
      if (values.card !== undefined) writeFileSync(values.card, cardOf(FAULT_KINDS, tallies));
    }
    await world.close();
  };
  await Promise.all(Array.from({ length: Number(values.lanes) }, lane));
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  console.log(
    `${begun} faulted runs of ${tallies.size} kinds from seed ${seed} in ${seconds} s, ${found} broke a law`,
  );
  return found;
}

async function tryAgain(json: string): Promise<number> {
  const drawn = JSON.parse(json.startsWith('{') ? json : readFileSync(json, 'utf8')) as FaultCase;
  const world = await openWorld();
  const tried = await attemptCase(world, kindOf(drawn), drawn);
  await world.close();
  tell(tried);
  console.log(tried.isStruck ? `it ended with ${tried.exit}` : 'the run was over before the fault struck');
  return tried.broken.length;
}

function kindOf(drawn: FaultCase): Kind {
  const kind = FAULT_KINDS.find(({ name }) => name === drawn.kind);
  if (kind === undefined) throw new Error(`there is no kind of fault named ${drawn.kind}`);
  return kind;
}

function tell({ drawn, exit, elapsedMs, broken }: Tried): void {
  const took = `${(elapsedMs / 1_000).toFixed(1)} s`;
  const found = broken.length === 0 ? '' : `FOUND with seed ${seed}: `;
  console.log(`${found}${drawn.kind} (${drawn.story}, ${drawn.place}): ${exit} after ${took}`);
  if (broken.length === 0) return;
  for (const one of broken) console.log(`  ${one}`);
  console.log(`  try again: npm run faults -- --case '${JSON.stringify(drawn)}'`);
}
