/**
 * Makes noise for the receiver, in a process of its own: posts to made-up paths at a given rate, or as fast as the
 * machine can, until the time is over. Prints how many posts a second were answered.
 */
import '../src/plugins.ts';
import { givenInput } from './input.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { newNotifySecret } from '../src/store/notify-path.ts';

const CONNECTIONS = 100;
/** Most posts at a time. With this many under way, the receiver is what limits the rate. */
const IN_FLIGHT_MAX = 400;
const TICK_MS = 5;

const { url, ratePerS, seconds } = givenInput() as {
  url: string;
  ratePerS: number;
  seconds: number;
};
const pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 });
const startMs = performance.now();
const endMs = startMs + seconds * 1_000;
let [sent, inFlight, answered] = [0, 0, 0];

async function post(n: number): Promise<void> {
  inFlight += 1;
  try {
    const response = await pool.request({
      method: 'POST',
      path: `/notify/onboarding/${newNotifySecret()}`,
      headers: { 'content-type': 'application/json' },
      body: `{"n":${n}}`,
    });
    await response.body.dump();
    answered += 1;
  } catch {
    // The connection was closed. That is fine, as noise need not be answered.
  } finally {
    inFlight -= 1;
  }
}

while (performance.now() < endMs) {
  const due = ((performance.now() - startMs) * ratePerS) / 1_000;
  while (sent < due && inFlight < IN_FLIGHT_MAX) void post((sent += 1));
  // Posts that could not be sent in time are left out.
  sent = Math.max(sent, Math.floor(due));
  await sleep(TICK_MS);
}
process.stdout.write(`${JSON.stringify({ answeredPerS: answered / seconds })}\n`);
process.exit(0);
