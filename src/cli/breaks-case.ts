/**
 * `breaks take`, `comment`, `resolve` and `reopen`: what a person does about a break. Each records who did it and
 * when.
 */
import type { Command } from 'commander';
import { BREAK_STEPS, NOTE_CHARACTERS_MAX, takeStep, type BreakStep } from '../run/breaks/break-steps.ts';
import { UsageError } from '../run/verdict/exit-codes.ts';
import { offlineSettings, print, withApp } from './context.ts';
import { auditEventOf, withBy } from './audit-events.ts';
import { lines } from './output/text.ts';

const PUBLISHED_LATER =
  'the next run or `daybook publish` publishes this in the manifest and summary of its day';

interface Step {
  readonly step: BreakStep;
  readonly description: string;
  /** What the note has to say, if a note is required; null if not. */
  readonly noteOf: string | null;
  /** The message for a break that it cannot be done to. */
  readonly refusal: (id: string) => string;
  readonly done: (id: string) => string;
}

const noOpen = (id: string): string => `no open break has the number ${id}; \`daybook breaks\` lists them.`;

const STEPS: readonly Step[] = [
  {
    step: BREAK_STEPS.taken,
    description: 'assign a break; it stays open',
    noteOf: null,
    refusal: noOpen,
    done: (id) => `break ${id} is taken; it stays open until it heals or is resolved`,
  },
  {
    step: BREAK_STEPS.commented,
    description: 'add to what is known of a break, open or not',
    noteOf: 'what there is to say',
    refusal: (id) => `no break has the number ${id}; \`daybook breaks --all\` lists them.`,
    done: (id) => `the comment is kept with break ${id}`,
  },
  {
    step: BREAK_STEPS.resolved,
    description: 'close a break that a person has cleared up',
    noteOf: 'why it is no longer open',
    refusal: noOpen,
    done: (id) => lines(`break ${id} is resolved`, `${PUBLISHED_LATER}; the verdict stays broken`),
  },
  {
    step: BREAK_STEPS.reopened,
    description: 'open a resolved break again',
    noteOf: null,
    refusal: (id) =>
      `no resolved break has the number ${id}; \`daybook breaks --all\` lists them. One that healed and is found again ` +
      'has a new number.',
    done: (id) => lines(`break ${id} is open again and unassigned`, PUBLISHED_LATER),
  },
];

export function addCaseCommands(breaks: Command): void {
  for (const step of STEPS) {
    const command = withBy(breaks.command(step.step.name)).argument('<id>', 'the break’s number');
    if (step.noteOf === null) command.option('--note <text>', 'kept with it');
    else command.requiredOption('--note <text>', `${step.noteOf}; kept with it`);
    command
      .description(step.description)
      .addHelpText('after', `\nExample:\n  daybook breaks ${step.step.name} 7 --by Ada --note "case 4711"`)
      .action((id: string, { note }: { readonly note?: string }, self: Command) =>
        take(step, id, note, self),
      );
  }
}

/** Reads the id of a break. Throws `UsageError`. */
export function breakIdOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`${text} is no break’s number; \`daybook breaks\` lists them.`);
}

async function take(step: Step, text: string, noteGiven: string | undefined, self: Command): Promise<void> {
  const id = breakIdOf(text);
  const note = noteGiven?.trim();
  if (note !== undefined && note.length > NOTE_CHARACTERS_MAX)
    throw new UsageError(
      `--note has over ${NOTE_CHARACTERS_MAX} characters; it is published with the day’s files.`,
    );
  if (note === '')
    throw new UsageError(`--note is empty; say ${step.noteOf ?? 'something, or leave it out'}.`);
  await withApp(offlineSettings(self), async ({ database, now }) => {
    const row = await takeStep(database.db, step.step, {
      id,
      auditEvent: auditEventOf(self, id, note),
      now: now(),
      refused: () => new UsageError(step.refusal(text)),
    });
    print(self, { document: row, text: step.done(text) });
  });
}
