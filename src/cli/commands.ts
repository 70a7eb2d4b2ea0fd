/**
 * The commands of the core: how each is called and what it is for, which `daybook --help` lists, and where it is defined; then
 * those of the plugins. The code of a command is loaded when it is asked for.
 */
import type { CommandEntry, Plugin } from '../plugin.ts';
import { VERIFY_ABOUT } from '../verify/words.ts';

export const nameOf = ({ usage }: CommandEntry): string => usage.split(' ')[0]!;

const CORE: readonly CommandEntry[] = [
  {
    usage: 'run [options]',
    about: 'read the ledger, prove it, publish statements: yesterday and the lookback, or --from to --to',
    load: async () => (await import('./run.ts')).runCommand,
  },
  {
    usage: 'sync [options]',
    about: 'only read the ledger into the database',
    load: async () => (await import('./run.ts')).syncCommand,
  },
  {
    usage: 'reconcile [options]',
    about: 'only prove the balance chain of what is stored, reading again where it breaks',
    load: async () => (await import('./run.ts')).reconcileCommand,
  },
  {
    usage: 'publish [options]',
    about: 'only publish the statements that are due',
    load: async () => (await import('./run.ts')).publishCommand,
  },
  {
    usage: 'backfill [options]',
    about: 'read, prove and publish historical days, slice by slice, in addition to the nightly run',
    load: async () => (await import('./backfill.ts')).backfillCommand,
  },
  {
    usage: 'plan [options]',
    about:
      'what `run` with these flags would do, writing nothing: calls, and days that change, before and after',
    load: async () => (await import('./run.ts')).planCommand,
  },
  {
    usage: 'status [options]',
    about: 'the last run and the next; per merchant: which days are proven, what is missing, what is open',
    load: async () => (await import('./status.ts')).statusCommand,
  },
  {
    usage: 'runs [options] [id]',
    about: 'what ran, newest first: how each run ended, and why',
    load: async () => (await import('./runs.ts')).runsCommand,
  },
  {
    usage: 'breaks [options]',
    about: 'open breaks, with the likely cause of each',
    load: async () => (await import('./breaks.ts')).breaksCommand,
  },
  {
    usage: 'amendments [options]',
    about: 'entries that the platform changed or removed after they were stored; earlier contents are kept',
    load: async () => (await import('./entries.ts')).amendmentsCommand,
  },
  {
    usage: 'quarantine [options]',
    about: 'received entries that could not be read, or were not requested; stored as received',
    load: async () => (await import('./entries.ts')).quarantineCommand,
  },
  {
    usage: 'entries [options]',
    about: 'find an entry',
    load: async () => (await import('./entries.ts')).entriesCommand,
  },
  {
    usage: 'statements [options]',
    about: 'find and download published statements',
    load: async () => (await import('./statements.ts')).statementsCommand,
  },
  {
    usage: 'close [options] [month]',
    about: 'close a month: freeze its statements, so that later revisions show as adjustments',
    load: async () => (await import('./close.ts')).closeCommand,
  },
  {
    usage: 'verify [options] <path...>',
    about: VERIFY_ABOUT,
    load: async () => (await import('./verify.ts')).verifyCommand,
  },
  {
    usage: 'audit [options]',
    about: 'who did what by hand: downloads, resolutions, closes, revealed secrets; newest first',
    load: async () => (await import('./maintenance.ts')).auditCommand,
  },
  {
    usage: 'merchants [options]',
    about: 'whose ledgers to sync',
    load: async () => (await import('./merchants.ts')).merchantsCommand,
  },
  {
    usage: 'schedule [options]',
    about:
      'run the nightly job, the midday check and the reference data on schedule, and backfills in between; stop with SIGTERM or Ctrl-C',
    load: async () => (await import('./schedule.ts')).scheduleCommand,
  },
  {
    usage: 'migrate [options]',
    about: 'bring the database to this version; repeating it does nothing',
    load: async () => (await import('./maintenance.ts')).migrateCommand,
  },
  {
    usage: 'prune [options]',
    about: 'delete old records of work that is over; without --yes it only counts them',
    load: async () => (await import('./maintenance.ts')).pruneCommand,
  },
  {
    usage: 'doctor [options]',
    about:
      'check settings, schedule, signing key, alerts, database, object store, platform and time zone, and show how to fix each',
    load: async () => (await import('./maintenance.ts')).doctorCommand,
  },
];

const CORE_NAMES = new Set(CORE.map(nameOf));

/** The commands of the core and of these plugins, in the order of `daybook --help`. */
export function commandsOf(plugins: readonly Plugin[]): readonly CommandEntry[] {
  const added = Map.groupBy(
    plugins.flatMap(({ commands = [] }) => commands),
    ({ after }) => (after !== undefined && CORE_NAMES.has(after) ? after : null),
  );
  return [
    ...CORE.flatMap((entry) => [entry, ...(added.get(nameOf(entry)) ?? [])]),
    ...(added.get(null) ?? []),
  ];
}
