/** `npm run match-card -- --help` says how: matches made-up books with known faults, and counts what became of each. */
import '../../../../src/plugins.ts';
import { writeFileSync } from 'node:fs';
import { endWithUsage, readArguments } from '../../../../scripts/read-arguments.ts';
import { openDatabase } from '../../../../src/store/engine/connection.ts';
import { copyDatabase, createTemplate, startPostgres } from '../../../support/postgres-server.ts';
import { cardPage, cardText } from './card.ts';
import { playCase, type Played } from './play.ts';

const LANES = 2;
const PROBLEMS_SHOWN_MAX = 20;
const USAGE = `Usage: npm run match-card -- [options]
  --books N      how many books (default: 1000)
  --from N       the number of the first book, to play a single one again (default: 0)
  --seed S       what they are drawn from (default: 1)
  --card FILE    write the results as a page`;

const values = readArguments(USAGE, {
  books: { type: 'string', default: '1000' },
  from: { type: 'string', default: '0' },
  seed: { type: 'string', default: '1' },
  card: { type: 'string' },
});
const [books, from, seed] = [values.books, values.from, values.seed].map(Number) as [number, number, number];
if ([books, from, seed].some((value) => !Number.isSafeInteger(value) || value < 0)) endWithUsage(USAGE);

const server = await startPostgres({ durable: false });
await createTemplate(server.url);
const played: Played[] = [];
const waiting = Array.from({ length: books }, (_, at) => from + at).reverse();
const lane = async (): Promise<void> => {
  const database = await openDatabase({
    ...{ databaseUrl: await copyDatabase(server.url), dataDir: '', connectionsMax: 2 },
  });
  for (let nth = waiting.pop(); nth !== undefined; nth = waiting.pop()) {
    played.push(await playCase(database.db, seed, nth));
    if (played.length % 100 === 0) console.error(`${played.length} of ${books} books`);
  }
  await database.close();
};
await Promise.all(Array.from({ length: LANES }, lane));
await server.stop();
played.sort((a, b) => a.nth - b.nth);
console.log(`${books} books from seed ${seed}\n\n${cardText(played)}`);
const problems = played.flatMap((one) => one.problems);
for (const problem of problems.slice(0, PROBLEMS_SHOWN_MAX)) console.log(problem);
for (const { nth, coincidences } of played)
  for (const { rule, numbers, faults } of coincidences)
    console.log(`wrong in book ${nth}: ${rule}: ${numbers} (${faults})`);
if (values.card !== undefined)
  writeFileSync(values.card, cardPage(played, { seed, day: new Date().toISOString().slice(0, 10) }));
const isWrong = played.some(({ truths }) => truths.some(({ ending }) => ending === 'wrong'));
process.exit(problems.length > 0 || isWrong ? 1 : 0);
