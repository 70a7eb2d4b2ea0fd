/**
 * What an S3 server was seen to do, so that a write of a proven server costs one request: it refuses bytes that do not
 * fit their checksum, and a second object under a name. Both are tried once in a process, with the first object that
 * is written. Neither try can harm: a server that ignores it stores the right bytes.
 */
import { createHash } from 'node:crypto';
import { PutObjectCommand, type PutObjectCommandInput, type S3Client } from '@aws-sdk/client-s3';
import { isChecksumRefused, isConditionFailed, isConditionUnknown, isRefusal } from './s3-errors.ts';

/** The checksum of some bytes, as `Content-MD5` has it. */
export type Md5 = (bytes: Uint8Array) => string | null;

/**
 * The oldest checksum of the protocol, which servers of every age compare. Null where the machine's policy forbids it
 * (FIPS).
 */
export function md5Of(bytes: Uint8Array): string | null {
  try {
    return createHash('md5').update(bytes).digest('base64');
  } catch {
    return null;
  }
}

/** What is known of one server. Nothing is taken for granted before it was seen. */
export interface ServerSeen {
  /** Somebody asks, or has asked, with an object of theirs. */
  isAsked: boolean;
  /** How often it could not answer. */
  unanswered: number;
  /** It compares `Content-MD5`, and returns for an upload the etag that it shows later: nothing needs to be read back. */
  checksBytes: boolean;
  /** It obeys `If-None-Match` where an object is sent in one piece: no query is needed before. */
  keepsFirst: boolean;
}

export const nothingSeen = (): ServerSeen => ({
  isAsked: false,
  unanswered: 0,
  checksBytes: false,
  keepsFirst: false,
});

/** So often it is asked in a process. */
const UNANSWERED_MAX = 3;

/**
 * Puts the bytes with the checksum of others: `refused` by a server that compares them, `stored` by one that ignores
 * it, `unknown` if it was refused for another reason, or if there is no such checksum here. Throws the SDK's error if
 * that is inconclusive.
 */
export async function putMislabelled(
  client: S3Client,
  put: PutObjectCommandInput,
  md5: Md5,
): Promise<'refused' | 'stored' | 'unknown'> {
  const ContentMD5 = md5(Buffer.from('other bytes'));
  if (ContentMD5 === null) return 'unknown';
  try {
    await client.send(new PutObjectCommand({ ...put, ContentMD5 }));
    return 'stored';
  } catch (error) {
    if (isChecksumRefused(error)) return 'refused';
    if (isRefusal(error) && !isConditionFailed(error)) return 'unknown';
    throw error;
  }
}

/**
 * Whether the server refuses the object that it holds a second time, put under the condition that there is none. `unknown`
 * if it could not answer just then.
 */
export async function refusesSecond(
  client: S3Client,
  put: PutObjectCommandInput,
): Promise<boolean | 'unknown'> {
  try {
    await client.send(new PutObjectCommand({ ...put, IfNoneMatch: '*' }));
    return false;
  } catch (error) {
    if (isConditionFailed(error)) return true;
    return isRefusal(error) || isConditionUnknown(error) ? false : 'unknown';
  }
}

/** Notes what the server did with the second object. What it could not answer is asked again with another object, a few times. */
export function noteSecond(seen: ServerSeen, isRefused: boolean | 'unknown'): void {
  seen.keepsFirst = isRefused === true;
  if (isRefused !== 'unknown') return;
  seen.unanswered += 1;
  seen.isAsked = seen.unanswered >= UNANSWERED_MAX;
}
