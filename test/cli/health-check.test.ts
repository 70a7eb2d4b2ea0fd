import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { healthUrl, isHealthy } from '../../src/cli/health-check.ts';

const SERVE = ['node', '/app/src/main.ts', 'serve', ''];
const RUN = ['node', '/app/src/main.ts', 'run', ''];
const SCHEDULE = ['node', '/app/src/main.ts', 'schedule', ''];

it('asks the address the process listens on, or loopback if it listens on all', () => {
  expect(healthUrl({ DAYBOOK_LISTEN: '0.0.0.0:8080' }, SERVE)).toBe('http://127.0.0.1:8080/healthz');
  expect(healthUrl({ DAYBOOK_LISTEN: '[::]:8080' }, SERVE)).toBe('http://127.0.0.1:8080/healthz');
  expect(healthUrl({ DAYBOOK_LISTEN: '10.0.0.5:80' }, SERVE)).toBe('http://10.0.0.5:80/healthz');
  expect(
    healthUrl({ DAYBOOK_LISTEN: '0.0.0.0:8080', DAYBOOK_HEALTH_LISTEN: '127.0.0.1:9000' }, SCHEDULE),
  ).toBe('http://127.0.0.1:9000/healthz');
});

it('counts a process without a server as alive while it runs', async () => {
  expect(healthUrl({ DAYBOOK_LISTEN: '0.0.0.0:8080' }, SCHEDULE)).toBeNull();
  expect(healthUrl({ DAYBOOK_LISTEN: '0.0.0.0:8080' }, [...SERVE, '--pages'])).toBeNull();
  expect(healthUrl({ DAYBOOK_HEALTH_LISTEN: '127.0.0.1:9000' }, RUN)).toBeNull();
  expect(await isHealthy(null)).toBe(true);
});

it('tells a server that answers apart from one that refuses, fails or is gone', async () => {
  let status = 200;
  const server = createServer((_request, response) => response.writeHead(status).end());
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/healthz`;
  expect(await isHealthy(url)).toBe(true);
  status = 503;
  expect(await isHealthy(url)).toBe(false);
  await new Promise((resolve) => server.close(resolve));
  expect(await isHealthy(url)).toBe(false);
});
