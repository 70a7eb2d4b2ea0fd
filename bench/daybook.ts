/** One daybook run as a process: settings from the environment, what to do on stdin, figures as a line of JSON. */
import '../src/plugins.ts';
import { readFileSync } from 'node:fs';
import { keepHeapSmall } from '../src/cli/heap.ts';
import { chosenMerchants } from '../src/run/chosen-merchants.ts';
import { openPlatformApp, runDeps } from '../src/run/app.ts';
import { runFigures } from '../src/run/report.ts';
import { executeRun } from '../src/run/run.ts';
import type { RunRequest } from '../src/run/active-run.ts';
import { loadSettings } from '../src/settings/load.ts';
import { givenInput } from './input.ts';

keepHeapSmall();
const { command, range } = givenInput() as Pick<RunRequest, 'command' | 'range'>;
const settings = loadSettings({ env: process.env, readFile: (path) => readFileSync(path, 'utf8') });
const app = await openPlatformApp(settings, { env: process.env });
const merchants = await chosenMerchants(app, null);
const [started, usedBefore] = [performance.now(), process.cpuUsage()];
const report = await executeRun(
  { command, range, merchants, currencies: null },
  runDeps(app, new AbortController().signal),
);
const elapsedMs = performance.now() - started;
const { user, system } = process.cpuUsage(usedBefore);
const cpuMs = (user + system) / 1_000;
await app.close();
const { exitCode, notes } = report;
const peakMegabytes = process.resourceUsage().maxRSS / 1_024;
process.stdout.write(
  `${JSON.stringify({ elapsedMs, cpuMs, peakMegabytes, exitCode, notes, figures: runFigures(report) })}\n`,
);
