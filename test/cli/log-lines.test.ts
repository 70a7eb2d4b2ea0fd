/** The log on a terminal, against pino-pretty. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { pino } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { expect, test } from 'vitest';
import { hasColors, logText, textLog } from '../../src/cli/output/log-lines.ts';

test('a line has its local time, level and message, and each field below', () => {
  const time = new Date(2026, 2, 31, 9, 5, 7, 42).getTime();
  const line = { level: 40, time, retry: 1, jobs: [{ job: 'night' }], msg: 'calling again' };
  expect(logText(JSON.stringify(line), false)).toBe(
    '[09:05:07.042] WARN: calling again\n' +
      '    retry: 1\n    jobs: [\n      {\n        "job": "night"\n      }\n    ]\n',
  );
});

test('any line reads as pino-pretty shows it, with and without colours', () => {
  // They have other places in pino-pretty, and it stops at names that every object has; no line of this log has either.
  const placed = new Set([
    'pid',
    'hostname',
    'name',
    'level',
    'time',
    'timestamp',
    'caller',
    'msg',
    'err',
    'error',
  ]);
  const name = fc
    .oneof(fc.constantFrom('problem', 'merchantNo', ''), fc.string({ unit: 'binary' }))
    .filter((text) => !placed.has(text) && !(text in {}) && text !== 'type');
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc
      .array(fc.constantFrom('a', '\\', '\n', '\r\n', '\u001b[31m', '\u001b[39m', '\t', '\u0085', '"'))
      .map((parts) => parts.join('')),
  );
  const line = fc.record(
    {
      level: fc.constantFrom(10, 20, 30, 35, 40, 50, 60),
      time: fc.date({ noInvalidDate: true }).map((date) => date.getTime()),
      fields: fc.dictionary(name, fc.oneof(text, fc.jsonValue())),
      msg: text,
    },
    { requiredKeys: ['level', 'time', 'fields'] },
  );
  fc.assert(
    fc.property(line, fc.boolean(), ({ level, time, fields, ...message }, colorize) => {
      const json = `${JSON.stringify({ level, time, ...fields, ...message })}\n`;
      expect(logText(json, colorize)).toBe(prettyFactory({ ignore: 'pid,hostname', colorize })(json));
    }),
    { numRuns: 2_000 },
  );
});

test('a line is written before the call returns', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'log-')), 'log');
  const log = pino({ base: null }, textLog(openSync(file, 'w'), false));
  log.info({ run: 7 }, 'run ended');
  expect(readFileSync(file, 'utf8')).toMatch(/^\[[\d:.]+\] INFO: run ended\n {4}run: 7\n$/);
});

test.each<[NodeJS.ProcessEnv, NodeJS.Platform]>(
  [
    {},
    { TERM: 'xterm' },
    { TERM: 'dumb' },
    { TERM: '' },
    { TERM: 'xterm', NO_COLOR: '' },
    { FORCE_COLOR: '1', NO_COLOR: '1' },
    { FORCE_COLOR: '' },
    { CI: 'true' },
    { CI: 'true', GITLAB_CI: 'true' },
    { TERM: 'dumb', CI: 'true', GITHUB_ACTIONS: '' },
    { CIRCLECI: 'true' },
  ].flatMap((env): [NodeJS.ProcessEnv, NodeJS.Platform][] => [
    [env, 'linux'],
    [env, 'win32'],
  ]),
)('with %o on %s it has colours where pino-pretty has them', (env, platform) => {
  const script = `Object.defineProperty(process, 'platform', { value: '${platform}' });
    process.stdout.write(String(Boolean(require('pino-pretty').isColorSupported)));`;
  const { stdout } = spawnSync(process.execPath, ['-e', script], { env, encoding: 'utf8' });
  expect(String(hasColors(env, false, platform))).toBe(stdout);
});

test.each([
  ['xterm', true],
  ['dumb', false],
  ['', false],
])('on a terminal of the kind %j: %j', (kind, shown) => {
  expect(hasColors({ TERM: kind }, true, 'linux')).toBe(shown);
});
