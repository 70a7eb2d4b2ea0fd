/**
 * `npm run catch-rate -- [--form NAME]... [--histories N] [--seed S] [--minutes M] [--from N] [--jobs N] [--card PATH] [--findings PATH]`: plants
 * every form of lie in made-up ledgers and counts how often daybook catches it. A history takes about 0.2 s of one core.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { PAGES_A_DAY } from './calls.ts';
import { cardPage, cardText } from './card.ts';
import { findingsText } from './findings.ts';
import { FORMS } from './forms.ts';
import { noResults, playAll, type Results, type Task } from './work.ts';

const HISTORIES = 20;
/** How many honest histories there are for each history of a form. */
const CLEAN_FACTOR = 10;
/** If single forms are asked for, the reports of this many of their histories are shown. */
const TOLD_SHOWN_MAX = 3;

interface Asked {
  readonly forms: readonly string[];
  readonly histories: number;
  /** The number of the first history, to play a single one again. */
  readonly from: number;
  readonly seed: number;
  readonly minutes: number;
  /** How many processes work side by side. */
  readonly jobs: number;
}

/** Goes through all forms history by history, so that a run that is cut short has equally many of each. */
function tasksOf({ forms, histories, from }: Asked): Task[] {
  const isAll = forms.length === FORMS.length;
  const rounds = Array.from({ length: histories }, (_, history): Task[] => [
    ...forms.map((form): Task => ({ kind: 'lie', form, history: from + history })),
    ...Array.from({ length: isAll ? CLEAN_FACTOR : 0 }, (_none, at): Task => {
      return { kind: 'clean', history: history * CLEAN_FACTOR + at };
    }),
  ]);
  const calls = isAll ? PAGES_A_DAY.map((pagesADay): Task => ({ kind: 'calls', pagesADay })) : [];
  return [...calls, ...rounds.flat()];
}

/** Plays the share of one process. */
async function playShare(share: number, asked: Asked): Promise<Results> {
  const endsMs = performance.now() + asked.minutes * 60_000;
  return playAll(
    tasksOf(asked).filter((_, at) => at % asked.jobs === share),
    {
      serverUrl: process.env['CATCH_RATE_POSTGRES_URL']!,
      seed: asked.seed,
      isTimeUp: () => performance.now() > endsMs,
      onDone: (done) => {
        if (share === 0 && done % 50 === 0) console.error(`${asked.jobs * done} histories or so`);
      },
    },
  );
}

/** The arguments for a child process that plays a share of the same. */
const argumentsOf = ({ forms, histories, from, seed, minutes, jobs }: Asked): string[] => [
  ...(forms.length === FORMS.length ? [] : forms.flatMap((form) => ['--form', form])),
  ...['--histories', String(histories), '--seed', String(seed)],
  ...(from === 0 ? [] : ['--from', String(from)]),
  ...(Number.isFinite(minutes) ? ['--minutes', String(minutes)] : []),
  ...(jobs === availableParallelism() ? [] : ['--jobs', String(jobs)]),
];

async function playInProcesses(asked: Asked): Promise<Results> {
  const server = await startPostgres({ durable: false });
  await createTemplate(server.url);
  const results = noResults();
  const env = { ...process.env, CATCH_RATE_POSTGRES_URL: server.url };
  await Promise.all(
    Array.from({ length: asked.jobs }, async (_, share) => {
      const child = fork(import.meta.filename, argumentsOf(asked), {
        env: { ...env, CATCH_RATE_SHARE: String(share) },
      });
      child.on('message', (message) => {
        const { outcomes, clean, calls, failures } = message as Results;
        results.outcomes.push(...outcomes);
        results.clean.push(...clean);
        results.calls.push(...calls);
        results.failures.push(...failures);
      });
      const [code] = (await once(child, 'exit')) as [number | null];
      if (code !== 0) results.failures.push(`process ${share} ended with ${code}`);
    }),
  );
  await server.stop();
  return results;
}

const { values } = parseArgs({
  options: {
    form: { type: 'string', multiple: true },
    histories: { type: 'string', default: String(HISTORIES) },
    from: { type: 'string', default: '0' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    minutes: { type: 'string', default: 'Infinity' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    card: { type: 'string' },
    findings: { type: 'string' },
  },
});
const names = FORMS.map(({ name }) => name);
const asked: Asked = {
  forms: values.form ?? names,
  histories: Number(values.histories),
  from: Number(values.from),
  seed: Number(values.seed),
  minutes: Number(values.minutes),
  jobs: Number(values.jobs),
};
const unknown = asked.forms.filter((name) => !names.includes(name));
if (
  unknown.length > 0 ||
  [asked.histories, asked.from, asked.seed, asked.minutes, asked.jobs].some(Number.isNaN)
) {
  console.error(
    `${unknown.length > 0 ? `There is no form ${unknown.join(', ')}. ` : ''}Usage: npm run catch-rate -- ` +
      `[--form NAME]... [--histories N] [--seed S] [--minutes M] [--from N] [--jobs N] [--card PATH] [--findings PATH]\nForms: ${names.join(', ')}`,
  );
  process.exit(2);
}
if (process.send !== undefined) {
  const results = await playShare(Number(process.env['CATCH_RATE_SHARE']), asked);
  await new Promise((resolve) => process.send!(results, resolve));
  process.exit(0);
}
console.log(
  `catch rate of ${asked.forms.length} forms, ${asked.histories} histories each, from seed ${asked.seed}`,
);
const results = await playInProcesses(asked);
const context = {
  forms: FORMS,
  results,
  command: ['npm run catch-rate --', ...argumentsOf(asked), '--card', values.card].join(' '),
  histories: asked.histories,
  day: new Date().toISOString().slice(0, 10),
};
console.log(`\n${cardText(context)}`);
if (asked.forms.length === 1) {
  for (const { ending, text } of results.outcomes.slice(0, TOLD_SHOWN_MAX))
    console.log(`\n${ending}; the last run told:\n${text.trim()}`);
}
if (values.findings !== undefined) writeFileSync(values.findings, findingsText(FORMS, results.outcomes));
if (values.card !== undefined) writeFileSync(values.card, cardPage(context));
process.exit(results.failures.length === 0 ? 0 : 1);
