/** A bucket and its keys, as the commands of the SDK take them. */
import type { S3Client } from '@aws-sdk/client-s3';
import type { S3Place } from './s3-errors.ts';

/** A bucket, and the client that talks to it. */
export interface Bucket {
  readonly client: S3Client;
  readonly place: S3Place;
}

/** What every key of the store begins with: the prefix and a slash, or nothing. */
export const rootOf = ({ place: { prefix } }: Bucket): string => (prefix === '' ? '' : `${prefix}/`);

/** An object by its key in the store. */
export const objectAt = (bucket: Bucket, key: string) => ({
  Bucket: bucket.place.bucket,
  Key: rootOf(bucket) + key,
});

/** An etag without the quotes that a server sends around it. */
export const bareEtag = (etag: string | undefined): string | null =>
  etag === undefined || etag === '' ? null : etag.replaceAll('"', '');
