/** Converts errors of an S3 server or the SDK to sentences that say what to do. They never hold keys or signatures. */
import { ObjectStoreRefused, ObjectStoreSilent, ObjectStoreUnreachable } from './object-store.ts';

export interface S3Place {
  readonly bucket: string;
  /** Without slashes at its ends; empty for the complete bucket. */
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
export const isChecksumRefused = (error: unknown): boolean => nameOf(error) === 'BadDigest';

/** The server has understood the call and refused it: another try would be refused as well. */
export const isRefusal = (error: unknown): boolean => {
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

/** The server asks for fewer calls. */
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
  const message = error instanceof Error ? error.message : String(error);
  const reported = `${status === null ? '' : `status ${status}, `}${nameOf(error)}: ${message}`;
  return status !== null && status >= 500
    ? `${reported}: it is not well; run again later, or ask its operator.`
    : `${reported}.`;
}

const whereIs = ({ bucket, endpoint }: S3Place): string => `the object store s3://${bucket} at ${endpoint}`;

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
  const Kind = isTimedOut(error) ? ObjectStoreSilent : ObjectStoreUnreachable;
  return new Kind(`${whereIs(place)}: ${why}`, { cause: error });
}
