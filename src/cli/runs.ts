/** `runs`: lists runs, how each ended and why; shows the figures of one; and gives up a requested range. */
import type { Command } from 'commander';
import { UsageError, type Reason } from '../run/verdict/exit-codes.ts';
import { notesOf, reasonOf, withStates, type KnownRun, runEnd } from '../run/run-state.ts';
import { latestRuns, runById } from '../store/runs.ts';
import { closeRequests } from '../store/requests.ts';
import { answer, withBy } from './context.ts';
import { idFlag } from './flags.ts';
import { reasonText } from './output/run-text.ts';
import { lines, listTable, table, type Times } from './output/text.ts';

const SHOWN = 20;
const ALL_MAX = 10_000;
const REASON_SHOWN_MAX = 100;

export function runsCommand(runs: Command): void {
  runs
    .argument('[id]', 'one run: its figures, and why it ended as it did')
    .option('--all', `not only the last ${SHOWN}`)
    .addHelpText(
      'after',
      '\nA run without an end, whose process is missing or holds no lease, was killed; the next one continues from ' +
        'there.\n\nExamples:\n  daybook runs\n  daybook runs 42\n  daybook runs forget-range 7',
    )
    .action((id: string | undefined, { all = false }: { readonly all?: boolean }, self: Command) =>
      id === undefined ? listRuns(all, self) : showRun(id, self),
    );
  withBy(runs.command('forget-range'))
    .argument('<id>', 'the range’s number, as `daybook status` shows it')
    .description(
      'give up days that were asked for with --from and --to and are not read; what was read stays',
    )
    .action((text: string, _flags: object, self: Command) => {
      const unknown = `no open range has the number ${text}; \`daybook status\` lists them.`;
      return answer(self, async ({ recorded }) => {
        const id = idFlag(text, unknown);
        await recorded({ subject: id }, async (trx, now) => {
          if ((await closeRequests(trx, [id], { askedBy: 'run', state: 'cancelled', now })) === 0)
            throw new UsageError(unknown);
        });
        return { document: { id, forgotten: true }, text: `range ${text} is given up` };
      });
    });
}

/** The `--json` form of a run: its row, its state and its first reason. */
const runDocument = (run: KnownRun) => ({ ...run, reason: reasonOf(run) });

const listRuns = (all: boolean, self: Command): Promise<void> =>
  answer(self, async ({ db, now, times }) => {
    const rows = await latestRuns(db, { limit: all ? ALL_MAX : SHOWN });
    const known = await withStates(db, rows, { now: now() });
    const text = listTable(known, {
      run: ({ id }) => id,
      command: whatOf,
      '?days': daysOf,
      started: ({ startedAt }) => times.at(startedAt),
      '~result': runEnd,
      '~why': whyOf,
    });
    return {
      document: known.map(runDocument),
      text: known.length === 0 ? 'nothing ran yet' : lines(text, times.note),
    };
  });

const whatOf = ({ command, slot }: KnownRun): string => (slot === null ? command : `${command} of ${slot}`);

const daysOf = ({ fromDay, toDay }: KnownRun): string =>
  fromDay === null || toDay === null ? '' : fromDay === toDay ? fromDay : `${fromDay} to ${toDay}`;

/** The first reason, cut to fit on a line. */
function whyOf(run: KnownRun): string {
  const reason = reasonOf(run) ?? '';
  return reason.length > REASON_SHOWN_MAX ? `${reason.slice(0, REASON_SHOWN_MAX).toWellFormed()}...` : reason;
}

function showRun(text: string, self: Command): Promise<void> {
  const id = idFlag(text, `${text} is no run’s number; \`daybook runs\` lists them.`);
  return answer(self, async ({ db, now, times }) => {
    const row = await runById(db, id);
    if (row === undefined) throw new UsageError(`no run has the number ${id}; \`daybook runs\` lists them.`);
    const [run] = await withStates(db, [row], { now: now() });
    return { document: runDocument(run!), text: runText(run!, times) };
  });
}

function runText(run: KnownRun, times: Times): string {
  const { reasons, notes, ...figures } = run.figures;
  const reported = Array.isArray(reasons)
    ? (reasons as unknown as Reason[])
    : notesOf({ notes: notes ?? [] }).map((what) => ({ what, todo: null }));
  const killed =
    run.state === 'killed' ? [{ what: reasonOf(run)!, todo: 'run it again: it continues from there' }] : [];
  return lines(
    `run ${run.id}: ${whatOf(run)}${daysOf(run) === '' ? '' : `, ${daysOf(run)}`}: ${runEnd(run)}`,
    ...[...killed, ...reported].map(reasonText),
    table(
      ['', ''],
      [
        ['started', times.at(run.startedAt)],
        ['ended', times.at(run.finishedAt)],
        ['process', run.holder],
        ...Object.entries(figures).map(([name, figure]) => [name, figureText(figure)]),
      ],
    ),
    times.note,
  );
}

const figureText = (figure: unknown): string =>
  typeof figure === 'number'
    ? figure.toLocaleString('en')
    : Array.isArray(figure) && figure.every((one) => typeof one === 'string')
      ? figure.join(', ')
      : JSON.stringify(figure);
