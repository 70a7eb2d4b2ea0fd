/** Makes applications that wait for their result, and the result that the platform posts for each. */
import '../src/plugins.ts';
import { randomBytes, randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { markAccepted, recordApplication } from '../src/plugins/submissions/applications.ts';
import { newNotifySecret, notifyHashOf } from '../src/store/notify-path.ts';
import { thisHolder } from '../src/host/process-identity.ts';
import type { DB } from '../src/store/engine/schema.ts';

export const BENCH_KEY = randomBytes(32);

export interface Application {
  readonly path: string;
  readonly result: string;
}

/** About as long as an sp3101 with a long message. */
const MESSAGE = 'm'.repeat(255);

export async function acceptedApplications(db: Kysely<DB>, count: number): Promise<Application[]> {
  const made: Application[] = [];
  for (let n = 0; n < count; n += 1) {
    const secret = newNotifySecret();
    const [merOrderNo, bizFlow] = [`B${n}`, randomUUID().replaceAll('-', '')];
    const { id } = await recordApplication(db, {
      merOrderNo,
      payload: {},
      notifyHash: notifyHashOf(secret),
      processVersion: null,
      replaces: null,
      holder: thisHolder(),
      secretKeys: [{ id: 'bench', key: BENCH_KEY }],
      now: new Date(),
    });
    await markAccepted(db, id, { bizFlow, now: new Date() });
    const merchantNo = `M${n}`;
    const result = { bizFlow, merOrderNo, code: 'S00000', message: MESSAGE, merchantNo, token: `tok-${n}` };
    made.push({ path: `/notify/onboarding/${secret}`, result: JSON.stringify(result) });
  }
  return made;
}
