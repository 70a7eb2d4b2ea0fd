/** `sandbox`: acts the platform out on loopback until it is stopped. */
import { shellWord } from '../../ledger/text.ts';
import { once } from 'node:events';
import type { Command } from 'commander';
import { z } from 'zod';
import { addDays, dayOf } from '../../ledger/business-day.ts';
import { packageFile } from '../../host/files.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import { UsageError } from '../../run/verdict/exit-codes.ts';
import { hostilitySchema } from './behaviour.ts';
import { latitudeSchema } from './latitude.ts';
import { readScenario, type Scenario } from './scenario.ts';
import { collect, print, stopSignal } from '../../cli/context.ts';
import { lines } from '../../cli/output/text.ts';

/** The port on loopback, unless another one is asked for. */
export const PORT_DEFAULT = 8404;
const SCENARIO_DEFAULT = packageFile('config/sandbox.yaml');

interface SandboxFlags {
  readonly port: string;
  readonly scenario: string;
  readonly hostility: readonly string[];
}

export function sandboxCommand(command: Command): void {
  command
    .option('--port <port>', 'port on 127.0.0.1; 0 takes a free one', String(PORT_DEFAULT))
    .option('--scenario <file>', 'the scenario that it simulates', SCENARIO_DEFAULT)
    .option(
      '--hostility <setting=value>',
      'switch on one way to misbehave, or another legal form of a reply (may be repeated)',
      collect,
      [],
    )
    .addHelpText(
      'after',
      `\nWays to misbehave: ${Object.keys(hostilitySchema.shape).join(', ')}\n\n` +
        `Legal forms: ${Object.keys(latitudeSchema.shape).join(', ')}\n\nExample:\n` +
        '  daybook sandbox --hostility order=request-shuffled --hostility envelope=list',
    )
    .action(async (flags: SandboxFlags, self: Command) => {
      if (!/^\d{1,5}$/.test(flags.port) || Number(flags.port) > 65_535)
        throw new UsageError(`--port ${flags.port} is no port; write a number up to 65535.`);
      const scenario = readScenario(flags.scenario);
      const { createSandbox } = await import('./server.ts');
      const sandbox = createSandbox({
        ...scenario,
        ...asked(scenario, flags.hostility),
      });
      const signal = stopSignal();
      const { url } = await sandbox.listen({ port: Number(flags.port) }).catch(async (error: unknown) => {
        await sandbox.close();
        throw portTaken(error) ? takenProblem(flags.port) : error;
      });
      const first = scenario.merchants[0]!;
      print(self, {
        document: { url, scenario: flags.scenario },
        text: lines(
          `the sandbox simulates the platform at ${url}; see ${url}/sandbox. Ctrl-C ends it.`,
          '',
          'In another terminal:',
          `  export PLATFORM_BASE_URL=${url} PLATFORM_TIME_ZONE=${scenario.timeZone}`,
          `  export PLATFORM_MERCHANT_NO=${shellWord(first.merchantNo)} PLATFORM_TOKEN=${shellWord(first.token)}`,
          scenario.now !== undefined && `  export DAYBOOK_NOW=${scenario.now}`,
          `  npx daybook run --from ${scenario.from} --to ${lastCompleteDay(scenario)}`,
        ),
      });
      if (!signal.aborted) await once(signal, 'abort');
      await sandbox.close();
    });
}

const portTaken = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';

const takenProblem = (port: string): UsageError =>
  new UsageError(
    `port ${port} on 127.0.0.1 is already in use. Stop the process that uses it, or choose another port: ` +
      '`daybook sandbox --port 0`.',
  );

/** The last day of the scenario's ledger that is over by the scenario's clock. */
function lastCompleteDay({ from, to, now, timeZone }: Scenario): BusinessDay {
  const yesterday = addDays(dayOf(now === undefined ? Date.now() : Date.parse(now), timeZone), -1);
  return [from, [to, yesterday].sort()[0]!].sort()[1]!;
}

/** Reads `order=descending` and the like, as the scenario's schema takes them. Throws `UsageError`. */
function asked(
  { hostility, latitude }: Scenario,
  settings: readonly string[],
): Pick<Scenario, 'hostility' | 'latitude'> {
  const ways: Record<string, unknown> = { ...hostility };
  const forms: Record<string, unknown> = { ...latitude };
  for (const one of settings) {
    const [name = '', value = ''] = one.split('=', 2);
    (name in latitudeSchema.shape ? forms : ways)[name] = valueOf(value);
  }
  const parsed = behaviourSchema.safeParse({ hostility: ways, latitude: forms });
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) =>
    `${path.slice(1).join('.')} ${message}`.trim(),
  );
  throw new UsageError(`--hostility: ${problems.join('; ')}. \`daybook sandbox --help\` lists the ways.`);
}

const behaviourSchema = z.object({ hostility: hostilitySchema, latitude: latitudeSchema });

function valueOf(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true';
  return text !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}
