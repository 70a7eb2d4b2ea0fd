/** What registering tests stand on: checked files, a platform that takes each number once, and the deps of a call. */
import { randomBytes } from 'node:crypto';
import { checkRegistration } from '../../src/beneficiaries/check.ts';
import { registerBeneficiary, type RegisterDeps } from '../../src/beneficiaries/register.ts';
import type { Registration } from '../../src/beneficiaries/registration.ts';
import { createBeneficiaryClient } from '../../src/platform/beneficiary.ts';
import { thisHolder } from '../../src/host/process-identity.ts';
import { MERCHANT, stranger, transportTo, type Act } from '../platform/stranger.ts';
import { NOW, type StoreUnderTest } from '../store/support.ts';
import { CONTEXT } from './cases.ts';
import { ENTERPRISE, type File } from './files.ts';

export const SECRET_KEY = randomBytes(32);
export const PUBLIC_URL = 'https://daybook.example';

export function checked(file: File = ENTERPRISE): Registration {
  const result = checkRegistration(file, CONTEXT);
  if ('problems' in result) throw new Error(JSON.stringify(result.problems));
  return result.registration;
}

/** Answers every registration with this status (docs/platform.md 2.6); `payeeId` left out where null. */
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

/** A platform that acts so, and a way to register against it. */
export async function registering(store: Pick<StoreUnderTest, 'db'>, ...acts: readonly Act[]) {
  const platform = await stranger(...acts);
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
    /** Bodies the platform was sent, in order. */
    sent: () => platform.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>),
    register: (registration: Registration = checked(), more: Partial<RegisterDeps> = {}) =>
      registerBeneficiary({ ...deps, ...more }, MERCHANT, registration),
  };
}
