/** Tests of the proxy's own modes. A fault that does not strike would prove nothing. */
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startProxy, type Proxy } from '../support/proxy.ts';

let server: Server;
let heard: string;
let proxy: Proxy;
beforeEach(async () => {
  heard = '';
  // Echoes whatever it receives.
  server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => {
      heard += bytes.toString();
      socket.write(bytes);
    });
    socket.on('end', () => socket.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as { port: number };
  proxy = await startProxy(`http://127.0.0.1:${address.port}`);
});
afterEach(async () => {
  await proxy.close();
  server.close();
});

const call = () => connect(Number(new URL(proxy.url).port), '127.0.0.1');
/** Sends the words. Returns the entire answer until the connection ends, and the code of its end. */
async function said(words: string) {
  const socket = call();
  let code: string | null = null;
  let answer = '';
  socket.on('error', (error: NodeJS.ErrnoException) => (code = error.code ?? ''));
  socket.on('data', (bytes: Buffer) => (answer += bytes.toString()));
  socket.write(words);
  if (!socket.closed) await new Promise((resolve) => socket.on('close', resolve));
  return { answer, code };
}

describe('what becomes of a chunk', () => {
  test('it passes, in both directions', async () => {
    const socket = call();
    socket.end('word');
    expect(await text(socket)).toBe('word');
  });

  test.each([
    ['cut', null],
    ['reset', 'ECONNRESET'],
  ] as const)('%s: it is lost, and the connection ends', async (fate, code) => {
    proxy.judge = () => fate;
    expect(await said('word')).toEqual({ answer: '', code });
    expect(heard).toBe('');
  });

  test('lose-answer: the server receives it, and the answer is lost', async () => {
    proxy.judge = ({ direction }) => (direction === 'up' ? 'lose-answer' : 'pass');
    expect(await said('word')).toMatchObject({ answer: '' });
    expect(heard).toBe('word');
  });

  test('lose-answer: an interim answer passes, the final answer does not', async () => {
    proxy.judge = ({ direction }) => (direction === 'up' ? 'lose-answer' : 'pass');
    const socket = call();
    socket.write('HTTP/1.1 100 Continue');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toBe('HTTP/1.1 100 Continue');
    socket.write('word');
    await once(socket, 'close');
  });

  test('through: that many bytes arrive, and no more', async () => {
    proxy.judge = () => ({ through: 2, then: 'cut' });
    await said('word');
    expect(heard).toBe('wo');
  });

  test('through, coming: that many bytes of the answer come back', async () => {
    proxy.judge = ({ direction }) => (direction === 'up' ? 'pass' : { through: 3, then: 'cut' });
    expect(await said('word')).toEqual({ answer: 'wor', code: null });
  });

  test('answer: the server never receives it, and another answer comes', async () => {
    proxy.judge = () => ({ answer: 'go away' });
    expect(await said('word')).toEqual({ answer: 'go away', code: null });
    expect(heard).toBe('');
  });

  test('swallow: it is lost, and the connection stays open', async () => {
    const reported: string[] = [];
    proxy.judge = ({ bytes }) => (reported.push(bytes.toString()) === 1 ? 'swallow' : 'pass');
    const socket = call();
    socket.write('word');
    await expect.poll(() => reported).toEqual(['word']);
    socket.write('another');
    const other = call();
    other.write('third');
    await once(other, 'data');
    expect([socket.readyState, heard]).toEqual(['open', 'third']);
    socket.destroy();
    other.destroy();
  });

  test('swallow-rest: it gets there, its answer is lost, and the connection stays', async () => {
    proxy.judge = ({ direction }) => (direction === 'up' ? 'swallow-rest' : 'pass');
    const socket = call();
    socket.on('data', () => expect.unreachable('it was answered'));
    socket.write('word');
    await expect.poll(() => heard).toBe('word');
    proxy.judge = () => 'pass';
    socket.write('another');
    const other = call();
    other.write(' third');
    await once(other, 'data');
    expect([socket.readyState, heard]).toEqual(['open', 'word third']);
    socket.destroy();
    other.destroy();
  });

  test('a delay keeps the order of what is said', async () => {
    let chunks = 0;
    proxy.judge = ({ direction }) => (direction === 'up' && (chunks += 1) === 1 ? { delayMs: 20 } : 'pass');
    const socket = call();
    socket.setNoDelay(true);
    socket.write('first ');
    await expect.poll(() => chunks).toBe(1);
    socket.end('second');
    expect(await text(socket)).toBe('first second');
  });
});

test('connections are counted: how many came, and how many the client has not closed', async () => {
  const sockets = [call(), call()];
  await expect.poll(() => proxy.connections()).toEqual({ taken: 2, open: 2 });
  sockets[0]!.end();
  await expect.poll(() => proxy.connections()).toEqual({ taken: 2, open: 1 });
  sockets[1]!.destroy();
  await expect.poll(() => proxy.connections()).toEqual({ taken: 2, open: 0 });
});

test('away: what is open ends, nobody is let in, and everybody is once it is back', async () => {
  const socket = call();
  const ended = new Promise((resolve) => socket.on('error', resolve));
  socket.write('word');
  await once(socket, 'data');
  await proxy.away();
  expect(await ended).toMatchObject({ code: 'ECONNRESET' });
  expect(await said('word')).toEqual({ answer: '', code: 'ECONNREFUSED' });
  await proxy.back();
  const again = call();
  again.end('word');
  expect(await text(again)).toBe('word');
});
