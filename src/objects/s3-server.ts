/**
 * What an S3 server was seen to do, so that a write of a proven server costs one request: it refuses bytes that do not
 * fit their checksum, and a second object under a name. Both are tried once in a process, with the first object that
 * is written. Neither try can harm: a server that ignores it stores the right bytes.
 */
import { messageOf } from '../ledger/text.ts';
import { createHash } from 'node:crypto';
import { PutObjectCommand, type PutObjectCommandInput, type S3Client } from '@aws-sdk/client-s3';
import {
  ObjectStoreRefused,
  ObjectDenied,
  ObjectStoreSilent,
  ObjectStoreUnreachable,
} from './object-store.ts';

export type Md5 = (bytes: Uint8Array) => string | null;

/** The oldest checksum of the protocol, which servers of every age compare. Null where the machine's policy forbids it (FIPS). */
export function md5Of(bytes: Uint8Array): string | null {
  try {
    return createHash('md5').update(bytes).digest('base64');
  } catch {
    return null;
  }
}

/** What is known of one server. Nothing is taken for granted before it was seen. */
export interface ServerSeen {
  isAsked: boolean;
  unanswered: number;
  /** It compares `Content-MD5`, and returns for an upload the etag that it shows later: nothing needs to be read back. */
  checksBytes: boolean;
  /** It obeys `If-None-Match` where an object is sent in one piece: no query is needed before. */
  keepsFirst: boolean;
  /** The one of `ETAG_FORMS` that it seems to understand: the standard one, until that fails. */
  etagForm: number;
}

export const nothingSeen = (): ServerSeen => ({
  ...{ isAsked: false, unanswered: 0, checksBytes: false, keepsFirst: false, etagForm: 0 },
});

/** The condition as the standard has it, as older gateways of Ceph compare it, or not at all. */
export const ETAG_FORMS: readonly ((etag: string) => { readonly IfMatch?: string })[] = [
  (etag) => ({ IfMatch: `"${etag}"` }),
  (etag) => ({ IfMatch: etag }),
  () => ({}),
];
export const NO_ETAG_FORM = ETAG_FORMS.length - 1;

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

/** Whether the server refuses the object that it holds a second time, put under the condition that there is none. `unknown`: no answer just then. */
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

export interface S3Place {
  readonly bucket: string;
  readonly prefix: string;
  /** For messages: the endpoint in use, or AWS. */
  readonly endpoint: string;
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '');
const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

function statusOf(error: unknown): number | null {
  if (!(error instanceof Error) || !('$metadata' in error)) return null;
  const { httpStatusCode } = error.$metadata as { httpStatusCode?: number };
  return httpStatusCode ?? null;
}

/** There is no such object. (A missing bucket has another name, and is an error.) */
export const isMissing = (error: unknown): boolean =>
  nameOf(error) === 'NoSuchKey' || nameOf(error) === 'NotFound';

/** The server did not answer in time. (The SDK names a cut connection TimeoutError too, but with a code.) */
export const isTimedOut = (error: unknown): boolean =>
  codeOf(error) === 'ETIMEDOUT' || (nameOf(error) === 'TimeoutError' && codeOf(error) === '');

/** The condition does not hold, or another conditional write arrived at the same moment. */
export const isConditionFailed = (error: unknown): boolean =>
  statusOf(error) === 412 || nameOf(error) === 'ConditionalRequestConflict';

/** Unfinished uploads cannot be listed: the server has no such listing, or does not allow it. */
export const isListingUnknown = (error: unknown): boolean =>
  [403, 404, 405, 501].includes(statusOf(error) ?? 0) && nameOf(error) !== 'NoSuchBucket';

/** The bytes that arrived do not fit the checksum that was sent with them. */
const isChecksumRefused = (error: unknown): boolean => nameOf(error) === 'BadDigest';

/** The server has understood the call and refused it: another try would be refused as well. */
const isRefusal = (error: unknown): boolean => {
  const status = statusOf(error) ?? 0;
  return status >= 400 && status < 500 && status !== 429;
};

/** The server does not know conditional writes. */
export const isConditionUnknown = (error: unknown): boolean =>
  statusOf(error) === 501 || nameOf(error) === 'NotImplemented';

const CREDENTIALS =
  'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or a profile) to credentials that are valid there.';

const ADVICE: Readonly<Record<string, (place: S3Place) => string>> = {
  NoSuchBucket: ({ bucket }) =>
    `the bucket '${bucket}' does not exist there: create it, or correct the bucket in STATEMENTS_URL.`,
  InvalidBucketName: ({ bucket }) => `'${bucket}' is no bucket name: correct the bucket in STATEMENTS_URL.`,
  InvalidAccessKeyId: () => `the access key is unknown: ${CREDENTIALS}`,
  SignatureDoesNotMatch: () => `the secret key does not fit the access key: ${CREDENTIALS}`,
  CredentialsProviderError: () => `no credentials were found: ${CREDENTIALS}`,
  ExpiredToken: () => `the session token has expired: get new credentials.`,
  InvalidToken: () => `the session token is not valid: get new credentials.`,
  AccessDenied: ({ bucket }) =>
    `access is denied: allow these credentials s3:ListBucket and s3:ListBucketMultipartUploads on '${bucket}' and ` +
    `s3:GetObject, s3:PutObject and s3:AbortMultipartUpload on its objects.`,
  AllAccessDisabled: ({ bucket }) => `all access to '${bucket}' is disabled.`,
  RequestTimeTooSkewed: () => "this machine's clock differs too much from the server's: set the clock (NTP).",
  AuthorizationHeaderMalformed: () => "the region is not the bucket's: set AWS_REGION to it.",
  PermanentRedirect: () =>
    "the region or endpoint is not the bucket's: set AWS_REGION to the bucket's region.",
};

const UNTRUSTED =
  'its certificate is not trusted here: set NODE_EXTRA_CA_CERTS to the file of its certificate authority.';

/** What to do about trouble with TLS, by the code of the error. */
const TLS_FIXES: Readonly<Record<string, string>> = {
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for another host name: write in AWS_ENDPOINT_URL_S3 the name the certificate is for.',
  ERR_SSL_WRONG_VERSION_NUMBER:
    'it does not speak TLS on this port: write http:// in AWS_ENDPOINT_URL_S3, or the port it speaks https on.',
  EPROTO: 'TLS could not be agreed on: check the scheme and the port in AWS_ENDPOINT_URL_S3.',
};

/** What a person has to do; null if trying again may help. */
function adviceOf(place: S3Place, error: unknown): string | null {
  const advice = ADVICE[nameOf(error)];
  if (advice !== undefined) return advice(place);
  if (error instanceof Error && error.message === 'Region is missing') {
    return "no region is set: set AWS_REGION to the bucket's region.";
  }
  const tls = TLS_FIXES[codeOf(error)];
  if (tls !== undefined) return tls;
  const status = statusOf(error);
  if (status === 301) return ADVICE.PermanentRedirect!(place);
  if (status === 401 || status === 403) return ADVICE.AccessDenied!(place);
  // An S3 server says what is missing. Another server, or a proxy in between, does not.
  if (status === 404) {
    return (
      `it answers with status 404 and does not say what is missing: check that AWS_ENDPOINT_URL_S3 names an S3 server ` +
      `and no page in front of it, and that it holds the bucket '${place.bucket}'.`
    );
  }
  return null;
}

const CONNECTION: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers there',
  ENOTFOUND: 'its host name is not known',
  EAI_AGAIN: 'its host name cannot be resolved',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ETIMEDOUT: 'it does not answer in time',
  EHOSTUNREACH: 'its host cannot be reached',
  ENETUNREACH: 'its network cannot be reached',
  CERT_HAS_EXPIRED: 'its certificate has expired, or the clock of this machine is wrong',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet, or the clock of this machine is wrong',
};

const isSlowDown = (error: unknown): boolean =>
  ['SlowDown', 'Throttling', 'ThrottlingException', 'RequestLimitExceeded', 'TooManyRequests'].includes(
    nameOf(error),
  ) || statusOf(error) === 429;

function troubleOf(error: unknown): string {
  const known = CONNECTION[codeOf(error)];
  if (known !== undefined) return `${known}: check AWS_ENDPOINT_URL_S3 (or the network) and run again.`;
  if (isTimedOut(error)) {
    return 'it does not answer in time: check AWS_ENDPOINT_URL_S3 (or the network) and run again.';
  }
  if (isSlowDown(error)) {
    return (
      'it asks for fewer calls (SlowDown), also after several tries: run again later, or ask its operator to raise ' +
      'the limit.'
    );
  }
  if (isChecksumRefused(error)) {
    return (
      'the bytes that arrived there are not the sent ones: run again, and if it stays so, search for what changes ' +
      'them on the way.'
    );
  }
  const status = statusOf(error);
  const message = messageOf(error);
  const reported = `${status === null ? '' : `status ${status}, `}${nameOf(error)}: ${message}`;
  return status !== null && status >= 500
    ? `${reported}: it is not well; run again later, or ask its operator.`
    : `${reported}.`;
}

/** For messages. */
export const whereIs = ({ bucket, endpoint }: S3Place): string =>
  `the object store s3://${bucket} at ${endpoint}`;

/** The error of `check`: `ObjectStoreRefused` if a person has to do something, else `ObjectStoreUnreachable`. */
export function s3Refusal(place: S3Place, error: unknown): Error {
  const advice = adviceOf(place, error);
  if (advice === null) return s3Unreachable(place, error);
  return new ObjectStoreRefused(`${whereIs(place)}: ${advice}`, { cause: error });
}

/** The error of every other operation: the same work can be repeated once the cause is fixed. */
export function s3Unreachable(place: S3Place, error: unknown): Error {
  if (error instanceof ObjectStoreUnreachable) return error;
  const why = adviceOf(place, error) ?? troubleOf(error);
  const Kind = isTimedOut(error)
    ? ObjectStoreSilent
    : statusOf(error) === 403
      ? ObjectDenied
      : ObjectStoreUnreachable;
  return new Kind(`${whereIs(place)}: ${why}`, { cause: error });
}

export interface Bucket {
  readonly client: S3Client;
  readonly place: S3Place;
}

export const rootOf = ({ place: { prefix } }: Bucket): string => (prefix === '' ? '' : `${prefix}/`);

export const objectAt = (bucket: Bucket, key: string) => ({
  Bucket: bucket.place.bucket,
  Key: rootOf(bucket) + key,
});

export const bareEtag = (etag: string | undefined): string | null =>
  etag === undefined || etag === '' ? null : etag.replaceAll('"', '');
