/**
 * `npm run simulate -- [--kind chains|windows|histories|proofs|refusals|absences|orders|stretches] [--minutes N] [--seed S] [--runs N]`: tries the kept cases,
 * then new ones, with one process per kind. Exits with 1 if a law was broken, and keeps those cases next to this file.
 */
import '../../src/plugins.ts';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { endWithUsage, readArguments } from '../../scripts/read-arguments.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { explore, findingText } from './explore.ts';
import { keep, keptSeeds } from './kept-seeds.ts';
import { KINDS, type Kept, type Kind } from './oracle.ts';
import { openOracle } from './oracles.ts';

const MINUTES = 1;

interface Asked {
  readonly minutes: number;
  readonly seed: number;
  readonly runs: number;
}

/** Simulates one kind in this process. Returns the broken cases for the parent process to keep. */
async function simulate(kind: Kind, { minutes, seed, runs }: Asked): Promise<readonly Kept[]> {
  const oracle = await openOracle(kind, () => process.env['SIMULATION_POSTGRES_URL']!);
  const say = (text: string) => console.log(`${kind}: ${text}`);
  const tell = (kept: Kept, broken: readonly string[]) => say(findingText(kept, broken));
  const findings: Kept[] = [];
  for (const kept of keptSeeds(kind)) {
    const broken = await oracle.check(kept.case);
    if (broken.length > 0) {
      findings.push(kept);
      tell(kept, broken);
    }
  }
  const began = performance.now();
  const untilMs = began + minutes * 60_000;
  const explored = await explore(
    oracle,
    {
      seed,
      untilMs,
      runsMax: runs,
      now: () => performance.now(),
      known: new Set(findings.map(({ law }) => law)),
    },
    tell,
  );
  await oracle.close();
  const seconds = (performance.now() - began) / 1_000;
  say(
    `${explored.runs} runs from seed ${seed} in ${seconds.toFixed(1)} s, ${findings.length} kept cases broke a law`,
  );
  for (const [law, count] of [...explored.counts].sort(([, a], [, b]) => b - a))
    say(`${count} times: ${law}`);
  return [...findings, ...explored.findings];
}

/** Starts a process for each kind, all on one server. Returns true if nothing was found. */
async function simulateAll(kinds: readonly Kind[], { minutes, seed, runs }: Asked): Promise<boolean> {
  const server = await startPostgres({ durable: false });
  await createTemplate(server.url);
  const found: Kept[] = [];
  const codes = await Promise.all(
    kinds.map(async (kind) => {
      const args = [
        '--kind',
        kind,
        '--minutes',
        String(minutes),
        '--seed',
        String(seed),
        '--runs',
        String(runs),
      ];
      const env = { ...process.env, SIMULATION_POSTGRES_URL: server.url };
      const child = fork(import.meta.filename, args, { env });
      child.on('message', (findings) => void found.push(...(findings as Kept[])));
      const [code] = (await once(child, 'exit')) as [number | null];
      return code;
    }),
  );
  await server.stop();
  keep(found);
  return codes.every((code) => code === 0);
}

const USAGE = `Usage: npm run simulate -- [--kind ${KINDS.join('|')}] [--minutes N] [--seed S] [--runs N]`;
const values = readArguments(USAGE, {
  kind: { type: 'string' },
  minutes: { type: 'string', default: String(MINUTES) },
  seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
  runs: { type: 'string', default: 'Infinity' },
});
const asked = { minutes: Number(values.minutes), seed: Number(values.seed), runs: Number(values.runs) };
const kinds = KINDS.filter((kind) => values.kind === undefined || values.kind === kind);
if (kinds.length === 0 || Object.values(asked).some(Number.isNaN)) endWithUsage(USAGE);
if (process.send !== undefined) {
  const findings = await simulate(kinds[0]!, asked);
  await new Promise((resolve) => process.send!(findings, resolve));
  process.exit(findings.length === 0 ? 0 : 1);
}
console.log(`simulating ${kinds.join(', ')} from seed ${asked.seed}`);
process.exit((await simulateAll(kinds, asked)) ? 0 : 1);
