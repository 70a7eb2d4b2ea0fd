/** `daybook verify` by itself. `npm run build` makes one file of this and of what it imports: `dist/verify.mjs`. */
import { addVerifyCommand } from '../verify.ts';
import { runOneCommand } from './one-command.ts';

await runOneCommand('node verify.mjs', addVerifyCommand, process.argv.slice(2));
