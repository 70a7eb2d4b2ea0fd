/** An object store over the protocol of S3 as a process: takes its latency on stdin, prints its address, keeps all in memory. */
import { setTimeout as sleep } from 'node:timers/promises';
import { buildApp } from 'fauxqs';
import { makeCareful } from '../test/support/careful-s3.ts';
import { givenInput } from './input.ts';

const BUCKET = 'bench';

const { latencyMs } = givenInput() as { latencyMs: number };
const server = buildApp({ logger: false });
const arrivedMs = new WeakMap<object, number>();
let uploads = 0;
server.addHook('onRequest', async (request, reply) => {
  arrivedMs.set(request, performance.now());
  if (request.url === '/uploads') await reply.send({ uploads });
  else if (request.method === 'PUT') uploads += 1;
});
// The time to read the request is part of the latency, so that many requests at once do not wait for each other.
server.addHook('preHandler', async (request) => {
  await sleep(Math.max(0, latencyMs - (performance.now() - arrivedMs.get(request)!)));
});
makeCareful(server, { comparesMd5: true, obeysIfNoneMatch: true });
await server.inject({ method: 'PUT', url: `/${BUCKET}` });
const url = await server.listen({ port: 0, host: '127.0.0.1' });
process.stdout.write(`${url}\n`);
