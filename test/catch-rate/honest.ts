/** `node test/catch-rate/honest.ts [--histories N] [--seed S] [--only HISTORY]`: plays honest histories and counts false alarms. */
import { parseArgs } from 'node:util';
import { createTemplate, startPostgres } from '../support/postgres-server.ts';
import { countClean } from './tally.ts';
import { playAll, type Task } from './work.ts';

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '200' },
    seed: { type: 'string', default: '2404' },
    only: { type: 'string' },
  },
});
const server = await startPostgres({ durable: false });
await createTemplate(server.url);
const histories =
  values.only === undefined
    ? Array.from({ length: Number(values.histories) }, (_, nth) => nth)
    : [Number(values.only)];
const tasks = histories.map((history): Task => ({ kind: 'clean', history }));
const played = await playAll(tasks, {
  serverUrl: server.url,
  seed: Number(values.seed),
  isTimeUp: () => false,
  onDone: (done) => {
    if (done % 100 === 0) console.error(`${done} histories`);
  },
});
await server.stop();
const { sentences, traits, ingredients, ...counts } = countClean(played.clean);
console.log(counts);
for (const [sentence, count] of sentences) console.log(`${count} x ${sentence}`);
for (const [ingredient, count] of ingredients) console.log(`${count} had truly: ${ingredient}`);
for (const [trait, { histories: own, alarmed }] of traits) console.log(`${alarmed} of ${own}: ${trait}`);
for (const { alarms, harmed, traits: own, seed } of played.clean)
  if (alarms.length + harmed > 0) console.log(JSON.stringify({ seed, harmed, own, alarms }));
for (const failure of played.failures) console.log(failure);
process.exit(played.failures.length + counts.alarmed + counts.harmed === 0 ? 0 : 1);
