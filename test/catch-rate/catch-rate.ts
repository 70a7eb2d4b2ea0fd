/**
 * `npm run catch-rate -- --help` says how: plants every form of lie in made-up ledgers and counts how often daybook catches it, and
 * plays honest ledgers and counts false alarms. A history takes about 0.4 s of one core.
 */
import '../../src/plugins.ts';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { readJsonLines } from '../../scripts/json-lines.ts';
import { endWithUsage, readArguments } from '../../scripts/read-arguments.ts';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { PAGES_A_DAY } from './calls.ts';
import { cardPage, cardText } from './card.ts';
import { findingsText } from './findings.ts';
import { FORMS } from './forms.ts';
import { addTo, keyOf, noResults, playAll, type Played, type Results, type Task } from './work.ts';

const HISTORIES = 20;
/** How many honest histories there are for each history of a form. */
const CLEAN_FACTOR = 10;
/** If single forms are asked for, the reports of this many of their histories are shown. */
const TOLD_SHOWN_MAX = 3;

const USAGE = `Usage: npm run catch-rate -- [options]
  --form NAME        only this form, repeatable (default: all, and calls a night)
  --histories N      histories of each form (default: ${HISTORIES})
  --honest N         honest histories (default: ${CLEAN_FACTOR} for each history of a form, none with --form)
  --from N           the number of the first history, to play a single one again (default: 0)
  --seed S           what they are drawn from (default: the time)
  --minutes M        begin no history after these minutes
  --jobs N           processes (default: one for each core)
  --record FILE      keep each history in this file as it ends, and leave out those that it has already
  --card FILE        write the results as a page
  --findings FILE    write what was not caught, or not by its name`;

interface Asked {
  readonly forms: readonly string[];
  readonly histories: number;
  readonly honest: number;
  readonly from: number;
  readonly seed: number;
  readonly minutes: number;
  readonly jobs: number;
  readonly record: string | null;
}

/** Goes through all forms history by history, so that a run that is cut short has equally many of each. */
function tasksOf({ forms, histories, honest, from }: Asked): Task[] {
  const rounds = Math.max(histories, 1);
  const perRound = Math.ceil(honest / rounds);
  const calls =
    forms.length === FORMS.length && histories > 0
      ? PAGES_A_DAY.map((pagesADay): Task => ({ kind: 'calls', pagesADay }))
      : [];
  return [
    ...calls,
    ...Array.from({ length: rounds }, (_, round): Task[] => [
      ...(histories === 0 ? [] : forms.map((form): Task => ({ kind: 'lie', form, history: from + round }))),
      ...Array.from({ length: Math.max(0, Math.min(perRound, honest - round * perRound)) }, (_none, at) => {
        return { kind: 'clean' as const, history: from + round * perRound + at };
      }),
    ]).flat(),
  ];
}

/** What was played to its end, and is not played again. */
function recorded(file: string | null): Played[] {
  if (file === null || !existsSync(file)) return [];
  return readJsonLines<Played>(file).filter(({ kind }) => kind !== 'failure');
}

/** The tasks that the record does not have yet: those of one process, or all. */
function openTasks(asked: Asked, record: readonly Played[], share?: number): Task[] {
  const done = new Set(record.map(({ key }) => key));
  return tasksOf(asked)
    .filter((_, at) => share === undefined || at % asked.jobs === share)
    .filter((task) => !done.has(keyOf(task, asked.seed)));
}

/** Plays the share of one process, and sends each history to the parent. */
async function playShare(share: number, asked: Asked): Promise<void> {
  const endsMs = performance.now() + asked.minutes * 60_000;
  const sent: Promise<unknown>[] = [];
  await playAll(openTasks(asked, recorded(asked.record), share), {
    serverUrl: process.env['CATCH_RATE_POSTGRES_URL']!,
    seed: asked.seed,
    isTimeUp: () => performance.now() > endsMs,
    onPlayed: (played) => void sent.push(new Promise((resolve) => process.send!(played, resolve))),
  });
  await Promise.all(sent);
}

async function playInProcesses(asked: Asked): Promise<Results> {
  const results = noResults();
  const record = recorded(asked.record);
  for (const played of record) addTo(results, played);
  const open = openTasks(asked, record).length;
  console.log(`${open} histories to play${record.length === 0 ? '' : `, ${record.length} are on record`}`);
  if (asked.record !== null)
    writeFileSync(asked.record, record.map((played) => `${JSON.stringify(played)}\n`).join(''));
  const server = await startPostgres({ durable: false });
  await createTemplate(server.url);
  const env = { ...process.env, CATCH_RATE_POSTGRES_URL: server.url };
  let done = 0;
  const note = (played: Played): void => {
    addTo(results, played);
    if (asked.record !== null) appendFileSync(asked.record, `${JSON.stringify(played)}\n`);
    if ((done += 1) % 100 === 0) console.error(`${done} of ${open} histories`);
  };
  await Promise.all(
    Array.from({ length: asked.jobs }, async (_, share) => {
      const child = fork(import.meta.filename, process.argv.slice(2), {
        env: { ...env, CATCH_RATE_SHARE: String(share), CATCH_RATE_SEED: String(asked.seed) },
      });
      child.on('message', (message) => note(message as Played));
      const [code] = (await once(child, 'exit')) as [number | null];
      if (code !== 0) results.failures.push(`process ${share} ended with ${code}`);
    }),
  );
  await server.stop();
  return results;
}

const names = FORMS.map(({ name }) => name);
const values = readArguments(`${USAGE}\nForms: ${names.join(', ')}`, {
  form: { type: 'string', multiple: true },
  histories: { type: 'string', default: String(HISTORIES) },
  honest: { type: 'string' },
  from: { type: 'string', default: '0' },
  seed: { type: 'string', default: process.env['CATCH_RATE_SEED'] ?? String(Date.now() % 1_000_000_000) },
  minutes: { type: 'string', default: 'Infinity' },
  jobs: { type: 'string', default: String(availableParallelism()) },
  record: { type: 'string' },
  card: { type: 'string' },
  findings: { type: 'string' },
});
const asked: Asked = {
  forms: values.form ?? names,
  histories: Number(values.histories),
  honest: Number(values.honest ?? (values.form === undefined ? CLEAN_FACTOR * Number(values.histories) : 0)),
  from: Number(values.from),
  seed: Number(values.seed),
  minutes: Number(values.minutes),
  jobs: Number(values.jobs),
  record: values.record ?? null,
};
const unknown = asked.forms.filter((name) => !names.includes(name));
if (unknown.length > 0 || Object.values(asked).some(Number.isNaN)) {
  endWithUsage(
    `${unknown.length > 0 ? `There is no form ${unknown.join(', ')}: see --help.\n` : ''}${USAGE}`,
  );
}
if (process.send !== undefined) {
  await playShare(Number(process.env['CATCH_RATE_SHARE']), asked);
  process.exit(0);
}
console.log(
  `catch rate of ${asked.forms.length} forms, ${asked.histories} histories each, and ${asked.honest} honest ones, from seed ${asked.seed}`,
);
const results = await playInProcesses(asked);
const context = {
  forms: FORMS,
  results,
  day: new Date().toISOString().slice(0, 10),
};
console.log(`\n${cardText(context)}`);
if (asked.forms.length === 1) {
  for (const { ending, text } of results.outcomes.slice(0, TOLD_SHOWN_MAX))
    console.log(`\n${ending}; the last run told:\n${text.trim()}`);
}
const alarmed = results.clean.filter(({ alarms, harmed }) => alarms.length + harmed > 0);
for (const { alarms, harmed, traits, seed } of alarmed)
  console.log(JSON.stringify({ seed, harmed, traits, alarms }));
if (values.findings !== undefined) writeFileSync(values.findings, findingsText(FORMS, results.outcomes));
if (values.card !== undefined) writeFileSync(values.card, cardPage(context));
process.exit(results.failures.length + alarmed.length === 0 ? 0 : 1);
