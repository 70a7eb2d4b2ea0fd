/** `sandbox`: acts the platform out on loopback until it is stopped. */
import { shellWord } from '../../ledger/text.ts';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
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
import { dayFlag } from '../../cli/flags.ts';
import { counted, lines } from '../../cli/output/text.ts';

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
  addBooksCommand(command);
}

interface OwnBooksFlags {
  readonly from?: string;
  readonly to?: string;
  readonly scenario: string;
  readonly merchant?: string;
  readonly seed: string;
  readonly references: string;
}

/** The largest fee in an own book, in minor units. */
const FEE_MAX = 50;

function addBooksCommand(sandbox: Command): void {
  sandbox
    .command('books')
    .argument(
      '<folder>',
      'where to write own-books.csv, own-books.yaml and truth.json; new, or they are replaced',
    )
    .description(
      'make up a merchant’s own books of the sandbox’s ledger, with known faults, to try `daybook books`',
    )
    .option('--scenario <file>', 'the scenario that has the ledger', SCENARIO_DEFAULT)
    .option('--merchant <no>', 'whose books; left out: those of the scenario’s first merchant')
    .option('--from <day>', 'only of the ledger’s entries from this day on, YYYY-MM-DD')
    .option('--to <day>', 'only of its entries up to this day')
    .option('--seed <text>', 'what the faults are drawn from', '1')
    .option(
      '--references <share>',
      'the share of rows whose reference has the batch number, from 0 to 1',
      '0.5',
    )
    .action(async (folder: string, _flags: object, self: Command) => {
      const { scenario: file, merchant, seed, references, ...days } = self.optsWithGlobals<OwnBooksFlags>();
      const [from = '', to = '9999-12-31'] = [dayFlag('--from', days.from), dayFlag('--to', days.to)];
      const share = Number(references);
      if (references.trim() === '' || !(share >= 0 && share <= 1))
        throw new UsageError(`--references ${references} is no share; write a number from 0 to 1, like 0.5.`);
      const scenario = readScenario(file);
      const { merchants, timeZone: zone } = scenario;
      const owner =
        merchant === undefined ? merchants[0]! : merchants.find((one) => one.merchantNo === merchant);
      if (owner === undefined) {
        const known = merchants.map(({ merchantNo }) => merchantNo).join(', ');
        throw new UsageError(`the scenario has no merchant ${merchant}; --merchant can be ${known}.`);
      }
      const { merchantNo, currencies } = owner;
      const [{ bookedEntries, generateLedger }, { ownBook, ownBookCsv, ownBookMap }] = await Promise.all([
        import('./ledger.ts'),
        import('./own-books.ts'),
      ]);
      const nowMs = scenario.now === undefined ? Date.now() : Date.parse(scenario.now);
      const entries = bookedEntries(generateLedger(scenario, merchantNo, currencies), nowMs).filter(
        ({ bookedMs }) => dayOf(bookedMs, zone) >= from && dayOf(bookedMs, zone) <= to,
      );
      const book = ownBook(entries, { seed, zone, references: share, feeMax: FEE_MAX });
      await mkdir(folder, { recursive: true });
      const [csv, map, truth] = ['own-books.csv', 'own-books.yaml', 'truth.json'].map((name) =>
        join(folder, name),
      );
      await writeFile(csv!, ownBookCsv(book));
      await writeFile(map!, ownBookMap(merchantNo, zone));
      await writeFile(truth!, `${JSON.stringify(book.truth, null, 1)}\n`);
      const faulty = book.truth.filter(({ fault }) => fault !== 'none').length;
      print(self, {
        document: { merchantNo, rows: book.rows.length, faulty, csv, map, truth },
        text: lines(
          `${counted(book.rows.length, 'row', 'rows')} of ${merchantNo} are in ${csv}; what is wrong on purpose is in ${truth}.`,
          '',
          `  npx daybook books import ${shellWord(csv!)} --map ${shellWord(map!)} --by you`,
          '  npx daybook books match',
        ),
      });
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
