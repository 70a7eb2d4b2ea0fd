/**
 * `npm test [-- [--all] ARGUMENTS]`: types, lint, unused code and format, and at the same time the tests: all but the long
 * ones, or with `--all` all of them. ARGUMENTS go to the test runner. Ends with 1 if anything is red.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { text } from 'node:stream/consumers';

const asked = process.argv.slice(2);
// Long tests wait more than they work: more of them at a time.
const filter = asked.includes('--all') ? ['--maxWorkers', '4'] : ['--tags-filter', '!long'];
const args = ['run', ...filter, ...asked.filter((arg) => arg !== '--all')];

const check = spawn('npm', ['run', '--silent', 'check'], { stdio: ['ignore', 'pipe', 'pipe'] });
// The checks take what the tests leave: tests wait for the database, for files and for each other.
if (check.pid !== undefined) setPriority(check.pid, constants.priority.PRIORITY_LOW);
const said = Promise.all([text(check.stdout), text(check.stderr)]);
const checked = once(check, 'close') as Promise<[number | null]>;
const [code] = (await once(spawn('vitest', args, { stdio: 'inherit' }), 'close')) as [number | null];
const [checkCode] = await checked;
if (checkCode !== 0) console.error(`\nnpm run check is red:\n${(await said).join('')}`);
else console.log('npm run check is green');
process.exitCode = code === 0 && checkCode === 0 ? 0 : 1;
