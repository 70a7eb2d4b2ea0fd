/**
 * Helpers for tests of registering: checked files, a platform that processes each number once, and a call's
 * parameters.
 */
import { randomBytes } from 'node:crypto';
import {
  checkRegistration,
  type Registration,
} from '../../../../src/plugins/submissions/registration-check.ts';
import { registerBeneficiary, type RegisterDeps } from '../../../../src/plugins/submissions/register.ts';
import { createBeneficiaryClient } from '../../../../src/plugins/submissions/registration-client.ts';
import { thisHolder } from '../../../../src/host/process-identity.ts';
import { MERCHANT, outOfScope, transportTo, type Act } from '../../../platform/stranger.ts';
import { NOW, type StoreUnderTest } from '../../../store/support.ts';
import { CONTEXT } from './cases.ts';
import { ENTERPRISE, type File } from './files.ts';

export const SECRET_KEY = randomBytes(32);
export const PUBLIC_URL = 'https://daybook.example';

export function checked(file: File = ENTERPRISE): Registration {
  const result = checkRegistration(file, CONTEXT);
  if ('problems' in result) throw new Error(JSON.stringify(result.problems));
  return result.registration;
}

/** Answers every registration with this status (docs/platform.md 2.6). Without payeeId if that is null. */
export const reply =
  (status: string, payeeId: string | null = 'P1'): Act =>
  (response, { body }) => {
    const { merOrderNo } = JSON.parse(body) as { merOrderNo: string };
    const text = JSON.stringify({
      merOrderNo,
      bizFlowNo: `F-${merOrderNo}`,
      ...(payeeId !== null && { payeeId }),
      status,
      respCode: 'S00000',
    });
    response.writeHead(200, { 'content-type': 'application/json' }).end(text);
  };

/** A platform with these acts, and a function that registers there. */
export async function registering(store: Pick<StoreUnderTest, 'db'>, ...acts: readonly Act[]) {
  const platform = await outOfScope(...acts);
  const { transport } = transportTo(platform.url, { retriesMax: 0 });
  const deps: RegisterDeps = {
    db: store.db,
    client: createBeneficiaryClient(transport),
    secretKeys: [{ id: 'k1', key: SECRET_KEY }],
    publicUrl: PUBLIC_URL,
    holder: thisHolder(),
    now: () => NOW,
    signal: new AbortController().signal,
  };
  return {
    deps,
    url: platform.url,
    /** The bodies that the platform received, in order. */
    sent: () => platform.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>),
    register: (registration: Registration = checked(), more: Partial<RegisterDeps> = {}) =>
      registerBeneficiary({ ...deps, ...more }, MERCHANT, registration),
  };
}
