/** The sandbox as a process: takes its scenario on stdin, prints its address, serves until it is ended. */
import '../src/plugins.ts';
import { givenInput } from './input.ts';
import { createSandbox } from '../src/plugins/sandbox/server.ts';
import type { ScenarioInput } from '../src/plugins/sandbox/scenario.ts';

const sandbox = createSandbox(givenInput() as ScenarioInput);
const { url } = await sandbox.listen({ port: 0 });
process.stdout.write(`${url}\n`);
