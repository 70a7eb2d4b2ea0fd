/** The log as a person reads it on a terminal, in the form that pino-pretty gave it. */
import { isatty } from 'node:tty';
import { pino, type DestinationStream } from 'pino';

const LEVELS: Readonly<
  Record<number, { readonly label: string; readonly begin: number; readonly end: number }>
> = {
  60: { label: 'FATAL', begin: 41, end: 49 },
  50: { label: 'ERROR', begin: 31, end: 39 },
  40: { label: 'WARN', begin: 33, end: 39 },
  30: { label: 'INFO', begin: 32, end: 39 },
  20: { label: 'DEBUG', begin: 34, end: 39 },
  10: { label: 'TRACE', begin: 90, end: 39 },
};
const UNKNOWN_LEVEL = { label: 'USERLVL', begin: 37, end: 39 };
const [CYAN, MAGENTA, FOREGROUND_END] = [36, 35, 39];
const INDENT = '    ';
/** All but tabs and line ends. */
const UNSAFE = /[^\P{Cc}\t\n]/gu;

interface LogLine {
  readonly level: number;
  readonly time: number;
  readonly msg?: string;
}

/**
 * A line of pino's JSON as text that ends with a line end: its local time, level and message, and each further field below,
 * indented. The message may take colours, and nothing else it contains controls the terminal.
 */
export function logText(json: string, isColored: boolean): string {
  const { level, time, msg, ...fields } = JSON.parse(json) as LogLine;
  const inColor = (text: string, begin: number, end = FOREGROUND_END): string =>
    isColored && text !== '' ? `\u001b[${begin}m${text}\u001b[${end}m` : text;
  const { label, begin, end } = LEVELS[level] ?? UNKNOWN_LEVEL;
  const message = msg === undefined ? '' : ` ${inColor(withoutControls(msg), CYAN)}`;
  const head = `[${clockTime(new Date(time))}] ${inColor(label, begin, end)}:${message}\n`;
  return (
    head +
    Object.entries(fields)
      .map(([name, value]) => `${INDENT}${inColor(withoutControls(name), MAGENTA)}: ${valueText(value)}\n`)
      .join('')
  );
}

/** The same as a sentence for who waits for an answer: `warning: calling again (retry 1): the platform answered 500`. */
function sentenceText(json: string): string {
  const { level, msg = '', time: _, ...fields } = JSON.parse(json) as LogLine & Record<string, unknown>;
  const reason = [fields['problem'], fields['reason']].filter((one) => typeof one === 'string').join(' ');
  const named = ['subject', 'retry', 'target', 'merchantNo', 'runId']
    .filter((name) => ['string', 'number'].includes(typeof fields[name]))
    .map((name) => (name === 'subject' ? String(fields[name]) : `${name} ${String(fields[name])}`));
  const about = named.length === 0 ? '' : ` (${named.join(', ')})`;
  const kind = level >= 50 ? 'error' : level >= 40 ? 'warning' : 'note';
  return `${kind}: ${withoutControls(`${msg}${about}${reason === '' ? '' : `: ${reason}`}`)}\n`;
}

const withoutControls = (text: string): string => text.replace(UNSAFE, '');

/** Of a backslash in a text one is shown, though JSON has two. */
const valueText = (value: unknown): string =>
  JSON.stringify(value, null, 2).replaceAll('\\\\', '\\').replaceAll('\n', `\n${INDENT}`);

const clockTime = (at: Date): string =>
  [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':') +
  `.${String(at.getMilliseconds()).padStart(3, '0')}`;

/** Takes pino's lines and writes their text to this open file, each before the call returns. */
export function textLog(fileDescriptor: number, isColored: boolean): DestinationStream {
  const file = pino.destination({ dest: fileDescriptor, sync: true });
  return { write: (json) => void file.write(logText(json, isColored)) };
}

/** The same as sentences. A progress line that is drawn there is cleared first. */
export function sentenceLog(fileDescriptor: number): DestinationStream {
  const file = pino.destination({ dest: fileDescriptor, sync: true });
  return { write: (json) => void file.write(`\r\u001b[K${sentenceText(json)}`) };
}

/** Whether the log's text has colours: as the environment says, and otherwise where stdout is a terminal that has them. */
export function hasColors(
  env: NodeJS.ProcessEnv = process.env,
  isTerminal: boolean = isatty(1),
  platform: NodeJS.Platform = process.platform,
): boolean {
  const has = (name: string): boolean => env[name] !== undefined;
  if (has('NO_COLOR')) return false;
  if (has('FORCE_COLOR')) return true;
  if (env['TERM'] !== 'dumb' && (platform === 'win32' || (isTerminal && (env['TERM'] ?? '') !== '')))
    return true;
  return has('CI') && ['GITHUB_ACTIONS', 'GITLAB_CI', 'CIRCLECI'].some(has);
}
