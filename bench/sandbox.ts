/**
 * Runs the sandbox as a process: takes its scenario as an argument, prints its address, and serves until it is
 * stopped.
 */
import { createSandbox } from '../src/sandbox/server.ts';
import type { ScenarioInput } from '../src/sandbox/scenario.ts';

const sandbox = createSandbox(JSON.parse(process.argv[2] ?? '{}') as ScenarioInput);
const { url } = await sandbox.listen({ port: 0 });
process.stdout.write(`${url}\n`);
