/**
 * Gives fauxqs what real S3 servers do and it does not: bytes that do not fit their `Content-MD5` are refused, and so is
 * a second object under a name that is put with `If-None-Match: *`, and one that is put with `If-Match` over another.
 */
import { createHash } from 'node:crypto';
import type { buildApp } from 'fauxqs';

export interface Carefulness {
  readonly comparesMd5: boolean;
  readonly obeysIfNoneMatch: boolean;
  /** How it compares etags: as the standard has them, or without quotes; left out: not at all. */
  readonly obeysIfMatch?: 'quoted' | 'bare';
}

const xmlError = (code: string): string => `<?xml version="1.0"?><Error><Code>${code}</Code></Error>`;

/** Before it listens. Conditions are seen one after another, so that of two writers at once one is refused. */
export function makeCareful(app: ReturnType<typeof buildApp>, careful: Carefulness): void {
  const named = new Map<string, string>();
  app.addHook('preHandler', async (request, reply) => {
    const { method, url, headers, body } = request;
    const refuse = (status: number, code: string) =>
      reply.code(status).type('application/xml').send(xmlError(code));
    const path = url.split('?')[0]!;
    if (method === 'DELETE') named.delete(path);
    if (method !== 'PUT' || url.includes('uploadId=')) return;
    const arrived = createHash('md5')
      .update(body instanceof Uint8Array ? body : Buffer.alloc(0))
      .digest();
    const md5 = headers['content-md5'];
    if (careful.comparesMd5 && md5 !== undefined && arrived.toString('base64') !== md5)
      return refuse(400, 'BadDigest');
    if (careful.obeysIfNoneMatch && headers['if-none-match'] === '*' && named.has(path)) {
      return refuse(412, 'PreconditionFailed');
    }
    const etag = named.get(path) ?? '';
    const wanted = headers['if-match'];
    const isSame = wanted === (careful.obeysIfMatch === 'bare' ? etag : `"${etag}"`);
    if (careful.obeysIfMatch !== undefined && wanted !== undefined && !isSame)
      return refuse(412, 'PreconditionFailed');
    named.set(path, arrived.toString('hex'));
  });
}
