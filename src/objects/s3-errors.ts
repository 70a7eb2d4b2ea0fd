/** What an S3 server or the SDK says, in words that name the mend. Keys and signatures never appear in them. */
import { ObjectStoreRefused, ObjectStoreUnreachable } from './object-store.ts';

export interface S3Place {
  readonly bucket: string;
  /** Without slashes at its ends; empty for the whole bucket. */
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

/** No such object. (A missing bucket is another name, and an error.) */
export const isMissing = (error: unknown): boolean =>
  nameOf(error) === 'NoSuchKey' || nameOf(error) === 'NotFound';

/** `If-None-Match` met an object, or another conditional write at the same moment. */
export const isConditionFailed = (error: unknown): boolean =>
  statusOf(error) === 412 || nameOf(error) === 'ConditionalRequestConflict';

/** The server does not know conditional writes. */
export const isConditionUnknown = (error: unknown): boolean =>
  statusOf(error) === 501 || nameOf(error) === 'NotImplemented';

const CREDENTIALS =
  'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or a profile) to credentials that are valid there.';

const MENDS: Readonly<Record<string, (place: S3Place) => string>> = {
  NoSuchBucket: ({ bucket }) =>
    `the bucket '${bucket}' does not exist there: create it, or mend the bucket in STATEMENTS_URL.`,
  InvalidBucketName: ({ bucket }) => `'${bucket}' is no bucket name: mend the bucket in STATEMENTS_URL.`,
  InvalidAccessKeyId: () => `the access key is unknown: ${CREDENTIALS}`,
  SignatureDoesNotMatch: () => `the secret key does not fit the access key: ${CREDENTIALS}`,
  CredentialsProviderError: () => `no credentials were found: ${CREDENTIALS}`,
  ExpiredToken: () => `the session token has expired: get new credentials.`,
  InvalidToken: () => `the session token is not valid: get new credentials.`,
  AccessDenied: ({ bucket }) =>
    `access is denied: allow these credentials s3:ListBucket on '${bucket}' and s3:GetObject, s3:PutObject and ` +
    `s3:AbortMultipartUpload on its objects.`,
  AllAccessDisabled: ({ bucket }) => `all access to '${bucket}' is disabled.`,
  RequestTimeTooSkewed: () => "this machine's clock differs too much from the server's: set the clock (NTP).",
  AuthorizationHeaderMalformed: () => "the region is not the bucket's: set AWS_REGION to it.",
  PermanentRedirect: () =>
    "the region or endpoint is not the bucket's: set AWS_REGION to the bucket's region.",
};

/** What a person has to mend, or null where trying again may help. */
function mendOf(place: S3Place, error: unknown): string | null {
  const mend = MENDS[nameOf(error)];
  if (mend !== undefined) return mend(place);
  if (error instanceof Error && error.message === 'Region is missing') {
    return "no region is set: set AWS_REGION to the bucket's region.";
  }
  const status = statusOf(error);
  if (status === 301) return MENDS.PermanentRedirect!(place);
  if (status === 401 || status === 403) return MENDS.AccessDenied!(place);
  if (status === 404) return MENDS.NoSuchBucket!(place);
  return null;
}

const CONNECTION: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers there',
  ENOTFOUND: 'its host name is not known',
  EAI_AGAIN: 'its host name cannot be looked up',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ETIMEDOUT: 'it does not answer in time',
  EHOSTUNREACH: 'its host cannot be reached',
  ENETUNREACH: 'its network cannot be reached',
};

function troubleOf(error: unknown): string {
  const known = CONNECTION[codeOf(error)];
  if (known !== undefined) return `${known}: check AWS_ENDPOINT_URL_S3 (or the network) and run again.`;
  if (nameOf(error) === 'TimeoutError') {
    return 'it does not answer in time: check AWS_ENDPOINT_URL_S3 (or the network) and run again.';
  }
  const status = statusOf(error);
  const message = error instanceof Error ? error.message : String(error);
  return `${status === null ? '' : `status ${status}, `}${nameOf(error)}: ${message}.`;
}

const whereIs = ({ bucket, endpoint }: S3Place): string => `the object store s3://${bucket} at ${endpoint}`;

/** For the check before any work: tells what has to be mended from what may pass. */
export function s3Refusal(place: S3Place, error: unknown): Error {
  const mend = mendOf(place, error);
  if (mend === null) return s3Unreachable(place, error);
  return new ObjectStoreRefused(`${whereIs(place)}: ${mend}`, { cause: error });
}

/** For work under way: whatever the cause, the work can be taken up again once it is mended. */
export function s3Unreachable(place: S3Place, error: unknown): Error {
  if (error instanceof ObjectStoreUnreachable) return error;
  const why = mendOf(place, error) ?? troubleOf(error);
  return new ObjectStoreUnreachable(`${whereIs(place)}: ${why}`, { cause: error });
}
