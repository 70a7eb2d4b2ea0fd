/**
 * Traces of a real run as a collector receives them, and that they cost nothing where no one asks for them.
 *
 * @module-tag long
 */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { tracesWanted } from '../../../src/plugins/observe/traces-wanted.ts';
import { daybook, envOf, startDaybook } from '../../cli/daybook.ts';
import { FROM, MERCHANT, openStage, scenario, type Stage } from '../../support/stage.ts';

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
}
interface Sent {
  readonly path: string;
  readonly type: string;
  readonly body: string;
}

let stage: Stage;
let server: Server;
let sent: Sent[];
let endpoint: string;
beforeEach(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 250 }) });
  sent = [];
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      sent.push({ path, type: headers['content-type'] ?? '', body: Buffer.concat(chunks).toString('utf8') });
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  await new Promise((resolve) => server.close(resolve));
  await stage.close();
});

const spansOf = (all: readonly Sent[]): Span[] =>
  all.flatMap(({ body }) =>
    (JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }).resourceSpans.flatMap(
      ({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans),
    ),
  );

it('one run is one tree: run > merchant > stages, and below sync windows with their calls and transactions', async () => {
  const env = {
    ...envOf(stage),
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_SERVICE_NAME: 'books',
  };
  const { code, stderr } = await daybook(['run', '--from', FROM, '--to', FROM], env);
  expect(code, stderr).toBe(0);
  expect(sent.every(({ path, type }) => path === '/v1/traces' && type === 'application/json')).toBe(true);
  const spans = spansOf(sent);
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const pathOf = (span: Span): string =>
    span.parentSpanId === undefined || span.parentSpanId === ''
      ? span.name
      : `${pathOf(byId.get(span.parentSpanId)!)} > ${span.name}`;
  const paths = Map.groupBy(spans.map(pathOf), (path) => path);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect([...paths.keys()].sort()).toEqual([
    'run',
    'run > merchant',
    'run > merchant > publish',
    'run > merchant > reconcile',
    'run > merchant > sync',
    // The newest page, which proves the zone, is asked for ahead of the windows.
    'run > merchant > sync > call',
    'run > merchant > sync > window',
    'run > merchant > sync > window > call',
    'run > merchant > sync > window > transaction',
  ]);
  // A merchant that begins is read, and published once all that begin are read.
  expect(paths.get('run > merchant')).toHaveLength(2);
  const [run] = await stage.app.database.db.selectFrom('run').select('id').execute();
  const attributesOf = (name: string) =>
    Object.fromEntries(
      spans
        .find((span) => span.name === name)!
        .attributes.map(({ key, value }) => [key, Object.values(value)[0]]),
    );
  expect(attributesOf('run')).toEqual({
    'daybook.command': 'run',
    'daybook.merchants': 1,
    'daybook.run': run!.id,
    'daybook.exit_code': 0,
  });
  expect(attributesOf('merchant')).toEqual({
    'daybook.run': run!.id,
    'daybook.merchant': MERCHANT.merchantNo,
  });
  expect(attributesOf('call')).toEqual({
    'daybook.operation': 'sp2404',
    'daybook.try': 1,
    'daybook.status': '2xx',
  });
  const whole = sent.map(({ body }) => body).join('');
  expect(whole).toContain('"books"');
  expect(whole).not.toContain(MERCHANT.token);
  for (const { batchNo, balance } of await stage.app.database.db
    .selectFrom('ledger_entry')
    .select(['batch_no as batchNo', 'balance'])
    .execute()) {
    expect(whole).not.toContain(batchNo);
    expect(whole).not.toContain(`"${balance}"`);
  }
}, 60_000);

it('sends protobuf where no protocol is named, and an address alone switches it on', async () => {
  const { code } = await daybook(['run'], { ...envOf(stage), OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
  expect(code).toBe(0);
  expect(sent.length).toBeGreaterThan(0);
  expect(sent[0]).toMatchObject({ path: '/v1/traces', type: 'application/x-protobuf' });
  expect(sent.map(({ body }) => body).join('')).toContain('daybook.merchant');
}, 60_000);

it('a collector that is away is told once, and the run ends as it would without it', async () => {
  await new Promise((resolve) => server.close(resolve));
  const { code, stderr } = await startDaybook(['run'], {
    ...envOf(stage),
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  }).ended;
  expect(code, stderr).toBe(0);
  expect(stderr.match(/traces could not be sent/g)).toHaveLength(1);
  await new Promise<void>((resolve) => void server.listen(0, resolve));
}, 60_000);

it('what is no exporter or protocol of ours is a mistake in the settings', async () => {
  expect(tracesWanted({})).toBeNull();
  expect(tracesWanted({ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c' })).toBeNull();
  expect(tracesWanted({ OTEL_SDK_DISABLED: 'true', OTEL_TRACES_EXPORTER: 'otlp' })).toBeNull();
  expect(tracesWanted({ OTEL_TRACES_EXPORTER: 'otlp' })).toBe('http/protobuf');
  expect(tracesWanted({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c' })).toBe('http/protobuf');
  const { code, stderr } = await daybook(['run'], { ...envOf(stage), OTEL_TRACES_EXPORTER: 'zipkin' });
  expect(code).toBe(2);
  expect(stderr).toContain('OTEL_TRACES_EXPORTER is zipkin: daybook sends traces by otlp alone');
  expect(() => tracesWanted({ OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toThrow(
    'OTEL_EXPORTER_OTLP_PROTOCOL is grpc: daybook sends traces by http/protobuf or http/json',
  );
});

it('where nobody asks, neither OpenTelemetry nor prom-client is loaded', async () => {
  const script = `
    import { registerHooks } from 'node:module';
    const seen = [];
    registerHooks({ resolve: (name, context, next) => { seen.push(name); return next(name, context); } });
    const { PLUGINS } = await import('./src/plugins.ts');
    const { runCommandLine } = await import('./src/cli/program.ts');
    await runCommandLine(PLUGINS, ['node', 'daybook', 'run', '--json']);
    process.stderr.write(JSON.stringify(seen.filter((name) => /opentelemetry|prom-client|fastify/.test(name))));`;
  const loadedBy = async (env: object) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      env: { PATH: process.env['PATH'], ...envOf(stage), DAYBOOK_LOG_LEVEL: 'silent', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [reported, report] = await Promise.all([text(child.stderr), text(child.stdout)]);
    expect(JSON.parse(report)).toMatchObject({ exitCode: 0 });
    return JSON.parse(reported) as string[];
  };
  expect(await loadedBy({})).toEqual([]);
  expect(await loadedBy({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })).toContain('@opentelemetry/api');
}, 60_000);
