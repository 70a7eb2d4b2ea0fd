/**
 * `npm run mutate -- [--folder src/F] [--since COMMIT] [--seed N] [--count N] [--minutes N] [--seconds N] [--lanes N]
 * [--coverage FOLDER] [--known FILE] [--record FILE] [--card FILE] [--at-least SHARE]`: puts small faults into copies of
 * the source and counts how many of them the tests notice. Exits with 1 if the share is below `--at-least`, or nothing
 * could be tried.
 */
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  cardOf,
  describe,
  percent,
  scoreOf,
  shareOf,
  shareOfAll,
  type Accepted,
  type Result,
} from './mutate/card.ts';
import { readCovering, type Covering } from './mutate/covering.ts';
import { drawMutants, sourcesOf } from './mutate/draw.ts';
import { endWithUsage, readArguments } from './read-arguments.ts';
import { createEmbeddedTemplate } from '../test/plugins/embedded/fresh.ts';
import { changedSince, filesOf } from './mutate/git.ts';
import { readJsonLines } from './json-lines.ts';
import { drawKnown, type Known, type KnownMutant } from './mutate/known.ts';
import { EMBEDDED_TEMPLATE, openLane, type Lane } from './mutate/lane.ts';
import type { Mutant } from './mutate/mutants.ts';
import { nearestTests, testFiles } from './mutate/nearest.ts';
import { readReach } from './mutate/reach.ts';
import { readTimes } from './mutate/times.ts';
import { tryMutant } from './mutate/try.ts';

const USAGE =
  'Usage: npm run mutate -- [--folder src/F] [--since COMMIT] [--seed N] [--count N] [--minutes N] [--seconds N] [--lanes N] ' +
  '[--coverage FOLDER] [--known FILE] [--record FILE] [--card FILE] [--at-least SHARE]';
const values = readArguments(USAGE, {
  folder: { type: 'string' },
  since: { type: 'string' },
  seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
  count: { type: 'string', default: '40' },
  minutes: { type: 'string', default: 'Infinity' },
  // How long tests are run with one mutant, before it counts as a survivor.
  seconds: { type: 'string', default: '120' },
  lanes: { type: 'string', default: '2' },
  record: { type: 'string' },
  card: { type: 'string' },
  // The folder that a run of the tests wrote what it covers to, with DAYBOOK_TEST_COVERAGE.
  coverage: { type: 'string' },
  // A file of mutants that tests are known to notice: they are tried again, and no new ones.
  known: { type: 'string' },
  'at-least': { type: 'string', default: '0' },
});
const asked = [values.seed, values.count, values.minutes, values.seconds, values.lanes, values['at-least']];
const [seed, count, minutes, seconds, lanes, atLeast] = asked.map(Number) as [
  ...[seed: number, count: number, minutes: number, seconds: number, lanes: number, atLeast: number],
];
if (asked.map(Number).some(Number.isNaN)) endWithUsage(USAGE);
const began = performance.now();
const untilMs = began + minutes * 60_000;
const root = fileURLToPath(new URL('..', import.meta.url));
const accepted = JSON.parse(
  readFileSync(join(root, 'docs/mutation-accepted.json'), 'utf8'),
) as readonly Accepted[];
const results: Result[] =
  values.record !== undefined && existsSync(values.record) ? readJsonLines<Result>(values.record) : [];

const scratch = await mkdtemp(join(tmpdir(), 'daybook-mutate-'));
const open: Lane[] = [];
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end(130));
await end(
  await main().catch((error: unknown) => {
    console.error(error);
    return 1;
  }),
);

/** Returns the exit code. */
async function main(): Promise<number> {
  const [drawn, of] = values.known === undefined ? drawNew() : drawAgain(values.known);
  const wasTried = (one: Mutant): boolean =>
    results.some(({ file, start, after }) => file === one.file && start === one.start && after === one.after);
  const left: (Mutant | KnownMutant)[] = drawn.filter((one) => !wasTried(one));
  const covering: Covering =
    values.coverage === undefined
      ? () => null
      : readCovering(values.coverage, new Set(left.map(({ file }) => file)));
  console.log(
    `${drawn.length} mutants of ${of}, seed ${seed}; ${drawn.length - left.length} of them tried before`,
  );
  await chmod(scratch, 0o755);
  const tests = testFiles(root);
  const reach = readReach();
  const times = readTimes(root);
  const seen = { sound: new Set<string>(), broken: new Set<string>() };
  let nth = drawn.length - left.length;
  const lane = async (at: number): Promise<void> => {
    const own = await openLane(root, scratch, at, lanes === 1 ? 2 : 1);
    open.push(own);
    for (let one = left.shift(); one !== undefined && performance.now() < untilMs; one = left.shift()) {
      const nearest = nearestTests(tests, one, times.secondsOf, {
        best: reach[one.file],
        covering: covering(one.file, one.start),
      });
      const near = 'noticedBy' in one ? [...new Set([one.noticedBy, ...nearest])] : nearest;
      const tried = await tryMutant(own, one, { near, seconds, untilMs, times, ...seen });
      if (tried === null) return;
      const { file, line, before, after, start } = one;
      const result: Result = { file, line, before, after, start, seed, ...tried };
      results.push(result);
      if (values.record !== undefined) appendFileSync(values.record, `${JSON.stringify(result)}\n`);
      tell(`${++nth}/${drawn.length}`, result);
    }
  };
  await createEmbeddedTemplate(join(scratch, EMBEDDED_TEMPLATE));
  await Promise.all(Array.from({ length: lanes }, (_, at) => lane(at)));
  times.keep();
  if (nth < drawn.length) console.log(`no time was left for ${drawn.length - nth} of them`);
  for (const test of seen.broken) console.log(`not counted, as it fails without a mutant: ${test}`);
  return summary();
}

function drawNew(): [readonly Mutant[], string] {
  const wanted = { ...values, seed, count };
  const [sources, of] = sourcesOf(filesOf(root), wanted, (commit) => changedSince(root, commit));
  return [drawMutants(root, sources, { seed, count }), of];
}

function drawAgain(path: string): [readonly KnownMutant[], string] {
  const changed = values.since === undefined ? new Set<string>() : changedSince(root, values.since);
  return [drawKnown(root, readJsonLines<Known>(path), { seed, count }, changed), `those in ${path}`];
}

function tell(nth: string, result: Result): void {
  const said = result.noticedBy === null ? 'SURVIVED' : 'noticed';
  const score = percent(shareOf(scoreOf(results, accepted)));
  const by =
    result.noticedBy === null ? `${result.tried} of ${result.reaching} test files` : result.noticedBy;
  console.log(`${nth} ${said} ${result.seconds.toFixed(1)} s, ${score} so far. ${describe(result)} (${by})`);
}

function summary(): number {
  const score = scoreOf(results, accepted);
  if (values.card !== undefined) {
    writeFileSync(values.card, cardOf(results, accepted, new Date().toISOString().slice(0, 10)));
  }
  const took = ((performance.now() - began) / 1_000).toFixed(0);
  console.log(
    `${score.noticed} of ${score.tried} mutants noticed: ${percent(shareOf(score))} without ${score.equivalent} equivalent ones, ` +
      `${percent(shareOfAll(score))} with them; ${took} s`,
  );
  return score.tried > 0 && shareOf(score) >= atLeast ? 0 : 1;
}

/** Nothing is left behind, however it ends. */
async function end(code: number): Promise<never> {
  await Promise.allSettled(open.map((one) => one.close()));
  rmSync(scratch, { recursive: true, force: true });
  process.exit(code);
}
