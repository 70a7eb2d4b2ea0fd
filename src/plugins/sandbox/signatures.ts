/** Checks the signatures of requests, where the scenario has a key. The document shows none (docs/platform.md 5). */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { Refused } from './field-checks.ts';

const PARTS = ['method', 'path', 'timestamp', 'nonce', 'bodySha256', 'body'] as const;
const headerName = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'must be a name of a header');

/** HMAC-SHA256 over some parts of a request. */
export const signatureSchema = z.strictObject({
  key: z.string().min(1),
  /** What is signed, in this order, with `between` in between. */
  parts: z.array(z.enum(PARTS)).min(1).default(['method', 'path', 'timestamp', 'nonce', 'bodySha256']),
  between: z.string().default('\n'),
  encoding: z.enum(['hex', 'base64']).default('hex'),
  /** The unit of the timestamp, Unix time. */
  unit: z.enum(['ms', 's']).default('ms'),
  /** How old a request may be, or how far in the future. */
  ageSMax: z.number().positive().default(300),
  timestampHeader: headerName.default('X-Timestamp'),
  nonceHeader: headerName.default('X-Nonce'),
  signatureHeader: headerName.default('X-Signature'),
});
type Signatures = z.output<typeof signatureSchema>;

/** The most nonces remembered; a sandbox lives for a day or so. */
const NONCES_MAX = 1_000_000;

/** A check of each request, before its operation. Throws `Refused`. Without `signatures`, nothing is checked. */
export function createSignatureCheck(
  server: FastifyInstance,
  signatures: Signatures | null,
  nowMs: () => number,
): (request: FastifyRequest) => void {
  if (signatures === null) return () => undefined;
  const bodies = new WeakMap<FastifyRequest, Buffer>();
  // A signature is of the bytes that were sent, whatever they mean.
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    bodies.set(request, body);
    try {
      done(null, JSON.parse(body.toString('utf8')));
    } catch (error) {
      done(Object.assign(error as Error, { statusCode: 400 }), undefined);
    }
  });
  const nonces = new Set<string>();
  return (request) => {
    const { timestampHeader, nonceHeader, signatureHeader, parts, between, key, encoding } = signatures;
    const headerOf = (name: string): string => String(request.headers[name.toLowerCase()] ?? '');
    const timestamp = headerOf(timestampHeader);
    const nonce = headerOf(nonceHeader);
    const body = bodies.get(request) ?? Buffer.alloc(0);
    const partOf: Readonly<Record<(typeof PARTS)[number], string | Buffer>> = {
      ...{ method: request.method, path: request.url, timestamp, nonce, body },
      bodySha256: createHash('sha256').update(body).digest('hex'),
    };
    const signed = createHmac('sha256', key);
    parts.forEach((part, at) => signed.update(at === 0 ? '' : between).update(partOf[part]));
    const expected = Buffer.from(signed.digest(encoding));
    const given = Buffer.from(headerOf(signatureHeader));
    if (given.length !== expected.length || !timingSafeEqual(given, expected))
      throw new Refused(401, 'E40101', 'the signature is not that of the request');
    if (!isNow(timestamp, signatures, nowMs()))
      throw new Refused(401, 'E40102', `the timestamp is not the time in ${signatures.unit}`);
    if (nonce === '' || nonces.has(nonce)) throw new Refused(401, 'E40103', 'the nonce was used before');
    if (nonces.size >= NONCES_MAX) nonces.clear();
    nonces.add(nonce);
  };
}

function isNow(timestamp: string, { unit, ageSMax }: Signatures, nowMs: number): boolean {
  if (!/^\d{1,16}$/.test(timestamp)) return false;
  const ms = Number(timestamp) * (unit === 's' ? 1_000 : 1);
  return Math.abs(nowMs - ms) <= ageSMax * 1_000;
}
